//! Anonymizes tables about people: a job reads a table, finds a release that meets a privacy policy
//! and keeps as much detail as possible, verifies it and writes it.
//!
//! ```
//! use scumble::{Job, Policy, ReleaseFile, TableFile, Watch};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = std::env::temp_dir().join(format!("scumble-front-page-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let (input, output) = (folder.join("patients.csv"), folder.join("release.csv"));
//! let table = "name,age,diagnosis\nAnn,31,flu\nBob,34,asthma\nCid,52,flu\nDee,58,gout\n";
//! std::fs::write(&input, table)?;
//!
//! let policy = Policy::from_toml(
//!     r#"
//!     [attributes.name]
//!     role = "identifier"
//!
//!     [attributes.age]
//!     role = "quasi-identifier"
//!     hierarchy = { intervals = [10, 20], from = 20, to = 60 }
//!
//!     [attributes.diagnosis]
//!     role = "sensitive"
//!
//!     [privacy]
//!     k = 2
//!     l-diversity = { kind = "distinct", l = 2 }
//!     "#,
//! )?;
//! let (table, release) = (TableFile::open(&input)?, ReleaseFile::new(&output)?);
//! let report = Job::new(policy).run(table, release, &Watch::default())?;
//!
//! assert_eq!(report.classes.smallest_class, 2);
//! assert_eq!(
//!     std::fs::read_to_string(&output)?,
//!     "age,diagnosis\n30-39,asthma\n30-39,flu\n50-60,flu\n50-60,gout\n"
//! );
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! The main types:
//!
//! - A [`Policy`] defines the roles of columns and the requirements for a release. It comes from TOML,
//!   from serde or from a [builder](Policy::builder), and goes through the same checks each time.
//! - A [`Source`] is a table: a [file](TableFile), [record batches](TableBatches), an
//!   [Arrow stream](TableStream), or your own. It can be scanned more than once, and answers a GROUP BY
//!   with [`Counts`].
//! - A [`Sink`] is where a release goes: a [file](ReleaseFile), a [folder](ReleaseFolder) of tables,
//!   [batches in memory](ReleaseBatches), or your own. It publishes nothing before the release is verified.
//! - A [`Job`] has a policy and limits, and runs from a source to a sink: scan, bind, search, recode,
//!   write, verify, publish. It also [verifies](Job::verify), measures [risk](Job::risk),
//!   [summarizes](Job::summarize) and [estimates](Job::estimate).
//! - A [`Report`] states the requirements, what was reached and the loss. An [`Error`] carries its data.
//! - A [`Watch`] receives the progress of a job, asks it for the best result so far, or aborts it.

#![cfg_attr(not(feature = "internals"), allow(dead_code, unused_imports))]

// The rooms, in the order in which they may know each other. They are private: experiments and
// white-box tests reach them through the feature `internals`, which is not part of the API.
#[cfg(not(feature = "internals"))]
mod bind;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod bind;
#[cfg(not(feature = "internals"))]
mod error;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod error;
#[cfg(not(feature = "internals"))]
mod estimate;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod estimate;
#[cfg(not(feature = "internals"))]
mod generate;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod generate;
#[cfg(not(feature = "internals"))]
mod html;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod html;
#[cfg(not(feature = "internals"))]
mod ids;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod ids;
#[cfg(not(feature = "internals"))]
mod job;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod job;
mod lock;
#[cfg(not(feature = "internals"))]
mod loss;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod loss;
#[cfg(not(feature = "internals"))]
mod policy;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod policy;
#[cfg(not(feature = "internals"))]
mod portrait;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod portrait;
#[cfg(not(feature = "internals"))]
mod privacy;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod privacy;
#[cfg(not(feature = "internals"))]
mod query;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod query;
#[cfg(not(feature = "internals"))]
mod random;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod random;
#[cfg(not(feature = "internals"))]
mod ratio;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod ratio;
#[cfg(not(feature = "internals"))]
mod recoding;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod recoding;
#[cfg(not(feature = "internals"))]
mod release;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod release;
#[cfg(not(feature = "internals"))]
mod search;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod search;
#[cfg(not(feature = "internals"))]
mod source;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod source;
#[cfg(not(feature = "internals"))]
mod summary;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod summary;
#[cfg(not(feature = "internals"))]
mod table;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod table;
#[cfg(not(feature = "internals"))]
mod taxonomy;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod taxonomy;
#[cfg(not(feature = "internals"))]
mod watch;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod watch;

pub use error::{Error, ErrorKind, Judged, Place, Refusal, Result, Shortfall};
pub use generate::subset::Selection;
pub use job::{
    Estimated, Estimation, Job, QueryAnswer, Suggestion, Synthetic, build_hierarchy, generate,
    query, read_hierarchy, suggest,
};
pub use policy::{Policy, PolicyBuilder, Setting};
pub use portrait::Portrait;
pub use privacy::{Stakes, Unadvisable};
pub use recoding::Recoding;
pub use release::{
    ClassCounts, RecodingReport, ReleaseBatches, ReleaseFile, ReleaseFolder, ReleaseKind,
    ReleaseStream, Report, Risks, SearchReport, Sink, TableSink, Tables, Verification,
    replace as write_private,
};
pub use source::{
    Counts, FileFormat, Format, Meter, RecordBatches, Source, TableBatches, TableFile, TableStream,
};
pub use summary::Summary;
pub use table::{Role, Type};
pub use taxonomy::{DateLevel, Hierarchy, Side, Taxonomy};
pub use watch::{Closing, Progress, Watch};
