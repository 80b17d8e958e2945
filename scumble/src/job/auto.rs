//! Which kind of recoding loses the least? Each kind that the policy allows is searched, and the
//! report says what the others would have lost.

use super::search::{Searched, refused};
use super::{Effort, Job, cuts, local};
use crate::bind::Prepared;
use crate::error::{Error, Result};
use crate::loss::{Loss, LossChoice};
use crate::policy::Kind;
use crate::release::{Alternative, AlternativeLoss, Recoded};
use crate::search::Found;
use crate::search::lattice::incognito;
use crate::search::regions::mondrian;
use crate::watch::Watch;

/// Full-domain recodings are searched if there are no more than this many.
const LATTICE: u128 = 1 << 15;

/// A kind of recoding that was searched.
struct Candidate {
    kind: Kind,
    algorithm: &'static str,
    found: Found,
    /// What it costs by the loss of the policy. Of equal costs, LM decides.
    cost: f64,
    loss: AlternativeLoss,
    suppressed: u64,
    /// No release loses less, proven.
    proven: Option<f64>,
}

/// Searches every kind of recoding that the policy allows; only those that can be saved, if the
/// recoding will be.
pub(super) fn search(
    job: &Job,
    prepared: &Prepared,
    is_saved: bool,
    watch: &Watch,
) -> Result<Searched> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut refusal = None;
    for kind in [Kind::Levels, Kind::Cuts, Kind::Regions, Kind::Local] {
        let allowed = job.policy.search().recoding.allows(kind);
        let wanted = job.only.is_none_or(|only| only == kind);
        let is_over = watch.stopped() || job.effort == Effort::First;
        let is_enough = is_over && !candidates.is_empty();
        if !allowed || !wanted || is_enough || (is_saved && kind == Kind::Local) {
            continue;
        }
        match candidate(job, prepared, kind, is_saved, watch) {
            Ok(None) if job.only.is_some() => return Err(not_searched(kind)),
            Ok(candidate) => candidates.extend(candidate),
            Err(error @ Error::CannotBeMet { .. }) => refusal = refusal.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    // It holds for whatever kind is chosen.
    let proven = candidates.iter().find_map(|candidate| candidate.proven);
    // Of equal ones the first, which is the simplest.
    let best = (0..candidates.len()).min_by(|a, b| {
        let (a, b) = (&candidates[*a], &candidates[*b]);
        a.cost.total_cmp(&b.cost).then(a.loss.lm.total_cmp(&b.loss.lm))
    });
    let Some(best) = best else {
        let error = refusal.unwrap_or(Error::Defect);
        return Err(refused(error, prepared, watch));
    };
    let Candidate { algorithm, found, .. } = candidates.remove(best);
    let alternative = |other: Candidate| {
        Alternative::new(other.kind.name(), other.algorithm, other.loss, other.suppressed)
    };
    let alternatives = candidates.into_iter().map(alternative).collect();
    Ok(Searched { algorithm, found, believed: None, alternatives, proven })
}

/// Why a kind is not searched.
fn not_searched(kind: Kind) -> Error {
    let problem = match kind {
        Kind::Cuts => {
            "cannot be cuts here: they support only k, thresholds and frequency l-diversity of one \
             attribute, and not too many distinct rows"
        }
        _ => "cannot be levels here, because there are too many to search them all",
    };
    Error::Inapplicable { place: None, key: "search.recoding".into(), problem: problem.into() }
}

/// The best recoding of a kind and what it loses; `None` if the search would take too long, or does
/// not support what is asked.
fn candidate(
    job: &Job,
    prepared: &Prepared,
    kind: Kind,
    is_saved: bool,
    watch: &Watch,
) -> Result<Option<Candidate>> {
    let (task, search) = (&prepared.task, job.policy.search());
    let mut proven = None;
    let (algorithm, found) = match kind {
        Kind::Cuts => {
            let Some(problem) = &prepared.tried_cuts else { return Ok(None) };
            ("l-plus-optimize", cuts::try_out(job, problem, prepared, watch)?)
        }
        Kind::Regions => ("mondrian", mondrian::search(task, search.partitioning, watch)?),
        Kind::Local => {
            let (found, bound) = local::search(job, prepared, watch)?;
            proven = bound;
            ("local", found)
        }
        _ => {
            let levels = task.taxonomies.iter().map(|tree| tree.height() as u128 + 1);
            let recodings = levels.fold(1u128, u128::saturating_mul);
            if recodings > LATTICE && search.recoding.allows(Kind::Regions) {
                return Ok(None);
            }
            ("incognito", incognito::search(task, job.parameters.strategy, watch)?)
        }
    };
    // Regions that can be saved have other labels.
    let boxes = is_saved.then(|| found.mapping.clone().of_boxes());
    let recoded = Recoded::new(task, boxes.as_ref().unwrap_or(&found.mapping), watch)?;
    let cost = recoded.cost(task, watch)?;
    let is_asked = |loss: LossChoice| task.loss == loss;
    let loss = AlternativeLoss {
        lm: recoded.lm(task),
        lm_weighted: recoded.lm_weighted(task),
        dm: is_asked(LossChoice::Dm).then(|| recoded.dm(task)),
        cm: is_asked(LossChoice::Cm).then(|| cost / task.loss.unit(task.rows(), 1)),
    };
    let suppressed = recoded.suppressed;
    Ok(Some(Candidate { kind, algorithm, found, cost, loss, suppressed, proven }))
}
