//! A summary from one scan: rows come in batches of codes, and only counts stay.

use super::bayes::Network;
use super::learn::{CountTables, Structure, VALUE_BITS};
use super::{Attribute, Belief, DrawnRows, Summary, SummaryKind};
use crate::error::{Error, Result};
use crate::random::Random;
use crate::table::Dictionary;
use crate::watch::{PIECE, Watch};
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

/// Memory that one counted tuple takes, and one value with its text.
const TUPLE_BYTES: u64 = 24;
const VALUE_BYTES: u64 = 64;

/// Counts rows as they come. The values of a column are coded as the caller likes, by a dictionary
/// that may grow.
#[derive(Debug)]
pub struct Builder {
    kind: SummaryKind,
    structure: Structure,
    rows: u64,
    /// For each column, the rows with each code.
    counts: Vec<Vec<u64>>,
    tables: CountTables,
    sample: DrawnRows,
    sampled: usize,
    random: Random,
    /// Bytes that may be used.
    memory: u64,
}

/// What to do if a network does not fit.
const SIMPLER: Option<&str> = Some("use a histogram or a sample");

impl Builder {
    /// For so many columns. `sampled` rows go into a sample, which `seed` draws.
    pub fn new(
        columns: usize,
        kind: SummaryKind,
        structure: Structure,
        sampled: usize,
        seed: u64,
        memory: u64,
    ) -> Builder {
        let width = match (kind, structure) {
            (SummaryKind::Bayes, Structure::ChowLiu) => 2,
            (SummaryKind::Bayes, _) => 3,
            _ => 0,
        };
        let tables = CountTables { tables: sets(columns, width), ..CountTables::default() };
        Builder {
            kind,
            structure,
            rows: 0,
            counts: vec![Vec::new(); columns],
            tables,
            sample: DrawnRows { width: columns, values: Vec::new() },
            sampled: sampled.max(1),
            random: Random::new(seed),
            memory,
        }
    }

    /// Some rows: the codes of each column. Fails where what is counted outgrows the memory.
    pub fn see(&mut self, columns: &[&[u32]]) -> Result<()> {
        let rows = columns.first().map_or(0, |column| column.len());
        for (counts, column) in self.counts.iter_mut().zip(columns) {
            for code in *column {
                if *code as usize >= counts.len() {
                    counts.resize(*code as usize + 1, 0);
                }
                counts[*code as usize] += 1;
            }
        }
        let most = self.counts.iter().map(Vec::len).max().unwrap_or(0);
        if !self.tables.tables.is_empty() && most >> VALUE_BITS > 0 {
            let what =
                "an attribute with more than two million values in a Bayesian network".into();
            return Err(Error::TooLittleMemory { what, instead: SIMPLER });
        }
        self.tables.tables.par_iter_mut().for_each(|(set, counts)| {
            let mut keys = vec![0u64; rows];
            for column in set.iter() {
                keys.iter_mut()
                    .zip(columns[*column])
                    .for_each(|(key, code)| *key = *key << VALUE_BITS | u64::from(*code));
            }
            keys.into_iter().for_each(|key| *counts.entry(key).or_insert(0) += 1);
        });
        let tuples: usize = self.tables.tables.iter().map(|(_, counts)| counts.capacity()).sum();
        let values: usize = self.counts.iter().map(Vec::len).sum();
        if tuples as u64 * TUPLE_BYTES + values as u64 * VALUE_BYTES > self.memory {
            let what = format!("the counts of a {}", self.kind.name());
            let instead = if tuples > 0 { SIMPLER } else { None };
            return Err(Error::TooLittleMemory { what, instead });
        }
        if self.kind == SummaryKind::Sample {
            self.draw(columns, rows);
        }
        self.rows += rows as u64;
        Ok(())
    }

    /// Vitter's algorithm R.
    fn draw(&mut self, columns: &[&[u32]], rows: usize) {
        let width = columns.len();
        for row in 0..rows {
            let seen = self.rows + row as u64;
            let place = if seen < self.sampled as u64 { seen } else { self.random.below(seen + 1) };
            if place >= self.sampled as u64 {
                continue;
            }
            let (at, values) = (place as usize * width, columns.iter().map(|column| column[row]));
            if self.sample.values.len() > at {
                self.sample.values[at..at + width]
                    .iter_mut()
                    .zip(values)
                    .for_each(|(old, new)| *old = new)
            } else {
                self.sample.values.extend(values)
            }
        }
    }

