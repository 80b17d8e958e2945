//! Anonymization of tables about people: a table goes in, a release comes out in which nobody can be
//! singled out, with as much detail left as can be proven safe.
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
//! The nouns:
//!
//! - A [`Policy`] says what the columns are and what every release must meet. It comes from TOML, from
//!   serde or from a [builder](Policy::builder), and is checked in the same way each time.
//! - A [`Source`] is a table: a [file](TableFile), [record batches](TableBatches), an
//!   [Arrow stream](TableStream), or your own. It can be scanned more than once, and answers a GROUP BY
//!   with [`Counts`].
//! - A [`Sink`] is where a release goes: a [file](ReleaseFile), a [folder](ReleaseFolder) of tables,
//!   [batches in memory](ReleaseBatches), or your own. It shows nothing before the release is verified.
//! - A [`Job`] takes a policy and limits, and walks from a source to a sink: scan, bind, search,
//!   recode, write, verify, publish. It also [verifies](Job::verify), measures [risk](Job::risk),
//!   [summarizes](Job::summarize) and [estimates](Job::estimate).
//! - A [`Report`] tells what was asked, what was reached and what it cost; an [`Error`] what went wrong,
//!   as data.
//! - A [`Watch`] hears how far a job has come, asks for the best so far, or aborts it.

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
    Estimated, Estimation, Job, QueryAnswer, Synthetic, build_hierarchy, generate, init, query,
    read_hierarchy,
};
pub use policy::{Policy, PolicyBuilder, Setting};
pub use privacy::{Stakes, Unadvisable};
pub use ratio::Ratio;
pub use recoding::Recoding;
pub use release::{
    ClassCounts, RecodingReport, ReleaseBatches, ReleaseFile, ReleaseFolder, ReleaseKind,
    ReleaseStream, Report, Risk, Risks, SearchReport, Sink, TableSink, Tables, Verification,
    replace as write_private,
};
pub use source::{
    Counts, FileFormat, Format, Meter, RecordBatches, Source, TableBatches, TableFile, TableStream,
};
pub use summary::Summary;
pub use table::{Role, Type};
pub use taxonomy::{DateLevel, Hierarchy, Side, Taxonomy};
pub use watch::{Closing, Progress, Watch};
