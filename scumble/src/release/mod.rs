//! May it leave the house?
//!
//! A recoding is [applied](Recoded) to the table's cells, groups that fail are left out, and the
//! rows are [written](Draft) to a private file in an order that says nothing about the input's.
//! That file is read back and [judged](verify) afresh, with none of the search's code, before it
//! takes its name. A bug in a search can cost utility, never privacy.

mod apply;
mod columns;
mod distributed;
mod folder;
mod lines;
mod matched;
mod page;
mod recount;
mod report;
mod risk;
mod rows;
mod rules;
mod sink;
mod stream;
mod suppress;
mod values;
mod verify;
mod write;

pub(crate) use apply::Classes;
pub use apply::{OfTarget, Recoded};
pub use columns::Released;
pub use distributed::{Distributed, ReadGroup, Tree, read_coded};
pub use folder::FolderDraft;
pub use matched::{Known, Matched, matched};
pub(crate) use page::{Fields, Page, push_field};
pub use recount::{Part, Recount, Unknown};
pub use report::{
    Believed, Decided, Io, Losses, Phase, Predicted, Report, Searched, caps_of_report,
};
pub use risk::{Risk, Risks};
pub use rows::{Rows, Token, schema};
pub(crate) use rows::{inverse, is_releasable, wide};
pub use rules::Rules;
pub use sink::{Background, Sink};
pub use stream::{From, Stream, Target, Totals};
pub use suppress::{Records, Within};
pub use values::{Lost, Value, Values};
pub use verify::{Judgement, Verified, verify, verify_sizes};
pub use write::{Draft, publish, replace};
