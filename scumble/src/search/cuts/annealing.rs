//! Simulated annealing over cuts (Kirkpatrick, Gelatt and Vecchi 1983), for comparison: what the
//! paper's figure 7 holds against l+-Optimize.
//!
//! A step specializes or generalizes one value of one column, drawn at random. A cheaper cut is
//! taken, a dearer one with the probability exp(-difference / temperature); the temperature falls
//! from a share of the first cost to almost nothing, by the same factor at every step. Cuts that
//! suppress more than is allowed are never taken. Nothing is proven about the answer but the bound
//! of the whole tree.
//!
//! It ends when the temperature has fallen to its last value: after [`steps_for`] a problem, so that
//! every value of every tree is tried equally often whatever their number, or after [`STEPS`] if a
//! time limit ends it before.

use super::descent::{STARTS, at_depth, descend};
use super::enumeration::{AssessmentScratch, Subtree};
use super::l_plus_optimize::{Outcome, Progress};
use super::{Cuts, Machine};
use crate::error::Result;
use crate::random::Random;

/// The most steps that are taken.
pub const STEPS: u64 = 20_000;

/// Steps for each value of the trees.
const STEPS_PER_VALUE: u64 = 40;

/// The length of the schedule where no time limit is given.
pub fn steps_for(machine: &Machine) -> u64 {
    let values = machine.trees.iter().map(|tree| tree.branches().len() as u64).sum::<u64>();
    STEPS_PER_VALUE.saturating_mul(values).min(STEPS)
}

/// How often a first cut is looked for, each time with a larger penalty on suppression.
const PENALTIES: u32 = 8;

/// The first and the last temperature, as shares of the first cost.
const TEMPERATURES: (f64, f64) = (0.02, 1e-6);

/// Anneals; `go_on` is asked at every step.
pub fn search(
    machine: &Machine,
    steps: u64,
    seed: u64,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome> {
    let mut random = Random::new(seed);
    let mut scratch = AssessmentScratch::default();
    let last = machine.widest();
    let mut root = Subtree::root(machine, last)?;
    let bound = root.assess(machine, last, false, None, &mut scratch)?.bound;
    let (mut cost, mut cuts) = first(machine, &mut scratch)?;
    let mut best = (cost, cuts.clone());
    let mut temperature = TEMPERATURES.0 * cost;
    let factor = (TEMPERATURES.1 / TEMPERATURES.0).powf(1.0 / steps.max(1) as f64);
    let mut visited = 1;
    for _ in 0..steps {
        let reported = |cost: f64| machine.reported(cost);
        let progress =
            Progress { best: reported(best.0), bound: reported(bound), decided: 0.0, visited };
        if !cost.is_finite() || !go_on(&progress) {
            break;
        }
        let Some(next) = machine.neighbour(&cuts, &mut random) else { break };
        let other = machine.allowable_cost(&next)?;
        visited += 1;
        if other <= cost || random.unit() < ((cost - other) / temperature).exp() {
            (cost, cuts) = (other, next);
        }
        if cost < best.0 {
            best = (cost, cuts.clone());
        }
        temperature *= factor;
    }
    machine.watch.check()?;
    let found = best.0.is_finite().then(|| (machine.reported(best.0), best.1));
    Ok(Outcome {
        best: found.into_iter().collect(),
        bound: machine.reported(bound),
        optimal: false,
        visited,
    })
}

/// Where it begins: at the roots, which are allowable if anything is that suppresses nothing.
/// Otherwise at the first allowable cut that a descent comes across; its cost is infinite if there
/// is none.
fn first(machine: &Machine, scratch: &mut AssessmentScratch) -> Result<(f64, Cuts)> {
    let roots: Cuts = machine.trees.iter().map(|tree| vec![tree.root()]).collect();
    let cost = machine.allowable_cost(&roots)?;
    if cost.is_finite() {
        return Ok((cost, roots));
    }
    let mut found = None;
    // Ever larger penalties lead to cuts that suppress ever less.
    for raised in 0..PENALTIES {
        let penalty = machine.rules.suppressed * f64::from((1u32 << raised) - 1);
        let machine = machine.penalized_by(penalty);
        for start in STARTS {
            descend(&machine, at_depth(&machine, start), scratch, &mut |price, cuts| {
                if price.cost.is_finite() && price.lost <= machine.rules.suppressible {
                    found = Some((price.cost, cuts.clone()));
                }
                found.is_none()
            })?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }
    Ok((f64::INFINITY, roots))
}
