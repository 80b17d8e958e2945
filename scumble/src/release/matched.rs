//! Who of the population a release could be about: every person is looked up in the classes by
//! their labels alone.
//!
//! A label stands for the values below a node of the column's hierarchy or within a range of
//! numbers, and a class for the people whose every value is among those of its labels. That is all
//! that whoever reads the release knows, so no record of how it was made is needed. A person may
//! belong to no class; one who belongs to several makes the release overlap.

use crate::error::Result;
use crate::ids::{CellId, ClassId, Id};
use crate::table::{Cells, Dictionary, Tallies, Type};
use crate::taxonomy::{Axis, Taxonomy, bits_of, said_range};
use crate::watch::{PIECE, Watch};
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// A quasi-identifier as the world's values bind it.
#[derive(Debug)]
pub struct KnownKey {
    /// Its tree.
    pub taxonomy: Arc<Taxonomy>,
    /// It as a dimension.
    pub axis: Axis,
    /// The type of its values.
    pub kind: Type,
    /// Where each leaf lies on the number line; empty for text.
    pub numbers: Vec<f64>,
}

impl KnownKey {
    /// The codes that each label stands for; none where it means nothing here.
    pub fn said(&self, labels: &Dictionary) -> Vec<Range<u32>> {
        let mut nodes: HashMap<&str, Range<u32>> = HashMap::new();
        for level in self.taxonomy.levels() {
            nodes
                .extend((0..level.len() as u32).map(|node| (level.label(node), level.range(node))));
        }
        labels
            .values()
            .map(|label| nodes.get(label).cloned().unwrap_or_else(|| self.numbers_said(label)))
            .collect()
    }

    /// The codes of a number that is written in another way, or of a range of numbers.
    fn numbers_said(&self, label: &str) -> Range<u32> {
        if let Some(number) = self.kind.number(label).filter(|_| !self.numbers.is_empty()) {
            let at = self.numbers.iter().position(|known| bits_of(*known) == bits_of(number));
            return at.map_or(0..0, |at| at as u32..at as u32 + 1);
        }
        match (&self.axis, said_range(label, self.kind)) {
            (Axis::Ordered(_), Some((from, to))) => {
                let below = |before: &dyn Fn(f64) -> bool| {
                    self.numbers.partition_point(|number| before(*number)) as u32
                };
                let first = match from {
                    Bound::Unbounded => 0,
                    Bound::Included(least) => below(&|number| number < least),
                    Bound::Excluded(least) => below(&|number| number <= least),
                };
                let last = match to {
                    Bound::Unbounded => self.numbers.len() as u32,
                    Bound::Included(most) => below(&|number| number <= most),
                    Bound::Excluded(most) => below(&|number| number < most),
                };
                first..last.max(first)
            }
            _ => 0..0,
        }
    }
}

/// How the people of a population fall into the classes of a release.
#[derive(Debug, PartialEq, Eq)]
pub struct Matched {
    /// The people of each class.
    pub people: Vec<u64>,
    /// People who belong to none.
    pub nowhere: u64,
    /// People who belong to several.
    pub several: u64,
}

/// Looks up every person. `labels[i]` are those of column `i`, by which `classes` are coded; the
/// cells of the population are coded by leaves, and `counts` has the people of each.
pub fn matched(
    known: &[KnownKey],
    labels: &[&Dictionary],
    classes: &Cells<ClassId>,
    population: &Cells<CellId>,
    counts: &Tallies,
    watch: &Watch,
) -> Result<Matched> {
    let mut matched = Matched { people: vec![0; classes.len()], nowhere: 0, several: 0 };
    let people =
        |cell: usize| counts.group(cell).iter().map(|(_, count)| u64::from(*count)).sum::<u64>();
    let found = |cell: CellId, classes: &mut dyn Iterator<Item = ClassId>| {
        let people = people(cell.index());
        match (classes.next(), classes.next()) {
            (None, _) => matched.nowhere += people,
            (Some(class), None) => matched.people[class.index()] += people,
            (Some(_), Some(_)) => matched.several += people,
        }
    };
    each_match(known, labels, classes, population, watch, found)?;
    Ok(matched)
}

