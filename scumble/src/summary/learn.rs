//! Which attributes depend on which? From counts of pairs, or of triples.
//!
//! With one parent each, the tree that loses least is the maximum spanning tree by mutual
//! information (Chow and Liu 1968). With two, networks are scored by BIC, the likelihood less half
//! the logarithm of the rows for each parameter, and searched: the best change (an edge added,
//! removed or turned) until none is left, or by annealing. The score of an attribute depends on its
//! parents alone, so every score that can be asked for is computed once.

use super::bayes::{Dependence, Network};
use crate::error::Result;
use crate::random::Random;
use crate::watch::{PIECE, Watch};
use rustc_hash::FxHashMap;

/// How the structure of a network is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Structure {
    /// One parent each: the best tree.
    #[default]
    ChowLiu,
    /// Up to two parents, one best change after the other.
    Greedy,
    /// Up to two parents, by simulated annealing.
    Annealed {
        /// Its seed.
        seed: u64,
    },
}

/// Steps of annealing.
const STEPS: u32 = 20_000;

/// The temperatures of annealing, first and last, as shares of the rows.
const TEMPERATURES: (f64, f64) = (1e-2, 1e-6);

/// Counted tuples of values of some attributes, which ascend.
pub(super) type TupleCounts = FxHashMap<u64, u64>;

/// Bits of a value in a counted tuple: three fit into a number.
pub(super) const VALUE_BITS: u32 = 21;

/// All sets of attributes of some size, with their counts.
#[derive(Debug, Default)]
pub(super) struct CountTables {
    pub(super) rows: u64,
    /// How many values each attribute has.
    pub(super) sizes: Vec<usize>,
    /// Ascending attributes, and counts of their values.
    pub(super) tables: Vec<(Vec<usize>, TupleCounts)>,
}

/// The values of a counted tuple of so many attributes.
fn values(key: u64, width: usize) -> impl Iterator<Item = u32> {
    (0..width)
        .rev()
        .map(move |at| (key >> (VALUE_BITS * at as u32)) as u32 & ((1 << VALUE_BITS) - 1))
}

impl CountTables {
    /// The counts of some attributes, in the order in which they are named.
    fn counts(&self, attributes: &[usize], watch: &Watch) -> Result<Vec<(Vec<u32>, u64)>> {
        let mut counts = Vec::new();
        for piece in self.packed(attributes, watch)?.chunks(PIECE) {
            watch.check()?;
            let width = attributes.len();
            counts.extend(piece.iter().map(|(key, count)| (values(*key, width).collect(), *count)));
        }
        Ok(counts)
    }

    /// The same with the values of a tuple as digits of one number, as counted tuples have them.
    fn packed(&self, attributes: &[usize], watch: &Watch) -> Result<Vec<(u64, u64)>> {
        let holds = |set: &[usize]| attributes.iter().all(|attribute| set.contains(attribute));
        let Some((set, counts)) = self.tables.iter().find(|(set, _)| holds(set)) else {
            return Ok(Vec::new());
        };
        let places: Vec<usize> = attributes
            .iter()
            .filter_map(|attribute| set.iter().position(|one| one == attribute))
            .collect();
        let digit = |key: u64, place: usize| {
            key >> (VALUE_BITS * (set.len() - 1 - place) as u32) & ((1 << VALUE_BITS) - 1)
        };
        let mut summed: TupleCounts = FxHashMap::default();
        for (number, (key, count)) in counts.iter().enumerate() {
            if number % PIECE == 0 {
                watch.check()?;
            }
            let named = places.iter().fold(0, |all, place| all << VALUE_BITS | digit(*key, *place));
            *summed.entry(named).or_insert(0) += count;
        }
        let mut summed: Vec<(u64, u64)> = summed.into_iter().collect();
        watch.sort(&mut summed)?;
        Ok(summed)
    }

