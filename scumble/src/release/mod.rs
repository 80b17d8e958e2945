//! May it leave the house?
//!
//! A recoding is [applied](Recoded) to the table's cells, groups that fail are left out, and the
//! rows go to a [sink](Sink) in an order that says nothing about the input's. What was written is
//! read back and verified afresh, with none of the search's code, before it is published.
//! A bug in a search can cost utility, never privacy.

mod apply;
mod columns;
mod distribution;
mod draft;
mod extra;
mod judge;
mod line_buffer;
mod lines;
mod matched;
mod passed;
mod recount;
mod report;
mod risk;
mod rows;
mod rules;
mod sink;
mod sorted;
mod stream;
mod suppress;
mod values;
mod verify;

pub(crate) use apply::Classes;
pub use apply::{OfTarget, Recoded};
pub use columns::Released;
pub(crate) use distribution::{Claim, Originals, check_distribution};
pub use distribution::{Distributed, ReadGroup, Tree};
pub(crate) use draft::check_regular;
pub use draft::{Draft, publish, replace};
pub use judge::{Judgement, Verified, verify as judge_classes, verify_sizes};
pub use matched::{KnownKey, Matched, matched};
pub use recount::{ReadAs, Recount, ShareOfClasses, Unknown};
pub(crate) use report::caps_json;
pub use report::{
    Alternative, AlternativeLoss, Believed, ClassCounts, DistributionReport, Io, Losses, Phase,
    Predicted, PrivateLosses, PrivateRecoding, PrivateReport, RecodingReport, ReleaseKind, Report,
    RoundingReport, SearchReport,
};
pub use risk::{Risk, Risks};
pub use rows::{ReleasedRows, Token, schema};
pub(crate) use rows::{inverse, is_releasable, released_type};
pub use rules::Rules;
pub(crate) use sink::{Background, TableWriter, spelled_table};
pub use sink::{
    DISTRIBUTION, RELEASE, ReleaseBatches, ReleaseFile, ReleaseFolder, ReleaseStream, Sink,
    TableSink, Tables,
};
pub use sorted::{ClassTotals, ClassWriter, Sorter};
pub use stream::{CountedTarget, From, Stream, Totals};
pub use suppress::{Draws, Records, Within};
pub(crate) use values::mapped_values;
pub use values::{Lost, RecodedValue, RecodedValues};
pub(crate) use verify::{Checked, RowNeeds, check_table};
pub use verify::{DistributionChecked, Read, SameValue, Verification};
