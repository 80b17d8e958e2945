//! Simulated annealing over cuts (Kirkpatrick, Gelatt and Vecchi 1983), for comparison: what the
//! paper's figure 7 holds against l+-Optimize.
//!
//! A step specializes or generalizes one value of one column, drawn at random. A cheaper cut is
//! taken, a dearer one with the probability exp(-difference / temperature); the temperature falls
//! from a share of the first cost to almost nothing, by the same factor at every step. Nothing is
//! proven about the answer but the bound of the whole tree.

use super::enumeration::{AssessmentScratch, Subtree};
use super::l_plus_optimize::{Outcome, Progress};
use super::{Cuts, Machine};
use crate::error::Result;
use crate::random::Random;

/// Steps that are taken unless the caller ends it.
pub const STEPS: u64 = 20_000;

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
    // The roots are feasible if anything is that suppresses nothing.
    let mut cuts: Cuts = machine.trees.iter().map(|tree| vec![tree.root()]).collect();
    let mut cost = machine.cost_with(&cuts, &mut scratch)?;
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
        let other = machine.cost_with(&next, &mut scratch)?;
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
