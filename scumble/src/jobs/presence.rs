//! Releases of tables whose membership is sensitive: the world is read, and a written release is
//! held against it.
//!
//! Nothing is needed but the file and the world: a class is what its labels stand for, which is all
//! that anybody knows who reads it.

use crate::bind::{BoundKey, World, listed_by_column, others};
use crate::error::{Error, Place, Result};
use crate::policy::{Policy, PresenceAsked, nearest};
use crate::privacy::{ConfidentPresence, Overlaps, Presence, Requirement, Tuple};
use crate::ratio::Ratio;
use crate::release::{Judgement, Known, Matched, Values, matched, verify_sizes};
use crate::search::Task;
use crate::source::{Source, Texts, encode};
use crate::table::{Cells, Column, Dictionary, Role, Table, Tallies};
use crate::taxonomy::Taxonomy;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The public table of a policy, where it names one, with only these quasi-identifiers; and the
/// bytes that were read.
pub(super) fn population<'a>(
    policy: &Policy,
    keys: impl Iterator<Item = &'a Column>,
) -> Result<Option<(Table, u64)>> {
    let names: Vec<&str> = keys.map(|column| column.name.as_str()).collect();
    read_population(policy, &names)
}

fn read_population(policy: &Policy, keys: &[&str]) -> Result<Option<(Table, u64)>> {
    let Some(file) = policy.privacy().presence.as_ref().and_then(|asked| asked.population()) else {
        return Ok(None);
    };
    let source = super::open(file, None)?;
    let bytes = source.bytes();
    let names: Vec<String> = source.names().map(str::to_string).collect();
    if let Some(absent) = keys.iter().find(|key| !names.iter().any(|name| name == *key)) {
        let nearest = nearest(absent, names.iter().map(String::as_str));
        return Err(Error::NoSuchColumn {
            file: file.to_path_buf(),
            column: absent.to_string(),
            nearest,
        });
    }
    let role = |name: &String| match keys.contains(&name.as_str()) {
        true => Role::QuasiIdentifier,
        false => Role::Identifier,
    };
    Ok(Some((encode(source, &names.iter().map(role).collect::<Vec<_>>())?, bytes)))
}

/// How a written release keeps a presence.
pub(super) struct Presented {
    pub(super) judgements: Vec<Judgement>,
    pub(super) problems: Vec<String>,
    pub(super) bytes: u64,
}

/// The classes of a release as they stand in its file: `labels[i]` are those of quasi-identifier
/// `keys[i]`, which the classes number.
pub(super) struct Written<'a> {
    pub(super) keys: &'a [&'a str],
    pub(super) labels: &'a [&'a Dictionary],
    pub(super) classes: &'a Cells,
}

/// Holds a release against the world.
pub(super) fn judge(policy: &Policy, written: &Written<'_>) -> Result<Presented> {
    let mut presented = Presented { judgements: Vec::new(), problems: Vec::new(), bytes: 0 };
    let Some(asked) = &policy.privacy().presence else { return Ok(presented) };
    let population = read_population(policy, written.keys)?;
    presented.bytes = population.as_ref().map_or(0, |(_, bytes)| *bytes);
    let world = policy
        .world(written.keys, population.as_ref().map(|(table, _)| table))?
        .ok_or(Error::Defect)?;
    let (mut known, mut leaves) = (Vec::new(), Vec::new());
    for (key, name) in written.keys.iter().enumerate() {
        let bound = world.bind(policy, key, name, &Dictionary::default(), asked.file())?;
        let BoundKey { taxonomy, axis, kind, numbers, world, .. } = bound;
        known.push(Known { taxonomy, axis, kind, numbers });
        leaves.push(world);
    }
    match &world {
        World::Population(population, positions) => {
            let mut cells = Cells::new(written.keys.len());
            let maps: Vec<&[u32]> = leaves.iter().map(Vec::as_slice).collect();
            let people = others(population, positions, &maps, &mut cells)?;
            let matched = matched(&known, written.labels, written.classes, &cells, &people);
            presented.against_population(asked, written.classes, matched);
        }
        World::Marginals(marginals, lines) => {
            let taxonomies: Vec<Arc<Taxonomy>> =
                known.iter().map(|known| known.taxonomy.clone()).collect();
            let none: Vec<Vec<u64>> =
                taxonomies.iter().map(|tree| vec![0; tree.codes() as usize]).collect();
            let listed =
                listed_by_column(marginals, written.keys, lines, &leaves, &none, &taxonomies)?;
            let confident = policy.confident(&listed, &none)?;
            let all: u64 = listed.first().map_or(0, |counts| counts.iter().sum());
            presented.against_marginals(confident, all, &known, written);
        }
    }
    Ok(presented)
}

