//! A good first solution: columns take turns, each with the best cut there is for the cuts of the
//! others.

use super::enumeration::{AssessmentScratch, Subtree};
use super::{Cuts, Machine, Price, Tree};
use crate::error::Result;

/// How far down the trees descents start.
pub(super) const STARTS: [f64; 4] = [0.0, 0.34, 0.67, 1.0];

/// Improves a cut column by column until no column alone can improve it. `seen` hears of every cut
/// that is the best for some column on the way, with its price, and says whether to go on. Suppression
/// is charged with its penalty.
pub(super) fn descend(
    machine: &Machine,
    mut cuts: Cuts,
    scratch: &mut AssessmentScratch,
    seen: &mut dyn FnMut(Price, &Cuts) -> bool,
) -> Result<()> {
    let columns = machine.trees.len();
    let (mut best, mut settled) = (f64::INFINITY, 0);
    // The widest column first: it has most to choose.
    let mut column = machine.widest();
    while settled < columns {
        let assessment =
            Subtree::only(machine, column, &cuts)?.assess(machine, column, false, None, scratch)?;
        let tree = &machine.trees[column];
        let prices = &assessment.prices;
        let costs: Vec<f64> = prices.iter().map(|price| machine.rules.penalized(*price)).collect();
        if let Some((cost, cut)) = tree.best_cuts(&costs, 1, &machine.watch)?.pop() {
            settled = if cost < best { 0 } else { settled };
            best = cost;
            cuts[column] = cut;
        }
        if !seen(Price::sum(&cuts[column], prices), &cuts) {
            break;
        }
        settled += 1;
        column = (column + 1) % columns;
    }
    Ok(())
}

/// The cut that goes so far down every tree: 0 at the roots, 1 at the leaves.
pub(super) fn at_depth(machine: &Machine, share: f64) -> Cuts {
    let cut = |tree: &Tree| {
        let numbers = 0..tree.branches().len() as u32;
        let deepest = numbers.clone().map(|node| tree.depth(node)).max().unwrap_or(0);
        let wanted = (deepest as f64 * share).round() as usize;
        let stops: Vec<bool> = numbers.map(|node| tree.depth(node) >= wanted).collect();
        tree.cut_of_stops(&stops)
    };
    machine.trees.iter().map(cut).collect()
}
