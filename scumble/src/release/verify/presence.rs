//! Releases of tables whose membership is sensitive, held against the world.
//!
//! Nothing is needed but the release and the world: a class is what its labels mean, which is all
//! that a reader of the release knows.

use super::needs::{ClassNeeds, RowNeeds};
use crate::bind::{BoundKey, World, listed_by_column, others};
use crate::error::{Error, Result};
use crate::ids::{ClassId, Id, LeafId};
use crate::policy::{Policy, PresenceAsked};
use crate::privacy::{ConfidentPresence, Overlaps, Presence, Requirement, Tuple};
use crate::release::{Judgement, KnownKey, Matched, matched, verify_sizes};
use crate::table::{Cells, Dictionary, Tallies};
use crate::taxonomy::Taxonomy;
use crate::watch::{PIECE, Watch};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Classes that are compared with the world between two polls for an abort.
const COMPARED: usize = 1 << 10;

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
    pub(super) classes: &'a Cells<ClassId>,
}

/// Holds a release against the world. Where rows need confidences of their own and the table is
/// known, `needs` has them.
pub(super) fn judge(
    policy: &Policy,
    written: &Written<'_>,
    needs: Option<&RowNeeds>,
    watch: &Watch,
) -> Result<Presented> {
    let mut presented = Presented { judgements: Vec::new(), problems: Vec::new(), bytes: 0 };
    let Some(asked) = &policy.privacy().presence else { return Ok(presented) };
    let population = policy.population(written.keys, watch)?;
    presented.bytes = population.as_ref().map_or(0, |(_, bytes)| *bytes);
    let world = policy
        .world(written.keys, population.as_ref().map(|(table, _)| table))?
        .ok_or(Error::Defect)?;
    let (mut known, mut leaves) = (Vec::new(), Vec::new());
    let mut of_rows: Vec<Vec<LeafId>> = Vec::new();
    let no_values = Dictionary::default();
    for (key, name) in written.keys.iter().enumerate() {
        let own = needs.and_then(|needs| needs.values(name)).unwrap_or(&no_values);
        let bound = world.bind(policy, key, name, own, asked.file())?;
        let BoundKey { taxonomy, axis, kind, numbers, world, leaf_of } = bound;
        known.push(KnownKey { taxonomy, axis, kind, numbers });
        leaves.push(world);
        of_rows.push(leaf_of.iter().collect());
    }
    match &world {
        World::Population(population, positions) => {
            let mut cells = Cells::new(written.keys.len());
            let people = others(population, positions, &leaves, &mut cells, watch)?;
            let Written { labels, classes, .. } = *written;
            let matched = matched(&known, labels, classes, &cells, &people, watch)?;
            presented.against_population(asked, classes, matched, watch)?;
        }
        World::Marginals(marginals, lines) => {
            let taxonomies: Vec<Arc<Taxonomy>> =
                known.iter().map(|known| known.taxonomy.clone()).collect();
            let none: Vec<Vec<u64>> =
                taxonomies.iter().map(|tree| vec![0; tree.codes() as usize]).collect();
            let listed =
                listed_by_column(marginals, written.keys, lines, &leaves, &none, &taxonomies)?;
            let confident = policy.confident(&listed, &none)?;
            let needs = needs.map(|needs| needs.by_class(&known, &of_rows, written, watch));
            let needs = needs.transpose()?;
            let all: u64 = listed.first().map_or(0, |counts| counts.iter().sum());
            presented.against_marginals((confident, needs), all, &known, written, watch)?;
        }
    }
    Ok(presented)
}

