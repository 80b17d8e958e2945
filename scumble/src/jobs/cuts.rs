//! Searches for cuts: when they end, which of the best is taken, and how the way there is told.

use super::Failure;
use super::anonymize::{Options, with_report};
use crate::bind::Prepared;
use crate::error::Error;
use crate::policy::Algorithm;
use crate::random::Random;
use crate::recoding::Mapping;
use crate::search::cuts::l_plus_optimize::{self, Outcome, Progress, Techniques};
use crate::search::cuts::{Machine, annealing};
use crate::search::{Found, Warrant};
use crate::watch::Closing;
use std::time::{Duration, Instant};

/// What a caller may choose of a search for cuts.
#[derive(Clone, Debug, Default)]
pub struct CutOptions {
    /// The search ends after this time with the best so far.
    pub time_limit: Option<Duration>,
    /// The release is drawn at random from so many of the best cuts; 0 and 1 are the best itself.
    pub top: usize,
    /// The release is one random step more general than what was found.
    pub extra_generalization: bool,
}

/// Searches as the policy says. The time limit is counted from `start`.
pub(super) fn search(
    prepared: &Prepared,
    algorithm: Algorithm,
    options: &Options,
    start: Instant,
) -> Result<Found, Failure> {
    let Some(cuts) = &prepared.cuts else { return Err(Error::Defect.into()) };
    let machine = Machine::new(&cuts.problem, &prepared.task.cells);
    let chosen = &options.cuts;
    let heeding = options.watch.heed();
    let mut go_on = |progress: &Progress| {
        let Progress { best, bound, decided, visited } = *progress;
        options.watch.closing(visited, Closing { best, bound, decided });
        !options.watch.stopped() && chosen.time_limit.is_none_or(|limit| start.elapsed() < limit)
    };
    let outcome = match algorithm {
        Algorithm::Annealing => {
            annealing::search(&machine, annealing::STEPS, options.seed.unwrap_or(0), &mut go_on)
        }
        _ => l_plus_optimize::search(&machine, Techniques::default(), chosen.top, &mut go_on),
    };
    drop(heeding);
    let Outcome { best, bound, optimal, visited } = outcome;
    // Who could guess the draw would know what it hides, so without a seed it is the system's.
    let mut random = Random::new(options.seed.unwrap_or_else(entropy));
    let draw = random.below(best.len().max(1) as u64) as usize;
    let Some((mut cost, mut cuts)) = best.into_iter().nth(draw) else {
        let top = prepared.task.taxonomies.iter().map(|taxonomy| taxonomy.height()).collect();
        let reason = match optimal {
            true => {
                "not even the most general cut can be released; lower the requirement or allow suppression"
            }
            false => {
                "the search ended before it found a cut that can be released; give it more time"
            }
        };
        return Err(with_report(
            Error::CannotBeMet { reason: reason.into() },
            prepared,
            &Mapping::Levels(top),
        ));
    };
    if chosen.extra_generalization
        && let Some(next) = machine.generalized(&cuts, &mut random)
    {
        (cost, cuts) = (machine.cost(&next), next);
    }
    let mapping = machine.taxonomy_cuts(&cuts).ok_or(Error::Defect)?;
    let warrant = if optimal && cost <= bound { Warrant::Optimal } else { Warrant::AtLeast(bound) };
    Ok(Found {
        mapping: Mapping::Cuts(mapping),
        warrant,
        cost: Some(cost),
        space: machine.space(),
        visited,
    })
}

/// A number that nobody can foresee: the keys of the standard library's hash maps come from the
/// system.
fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