impl Presented {
    fn against_population(&mut self, asked: &PresenceAsked, classes: &Cells, matched: Matched) {
        let Matched { people, nowhere, several } = matched;
        if several > 0 {
            self.problems.push(format!(
                "{several} people of the population belong to several classes; a release must not overlap"
            ));
        }
        let mut sizes: Vec<u64> = classes.counts().iter().map(|rows| u64::from(*rows)).collect();
        let too_many = sizes.iter().zip(&people).filter(|(rows, people)| rows > people).count();
        if too_many > 0 {
            self.problems
                .push(format!("{too_many} classes have more rows than the population has people"));
        }
        let mut others: Vec<u64> =
            people.iter().zip(&sizes).map(|(people, rows)| people.saturating_sub(*rows)).collect();
        if nowhere > 0 {
            // All of them are known to be absent, whatever groups they make.
            sizes.push(0);
            others.push(nowhere);
        }
        let entries: Vec<(u32, u32)> =
            others.iter().map(|others| (0, u32::try_from(*others).unwrap_or(u32::MAX))).collect();
        let tallies = [Tallies::from_parts((0..=entries.len() as u32).collect(), entries)];
        let requirements = Presence::within(0, asked.min, asked.max);
        let requirements: Vec<Box<dyn Requirement>> =
            requirements.into_iter().map(|one| Box::new(one) as Box<dyn Requirement>).collect();
        self.judgements = verify_sizes(&sizes, &tallies, &requirements).privacy;
    }

    /// Where marginals count the table's rows too, the others on a side of a class are those that
    /// the release alone tells.
    fn against_marginals(
        &mut self,
        confident: ConfidentPresence,
        all: u64,
        known: &[Known],
        written: &Written<'_>,
    ) {
        let said: Vec<Vec<Range<u32>>> =
            known.iter().zip(written.labels).map(|(known, labels)| known.said(labels)).collect();
        let side = |class: u32, column: usize| {
            said[column][written.classes.codes(class)[column] as usize].clone()
        };
        let columns = known.len();
        let sides = |class: u32| (0..columns).map(|column| side(class, column)).collect::<Vec<_>>();
        let classes = 0..written.classes.len() as u32;
        let rows = |class: u32| u64::from(written.classes.counts()[class as usize]);
        let with_table = confident.listed(0, 0..0).is_some();
        let released: u64 = classes.clone().map(rows).sum();
        let mut overlaps = Overlaps::new(columns);
        classes.clone().for_each(|class| overlaps.add(&sides(class), rows(class)));
        let confident = match with_table {
            true => confident.among(all.saturating_sub(released)),
            false => confident,
        };
        let others = |column: usize, side: Range<u32>| {
            let counted = confident.marked(column, side.clone());
            if with_table { overlaps.others(column, &side, counted) } else { (counted, counted) }
        };
        let tuple = |class: u32| {
            let marked: Vec<(u64, u64)> =
                (0..columns).map(|column| others(column, side(class, column))).collect();
            confident.tuple_between(rows(class), &marked, 0)
        };
        let tuples: Vec<Tuple> = classes.clone().map(tuple).collect();
        let (achieved, failing) = confident.smallest(&tuples);
        self.judgements =
            vec![Judgement { statement: confident.statement(), achieved: Some(achieved), failing }];
        if confident.covers_all()
            && !confident.is_covered(classes.len(), |class, column| side(class as u32, column))
        {
            self.problems
                .push("some tuples that the marginals allow are covered by no class".into());
        }
        if boxes_meet(&classes.map(sides).collect::<Vec<_>>()) {
            self.problems.push("some classes overlap: a person could belong to several".into());
        }
    }
}