impl Presented {
    fn against_population(
        &mut self,
        asked: &PresenceAsked,
        classes: &Cells<ClassId>,
        matched: Matched,
        watch: &Watch,
    ) -> Result<()> {
        let Matched { people, nowhere, several } = matched;
        if several > 0 {
            self.problems.push(format!(
                "{several} people of the population belong to several classes; classes must not overlap"
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
        self.judgements = verify_sizes(&sizes, &tallies, &requirements, watch)?.privacy;
        Ok(())
    }

    /// Where marginals count the table's rows too, the others on a side of a class are those that
    /// the release alone tells.
    fn against_marginals(
        &mut self,
        (confident, needs): (ConfidentPresence, Option<ClassNeeds>),
        all: u64,
        known: &[KnownKey],
        written: &Written<'_>,
        watch: &Watch,
    ) -> Result<()> {
        let said: Vec<Vec<Range<u32>>> =
            known.iter().zip(written.labels).map(|(known, labels)| known.said(labels)).collect();
        let side = |class: ClassId, column: usize| {
            said[column][written.classes.codes(class)[column] as usize].clone()
        };
        let columns = known.len();
        let sides =
            |class: ClassId| (0..columns).map(|column| side(class, column)).collect::<Vec<_>>();
        let classes = written.classes.ids();
        let rows = |class: ClassId| u64::from(written.classes.count(class));
        let with_table = confident.listed(0, 0..0).is_some();
        let released: u64 = classes.clone().map(rows).sum();
        let mut overlaps = Overlaps::new(columns);
        watch.each(classes.clone(), COMPARED, |class| overlaps.add(&sides(class), rows(class)))?;
        let confident =
            if with_table { confident.among(all.saturating_sub(released)) } else { confident };
        let (confident, of_class) = match needs {
            None => (confident, None),
            Some(ClassNeeds { confidences, of_class }) => {
                (confident.with_needs(confidences), Some(of_class))
            }
        };
        let needed = |class: ClassId| of_class.as_ref().map_or(0, |needs| needs[class.index()]);
        let others = |column: usize, side: Range<u32>| {
            let counted = confident.marked(column, side.clone());
            if with_table { overlaps.others(column, &side, counted) } else { (counted, counted) }
        };
        let tuple = |class: ClassId| {
            let marked: Vec<(u64, u64)> =
                (0..columns).map(|column| others(column, side(class, column))).collect();
            confident.tuple_between(rows(class), &marked, needed(class))
        };
        let mut tuples: Vec<Tuple> = Vec::with_capacity(classes.len());
        watch.each(classes.clone(), COMPARED, |class| tuples.push(tuple(class)))?;
        let (achieved, failing) = confident.smallest(&tuples, watch)?;
        let (statement, achieved) = (confident.statement(), Some(achieved));
        self.judgements = vec![Judgement { statement, achieved, failing, worst: None }];
        let of_class = |class: usize, column: usize| side(ClassId(class as u32), column);
        if confident.covers_all() && !confident.is_covered(classes.len(), of_class, watch)? {
            self.problems.push("no class covers some tuples that the marginals allow".into());
        }
        if boxes_meet(&classes.map(sides).collect::<Vec<_>>(), watch)? {
            self.problems.push("classes overlap, so a person may belong to several".into());
        }
        Ok(())
    }
}

/// Whether two boxes have a tuple in common. Boxes are swept along their first sides.
fn boxes_meet(boxes: &[Vec<Range<u32>>], watch: &Watch) -> Result<bool> {
    let mut order: Vec<&Vec<Range<u32>>> =
        boxes.iter().filter(|sides| sides.iter().all(|side| !side.is_empty())).collect();
    let column = widest_apart(boxes);
    order.sort_by_key(|sides| sides[column].start);
    let meet = |one: &[Range<u32>], other: &[Range<u32>]| {
        one.iter().zip(other).all(|(a, b)| a.start < b.end && b.start < a.end)
    };
    for (at, one) in order.iter().enumerate() {
        let near = order[at + 1..].iter().take_while(|other| other[column].start < one[column].end);
        let mut met = false;
        watch.each(near, PIECE, |other| met |= meet(one, other))?;
        if met {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The column in which boxes begin at most places.
fn widest_apart(boxes: &[Vec<Range<u32>>]) -> usize {
    let columns = boxes.first().map_or(0, Vec::len);
    let starts = |column: &usize| {
        boxes.iter().map(|sides| sides[*column].start).collect::<HashSet<u32>>().len()
    };
    (0..columns).max_by_key(starts).unwrap_or(0)
}