/// Calls a function with every cell of a population and the classes to which its people belong.
pub(super) fn each_match(
    known: &[KnownKey],
    labels: &[&Dictionary],
    classes: &Cells<ClassId>,
    population: &Cells<CellId>,
    watch: &Watch,
    mut found: impl FnMut(CellId, &mut dyn Iterator<Item = ClassId>),
) -> Result<()> {
    let said: Vec<Vec<Range<u32>>> =
        known.iter().zip(labels).map(|(known, labels)| known.said(labels)).collect();
    let codes: Vec<u32> = known.iter().map(|known| known.taxonomy.codes()).collect();
    if let Some(label_of) = labels_apart(&said, &codes) {
        // One label of each column can be a person's, so there is one tuple to look up.
        let known: FxHashMap<&[u32], ClassId> =
            classes.ids().map(|class| (classes.codes(class), class)).collect();
        let mut tuple = vec![0; codes.len()];
        watch.each(population.ids(), PIECE, |cell| {
            let leaves = population.codes(cell);
            for ((label, leaf), of) in tuple.iter_mut().zip(leaves).zip(&label_of) {
                *label = of[*leaf as usize];
            }
            found(cell, &mut known.get(tuple.as_slice()).copied().into_iter());
        })?;
        return Ok(());
    }
    let segments = |column: usize| {
        let labels: Vec<u32> = classes.column(column).collect();
        Segments::new(&said[column], codes[column], &labels)
    };
    let columns: Vec<Segments> = (0..codes.len()).map(segments).collect();
    let words = classes.len().div_ceil(64);
    let mut both = vec![0u64; words];
    // The work for a person grows with the classes.
    let every = (PIECE / words.max(1)).max(1);
    watch.each(population.ids(), every, |cell| {
        both.fill(u64::MAX);
        for (segments, leaf) in columns.iter().zip(population.codes(cell)) {
            both.iter_mut()
                .zip(segments.classes(*leaf, words))
                .for_each(|(both, those)| *both &= those);
        }
        let classes = both.iter().enumerate().filter(|(_, word)| **word > 0);
        let mut classes = classes.flat_map(|(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        });
        found(cell, &mut classes.by_ref().map(|class| ClassId(class as u32)));
    })
}

/// The label of each code, where no two labels of a column share one; codes without a label get one
/// that no class has.
fn labels_apart(said: &[Vec<Range<u32>>], codes: &[u32]) -> Option<Vec<Vec<u32>>> {
    let of_column = |(said, codes): (&Vec<Range<u32>>, &u32)| {
        let mut label_of = vec![u32::MAX; *codes as usize];
        for (label, range) in (0..).zip(said) {
            for code in range.clone() {
                if std::mem::replace(&mut label_of[code as usize], label) != u32::MAX {
                    return None;
                }
            }
        }
        Some(label_of)
    };
    said.iter().zip(codes).map(of_column).collect()
}

/// The codes of a column between two neighbouring ends of labels belong to the same classes, which
/// are bits.
struct Segments {
    segment_of: Vec<u32>,
    bits: Vec<u64>,
}

impl Segments {
    fn new(said: &[Range<u32>], codes: u32, labels: &[u32]) -> Segments {
        let mut starts: Vec<u32> =
            said.iter().flat_map(|range| [range.start, range.end]).chain([0]).collect();
        starts.sort_unstable();
        starts.dedup();
        let segment_of = (0..codes)
            .map(|code| starts.partition_point(|start| *start <= code) as u32 - 1)
            .collect();
        let segment = |code: u32| starts.partition_point(|start| *start < code);
        let words = labels.len().div_ceil(64);
        let mut bits = vec![0u64; starts.len() * words];
        for (class, label) in labels.iter().enumerate() {
            let range = &said[*label as usize];
            for segment in segment(range.start)..segment(range.end) {
                bits[segment * words + class / 64] |= 1 << (class % 64);
            }
        }
        Segments { segment_of, bits }
    }

    fn classes(&self, code: u32, words: usize) -> &[u64] {
        &self.bits[self.segment_of[code as usize] as usize * words..][..words]
    }
}