/// Whether two boxes have a tuple in common. Boxes are swept along their first sides.
fn boxes_meet(boxes: &[Vec<Range<u32>>]) -> bool {
    let mut order: Vec<&Vec<Range<u32>>> =
        boxes.iter().filter(|sides| sides.iter().all(|side| !side.is_empty())).collect();
    let column = widest_apart(boxes);
    order.sort_by_key(|sides| sides[column].start);
    order.iter().enumerate().any(|(at, one)| {
        let near = order[at + 1..].iter().take_while(|other| other[column].start < one[column].end);
        near.clone().any(|other| {
            one.iter().zip(other.iter()).all(|(a, b)| a.start < b.end && b.start < a.end)
        })
    })
}

/// The column in which boxes begin at most places.
fn widest_apart(boxes: &[Vec<Range<u32>>]) -> usize {
    let columns = boxes.first().map_or(0, Vec::len);
    let starts = |column: &usize| {
        boxes.iter().map(|sides| sides[*column].start).collect::<HashSet<u32>>().len()
    };
    (0..columns).max_by_key(starts).unwrap_or(0)
}

/// The exact judgement of classes whose table is known, where presence is judged in likely worlds.
pub(super) fn exactly(
    task: &Task,
    values: &[Values],
    classes: &Cells,
    class_of: &[u32],
) -> Option<Judgement> {
    let confident = task.confident.as_ref()?;
    let merge =
        |column: usize| task.tallies[column].merge(classes.len(), class_of, task.values[column]);
    let needed = confident.needed_by().map(merge);
    let tuple = |class: u32| {
        let codes = classes.codes(class).iter().enumerate();
        let marked =
            codes.map(|(column, value)| confident.marked(column, values[column].codes(*value)));
        let needed = needed
            .as_ref()
            .and_then(|needed| needed.group(class as usize).last())
            .map_or(0, |last| last.0);
        confident.tuple(u64::from(classes.counts()[class as usize]), marked.collect(), needed)
    };
    let (smallest, failing) =
        confident.smallest(&(0..classes.len() as u32).map(tuple).collect::<Vec<_>>());
    Some(Judgement { statement: confident.statement(), achieved: Some(smallest), failing })
}

/// The confidence that each row of the input needs, where the policy names a column for it. The
/// column may have any role, and mostly should be no part of the release, so it is read by itself.
pub(super) fn confidences(
    policy: &Policy,
    open: impl Fn() -> Result<Source>,
) -> Result<Option<Vec<Ratio>>> {
    let asked = policy.privacy().presence.as_ref().and_then(|asked| asked.marginals());
    let Some((asked, column)) =
        asked.and_then(|asked| Some((asked, asked.confidence_column.as_ref()?)))
    else {
        return Ok(None);
    };
    let source = open()?;
    let file = source.file().to_path_buf();
    let wanted: Vec<bool> = source.names().map(|name| name == column).collect();
    if !wanted.contains(&true) {
        let nearest = nearest(column, source.names());
        return Err(Error::NoSuchColumn { file, column: column.clone(), nearest });
    }
    let mut confidences = Vec::new();
    for batch in source.texts(&wanted)? {
        let batch = batch?;
        let broken = |source| Error::Columnar { file: file.clone(), source };
        for series in &batch.columns {
            let texts = Texts::of(series).map_err(broken)?;
            for row in 0..series.len() {
                let text = texts.get(row);
                let known =
                    if text.is_empty() { Some(asked.confidence) } else { text.parse().ok() };
                let wrong = || Error::BadParameter {
                    place: Some(Place::file(&file).line(batch.lines.of(row)).column(column)),
                    key: "confidence".into(),
                    value: text.to_string(),
                    expected: "a share from 0 to 1, or nothing".into(),
                };
                confidences.push(known.filter(|share| *share <= Ratio::ONE).ok_or_else(wrong)?);
            }
        }
    }
    Ok(Some(confidences))
}