    /// The logarithm of the likelihood of an attribute given others, less the penalty for its
    /// parameters.
    fn score(&self, attribute: usize, given: &[usize], watch: &Watch) -> Result<f64> {
        let both: Vec<usize> = given.iter().copied().chain([attribute]).collect();
        let counts = self.packed(&both, watch)?;
        let mut likelihood = 0.0;
        for same in counts.chunk_by(|a, b| a.0 >> VALUE_BITS == b.0 >> VALUE_BITS) {
            watch.check()?;
            let whole: u64 = same.iter().map(|(_, count)| count).sum();
            likelihood += same
                .iter()
                .map(|(_, count)| *count as f64 * (*count as f64 / whole as f64).ln())
                .sum::<f64>();
        }
        let parameters: f64 = given.iter().map(|one| self.sizes[*one] as f64).product::<f64>();
        let penalty =
            0.5 * (self.rows as f64).ln() * parameters * (self.sizes[attribute] as f64 - 1.0);
        Ok(likelihood - penalty)
    }

    /// The network of a structure.
    pub(super) fn network(&self, structure: Structure, watch: &Watch) -> Result<Network> {
        let parents = match structure {
            Structure::ChowLiu => self.tree(watch)?,
            Structure::Greedy => Scores::new(self, watch)?.greedy(watch)?,
            Structure::Annealed { seed } => Scores::new(self, watch)?.annealed(seed, watch)?,
        };
        let dependences = order(&parents).into_iter().map(|attribute| {
            let given = parents[attribute].clone();
            let all: Vec<usize> = given.iter().copied().chain([attribute]).collect();
            Ok(Dependence { attribute, counts: self.counts(&all, watch)?, given })
        });
        Network::new(self.sizes.clone(), dependences.collect::<Result<_>>()?, watch)
    }

    /// The maximum spanning tree by mutual information, from the first attribute on: parents of
    /// each.
    fn tree(&self, watch: &Watch) -> Result<Vec<Vec<usize>>> {
        let many = self.sizes.len();
        let entropy_of =
            |attributes: &[usize]| Ok(entropy(&self.packed(attributes, watch)?, self.rows));
        let alone: Vec<f64> = (0..many).map(|one| entropy_of(&[one])).collect::<Result<_>>()?;
        let information = |a: usize, b: usize| {
            Ok::<f64, crate::error::Error>(alone[a] + alone[b] - entropy_of(&[a.min(b), a.max(b)])?)
        };
        let mut parents = vec![Vec::new(); many];
        // For each attribute outside of the tree, the one inside that it shares most with.
        let mut nearest: Vec<Option<(f64, usize)>> = vec![Some((f64::NEG_INFINITY, 0)); many];
        let mut last = 0;
        nearest[0] = None;
        for _ in 1..many {
            for (outside, known) in nearest.iter_mut().enumerate() {
                if let Some(known) = known {
                    let shared: f64 = information(outside, last)?;
                    if shared > known.0 {
                        *known = (shared, last);
                    }
                }
            }
            let best = (0..many)
                .filter_map(|one| nearest[one].map(|(shared, inside)| (shared, one, inside)));
            let Some((_, joins, inside)) = best.reduce(|a, b| if b.0 > a.0 { b } else { a }) else {
                break;
            };
            parents[joins] = vec![inside];
            (nearest[joins], last) = (None, joins);
        }
        Ok(parents)
    }
}

fn entropy(counts: &[(u64, u64)], rows: u64) -> f64 {
    counts
        .iter()
        .map(|(_, count)| *count as f64 / rows as f64)
        .map(|share| -share * share.ln())
        .sum()
}