    /// The summary. `columns` are the dictionaries of the codes, and what else is known of each
    /// attribute: its values and counts are filled in here, in the order of their texts, which says
    /// nothing about the order of rows.
    pub fn finish(self, columns: Vec<(&Dictionary, Attribute)>, watch: &Watch) -> Result<Summary> {
        let mut numbers = Vec::new();
        let mut attributes = Vec::new();
        for ((dictionary, attribute), counts) in columns.into_iter().zip(self.counts) {
            let mut order: Vec<u32> = (0..counts.len() as u32).collect();
            watch.sort_by(&mut order, |one, other| {
                dictionary.value(*one).cmp(dictionary.value(*other))
            })?;
            let mut number = vec![0; counts.len()];
            let mut values = Vec::with_capacity(order.len());
            for piece in order.chunks(PIECE) {
                watch.check()?;
                for code in piece {
                    number[*code as usize] = values.len() as u32;
                    values.push(dictionary.value(*code).to_string());
                }
            }
            numbers.push(number);
            let counts = order.iter().map(|code| counts[*code as usize]).collect();
            attributes.push(Attribute { values, counts, ..attribute });
        }
        let belief = match self.kind {
            SummaryKind::Histogram => Belief::Histogram,
            SummaryKind::Bayes => {
                let sizes: Vec<usize> =
                    attributes.iter().map(|attribute| attribute.values.len()).collect();
                let tables = CountTables { rows: self.rows, sizes: sizes.clone(), ..self.tables };
                let network = tables.network(self.structure, watch)?;
                Belief::Bayes(renumbered(&network, sizes, &numbers, watch)?)
            }
            SummaryKind::Sample => {
                let mut drawn = self.sample;
                let width = drawn.width.max(1);
                for piece in drawn.values.chunks_mut(PIECE * width) {
                    watch.check()?;
                    for row in piece.chunks_exact_mut(width) {
                        row.iter_mut()
                            .zip(&numbers)
                            .for_each(|(value, number)| *value = number[*value as usize]);
                    }
                }
                Belief::Sample(drawn.sorted(watch)?)
            }
        };
        Ok(Summary { file: "summary".into(), rows: self.rows, attributes, belief })
    }
}

/// Ascending sets of so many columns, or of all where there are fewer.
fn sets(columns: usize, width: usize) -> Vec<(Vec<usize>, super::learn::TupleCounts)> {
    let width = width.min(columns);
    let mut sets: Vec<Vec<usize>> = if width == 0 { Vec::new() } else { vec![Vec::new()] };
    for _ in 0..width {
        let longer = |set: &Vec<usize>| {
            let set = set.clone();
            let from = set.last().map_or(0, |last| last + 1);
            (from..columns).map(move |next| set.iter().copied().chain([next]).collect())
        };
        sets = sets.iter().flat_map(longer).collect();
    }
    sets.into_iter().map(|set| (set, Default::default())).collect()
}

/// The same network with other numbers for values.
fn renumbered(
    network: &Network,
    sizes: Vec<usize>,
    numbers: &[Vec<u32>],
    watch: &Watch,
) -> Result<Network> {
    let mut dependences = network.dependences().to_vec();
    for dependence in &mut dependences {
        let columns: Vec<usize> =
            dependence.given.iter().copied().chain([dependence.attribute]).collect();
        for piece in dependence.counts.chunks_mut(PIECE) {
            watch.check()?;
            for (values, _) in piece {
                values
                    .iter_mut()
                    .zip(&columns)
                    .for_each(|(value, column)| *value = numbers[*column][*value as usize]);
            }
        }
        let counts = std::mem::take(&mut dependence.counts);
        let mut order: Vec<&(Vec<u32>, u64)> = counts.iter().collect();
        watch.sort(&mut order)?;
        for piece in order.chunks(PIECE) {
            watch.check()?;
            dependence.counts.extend(piece.iter().map(|counted| (*counted).clone()));
        }
    }
    Network::new(sizes, dependences, watch)
}
