//! Recodings by levels or cuts of tables that do not fit in memory.
//!
//! A first scan finds the values of every column that is counted. A second one counts distinct
//! tuples, by spill and merge where they do not fit, and the search works on these; a search by a
//! summary counts only the groups of its candidates. The last scan recodes the rows, which are
//! sorted on disk, so that their order says nothing about the input's. The release is the same as
//! that of a table in memory.

mod bound;
mod scan;
mod search;
mod write;

use crate::error::{Error, Result};
use crate::job::memory::check_saving;
use crate::job::{Beside, Decision, Produced, Walk};
use crate::policy::{Algorithm, Policy};
use crate::recoding::{Mapping, Recoding};
use crate::release::{
    ClassTotals, Io, PrivateRecoding, PrivateReport, RecodedValues, RecodingReport, ReleaseKind,
    SearchReport, Sink, mapped_values,
};
use crate::search::cuts::Suppression;
use crate::source::spill::SpillFolder;
use crate::taxonomy::{Taxonomy, TreeNode};
use bound::{BoundTable, scheme};
use scan::Scanned;
use search::{Decided, decide};
use std::io::Write;
use std::sync::Arc;
use write::Writing;

/// Whether a table that exceeds the memory can be recoded here. Of cuts, rows that are left out of
/// classes that stay are not known here.
pub(super) fn is_supported(algorithm: Algorithm, policy: &Policy) -> bool {
    match algorithm {
        Algorithm::Incognito | Algorithm::SInstant => true,
        Algorithm::LPlusOptimize | Algorithm::Annealing => {
            matches!(scheme(policy), Ok(Suppression::None | Suppression::AllRecords))
                && policy.search().cuts().extra_suppression.is_none()
        }
        _ => false,
    }
}

/// Scans, binds, searches, recodes and writes.
pub(super) fn produce(
    walk: &mut Walk<'_>,
    sink: &mut dyn Sink,
    algorithm: Algorithm,
) -> Result<Produced> {
    if walk.job.keep_order {
        return Err(Error::Inapplicable {
            place: None,
            key: "keep-order".into(),
            problem: "requires a table that fits in memory".into(),
        });
    }
    check_saving(walk, sink)?;
    let is_searched = matches!(walk.job.decision, Decision::Search);
    let is_believed = is_searched && algorithm == Algorithm::SInstant;
    let mut scanned = Scanned::new(walk, is_believed && walk.job.summary.is_none())?;
    walk.clock.phase("survey");
    let bound = BoundTable::new(&walk.job.policy, algorithm, &scanned, &walk.source.file())?;
    walk.clock.phase("bind");
    let folder = SpillFolder::create(&walk.job.limits.spill_folder())?;
    let decided = decide(walk, &mut scanned, &bound, &folder, algorithm);
    let Decided { algorithm, mapping, found, failing } =
        decided.map_err(|error| bound.refused(error, &scanned, walk.watch))?;
    let seconds = walk.clock.phase("search");
    let search = found.map(|(found, believed)| SearchReport::of(&found, believed, seconds));
    let values = mapped_values(&bound.task, &mapping)?;
    let writing = Writing { walk, bound: &bound, values: &values, failing: &failing };
    let written = writing.write(&mut scanned, sink, &folder, &bound.maps(&mapping)?)?;
    walk.clock.phase("write");
    if sink.wants_recoding()
        && let Some(mut file) = sink.recoding()?
    {
        let recoding = Recoding::of(bound.columns(), &mapping).ok_or(Error::Defect)?;
        let text = recoding.to_json() + "\n";
        file.write_all(text.as_bytes()).map_err(Error::io(sink.name().as_ref(), "write"))?;
    }
    let target = written.of_target(&scanned, &failing);
    let (losses, of_input) = written.losses(&bound, &values, &failing, target);
    let (recoding, of_owner) = told(&bound, &mapping, &values, &written.totals);
    Ok(Produced {
        algorithm,
        generalized_by: None,
        rows: bound.rows,
        written: written.totals.rows,
        columns: scanned.columns.iter().map(|column| column.name.clone()).collect(),
        suppressed_values: None,
        caps: written.caps(&bound, &scanned, walk.job.policy.derives_caps()),
        private: PrivateReport::new(of_input, Some(of_owner)),
        policy: walk.job.policy.with_caps(&bound.caps)?,
        release: ReleaseKind::Table { loss: losses, recoding, search },
        notes: Vec::new(),
        alternatives: Vec::new(),
        io: Io {
            bytes_read: folder.bytes_read(),
            bytes_written: folder.bytes_written(),
            repartitions: Some(0),
            pruned_nodes: Some(0),
            ..Io::default()
        },
        beside: Beside::Nothing,
        leftovers: Box::new((scanned.columns, bound)),
    })
}

/// What was decided: as a published report tells it, and what only the owner may see.
fn told(
    bound: &BoundTable,
    mapping: &Mapping,
    values: &[RecodedValues],
    totals: &ClassTotals,
) -> (RecodingReport, PrivateRecoding) {
    let names = bound.names.iter().cloned();
    let trees = &bound.task.taxonomies;
    let Mapping::Cuts(cuts) = mapping else {
        let heights = names.clone().zip(trees.iter().map(|tree| tree.height())).collect();
        let levels = names.zip(mapping.levels().iter().copied()).collect();
        return (RecodingReport::FullDomain { levels }, PrivateRecoding::Heights(heights));
    };
    let label = |tree: &Arc<Taxonomy>, node: &TreeNode| {
        tree.level(node.level).label(node.index).to_string()
    };
    let all = trees.iter().zip(cuts);
    let all = all.map(|(tree, cut)| cut.nodes().iter().map(|node| label(tree, node)).collect());
    let released = values.iter().zip(&totals.is_released).map(|(values, is_released)| {
        let released = (0..).zip(is_released).filter(|(_, is_released)| **is_released);
        released.map(|(value, _)| values.label(value).to_string()).collect()
    });
    let all = names.clone().zip(all).collect();
    (RecodingReport::Cuts { cuts: names.zip(released).collect() }, PrivateRecoding::Cuts(all))
}