/// Attributes, each after its parents and as soon as can be: few values are then asked for at a
/// time.
fn order(parents: &[Vec<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < parents.len() {
        let ready = |one: &usize| {
            !order.contains(one) && parents[*one].iter().all(|parent| order.contains(parent))
        };
        // A child of the last one before another branch begins.
        let near = |one: &usize| {
            parents[*one]
                .iter()
                .filter_map(|parent| order.iter().rposition(|done| done == parent))
                .max()
        };
        let Some(next) =
            (0..parents.len()).filter(ready).max_by_key(|one| (near(one), std::cmp::Reverse(*one)))
        else {
            break;
        };
        order.push(next);
    }
    order
}

/// The score of every attribute with every choice of up to two parents.
struct Scores {
    many: usize,
    rows: f64,
    by_parents: FxHashMap<(usize, Vec<usize>), f64>,
}

impl Scores {
    fn new(tables: &CountTables, watch: &Watch) -> Result<Scores> {
        let many = tables.sizes.len();
        let mut by_parents = FxHashMap::default();
        for attribute in 0..many {
            let others: Vec<usize> = (0..many).filter(|other| *other != attribute).collect();
            let pairs = others
                .iter()
                .flat_map(|a| others.iter().filter(move |b| a < b).map(move |b| vec![*a, *b]));
            for given in
                std::iter::once(Vec::new()).chain(others.iter().map(|one| vec![*one])).chain(pairs)
            {
                let score = tables.score(attribute, &given, watch)?;
                by_parents.insert((attribute, given), score);
            }
        }
        Ok(Scores { many, rows: tables.rows as f64, by_parents })
    }

    fn of(&self, attribute: usize, given: &[usize]) -> f64 {
        self.by_parents.get(&(attribute, given.to_vec())).copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// The parents after an edge was added, removed, or turned round, and by how much the score
    /// changes; `None` where that is no network any more.
    fn changed(
        &self,
        parents: &[Vec<usize>],
        from: usize,
        to: usize,
        turn: bool,
    ) -> Option<(Vec<Vec<usize>>, f64)> {
        let mut next = parents.to_vec();
        match next[to].iter().position(|parent| *parent == from) {
            Some(at) => {
                next[to].remove(at);
                if turn {
                    next[from].push(to);
                    next[from].sort_unstable();
                }
            }
            None if turn => return None,
            None => {
                next[to].push(from);
                next[to].sort_unstable();
            }
        }
        if next[from].len() > 2 || next[to].len() > 2 || order(&next).len() < self.many {
            return None;
        }
        let gain = |one: usize| self.of(one, &next[one]) - self.of(one, &parents[one]);
        let gain = gain(to) + if turn { gain(from) } else { 0.0 };
        Some((next, gain))
    }

    fn greedy(&self, watch: &Watch) -> Result<Vec<Vec<usize>>> {
        let mut parents = vec![Vec::new(); self.many];
        loop {
            watch.check()?;
            let edges = (0..self.many)
                .flat_map(|from| (0..self.many).map(move |to| (from, to)))
                .filter(|(a, b)| a != b);
            let changes = edges.flat_map(|edge| [(edge, false), (edge, true)]);
            let best =
                changes.filter_map(|((from, to), turn)| self.changed(&parents, from, to, turn));
            match best.reduce(|a, b| if b.1 > a.1 { b } else { a }) {
                Some((next, gain)) if gain > 1e-9 * self.rows => parents = next,
                _ => return Ok(parents),
            }
        }
    }

    fn annealed(&self, seed: u64, watch: &Watch) -> Result<Vec<Vec<usize>>> {
        let mut random = Random::new(seed);
        let mut parents = vec![Vec::new(); self.many];
        let (mut score, mut best) = (0.0, (0.0, parents.clone()));
        for step in 0..STEPS {
            watch.check()?;
            let done = f64::from(step) / f64::from(STEPS);
            let temperature =
                self.rows * TEMPERATURES.0 * (TEMPERATURES.1 / TEMPERATURES.0).powf(done);
            let (from, to) =
                (random.below(self.many as u64) as usize, random.below(self.many as u64) as usize);
            let turn = random.below(3) == 0;
            if from == to {
                continue;
            }
            let Some((next, gain)) = self.changed(&parents, from, to, turn) else { continue };
            if gain >= 0.0 || random.unit() < (gain / temperature).exp() {
                (parents, score) = (next, score + gain);
                if score > best.0 {
                    best = (score, parents.clone());
                }
            }
        }
        Ok(best.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of random rows in which attributes lean on one another: pairs or triples of them.
    fn tables(seed: u64, many: usize, width: usize) -> CountTables {
        let mut random = Random::new(seed);
        let mut rows: Vec<Vec<u64>> = Vec::new();
        for _ in 0..400 {
            let mut row = vec![random.below(3)];
            for one in 1..many {
                let leans_on = row[random.below(one as u64) as usize];
                row.push(if random.below(3) > 0 { leans_on } else { random.below(3) });
            }
            rows.push(row);
        }
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..width {
            let longer = |set: &Vec<usize>| -> Vec<Vec<usize>> {
                let from = set.last().map_or(0, |last| last + 1);
                (from..many).map(|next| [set.clone(), vec![next]].concat()).collect()
            };
            sets = sets.iter().flat_map(longer).collect();
        }
        let counted = sets.into_iter().map(|set| {
            let mut counts = TupleCounts::default();
            for row in &rows {
                let key = set.iter().fold(0, |key, one| key << VALUE_BITS | row[*one]);
                *counts.entry(key).or_insert(0) += 1;
            }
            (set, counts)
        });
        CountTables { rows: 400, sizes: vec![3; many], tables: counted.collect() }
    }

    fn likelihood(tables: &CountTables, parents: &[Vec<usize>]) -> f64 {
        let penalty = 0.5 * 400f64.ln();
        let of = |(one, given): (usize, &Vec<usize>)| {
            tables.score(one, given, &Watch::silent()).unwrap()
                + penalty * 2.0 * 3f64.powi(given.len() as i32)
        };
        parents.iter().enumerate().map(of).sum()
    }

    #[test]
    fn the_tree_is_the_likeliest_of_all_trees() {
        for seed in 0..20 {
            let tables = tables(seed, 4, 2);
            let found = likelihood(&tables, &tables.tree(&Watch::silent()).unwrap());
            // Every choice of a parent for each of the others that is a tree.
            let mut trees = 0;
            for choice in 0..4usize.pow(3) {
                let parent = |one: usize| choice / 4usize.pow(one as u32 - 1) % 4;
                let parents: Vec<Vec<usize>> =
                    (0..4).map(|one| if one == 0 { vec![] } else { vec![parent(one)] }).collect();
                if (1..4).any(|one| parent(one) == one) || order(&parents).len() < 4 {
                    continue;
                }
                trees += 1;
                assert!(likelihood(&tables, &parents) <= found + 1e-6, "{seed}");
            }
            assert_eq!(trees, 16);
        }
    }

    #[test]
    fn two_parents_are_found_and_scores_add_up() {
        for seed in 0..5 {
            let tables = tables(seed, 4, 3);
            let watch = Watch::silent();
            let scores = Scores::new(&tables, &watch).unwrap();
            let whole = |parents: &[Vec<usize>]| -> f64 {
                parents.iter().enumerate().map(|(one, given)| scores.of(one, given)).sum()
            };
            let greedy = scores.greedy(&watch).unwrap();
            let annealed = scores.annealed(seed, &watch).unwrap();
            assert_eq!(annealed, scores.annealed(seed, &watch).unwrap(), "the same seed");
            for parents in [&greedy, &annealed] {
                assert_eq!(order(parents).len(), 4);
                assert!(parents.iter().all(|given| given.len() <= 2));
                assert!(whole(parents) >= whole(&vec![Vec::new(); 4]));
            }
            // No single change makes the greedy one better.
            for (from, to) in
                (0..16).map(|pair| (pair / 4, pair % 4)).filter(|(from, to)| from != to)
            {
                for turn in [false, true] {
                    assert!(
                        scores.changed(&greedy, from, to, turn).is_none_or(|(_, gain)| gain < 1e-6)
                    );
                }
            }
            assert!(whole(&annealed) >= whole(&greedy) - 20.0);
        }
    }
}
