//! Anonymization of tables about people: a table goes in, a release comes out that nobody can be
//! picked out of, with as much detail left as can be proven safe.
//!
//! ```
//! use scumble::{jobs, policy::Policy};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = std::env::temp_dir().join(format!("scumble-front-page-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let (input, output) = (folder.join("patients.csv"), folder.join("release.csv"));
//! std::fs::write(&input, "name,age,diagnosis\nAnn,31,flu\nBob,34,asthma\nCid,52,flu\nDee,58,gout\n")?;
//!
//! let policy = Policy::parse(
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
//!     &folder.join("policy.toml"),
//! )?;
//! let report = jobs::anonymize(&input, &policy, &output, &jobs::Options::default()).map_err(|failure| failure.error)?;
//!
//! assert_eq!(report.verified.smallest, 2);
//! assert_eq!(
//!     std::fs::read_to_string(&output)?,
//!     "age,diagnosis\n30-39,asthma\n30-39,flu\n50-60,flu\n50-60,gout\n"
//! );
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! The rooms, in the order in which they may know each other:

pub mod error;
mod lock;
pub mod random;
pub mod ratio;
pub mod watch;

pub mod recoding;
pub mod source;
pub mod table;
pub mod taxonomy;

pub mod estimate;

pub mod loss;
pub mod privacy;

pub mod summary;

pub mod search;

pub mod bind;
pub mod policy;

pub mod generate;
pub mod release;

pub mod query;

pub mod job;

pub use error::{Error, Figure, Judged, Kind as ErrorKind, Place, Refusal, Result, Shortfall};
pub use generate::subset::Selection;
pub use job::{
    Estimate, Estimated, EstimatedLoss, Estimation, EstimationError, Job, QueryAnswer, Synthetic,
    build_hierarchy, generate, init, query, read_hierarchy,
};
pub use policy::{Policy, PolicyBuilder, Setting};
pub use privacy::{Advice, Stakes, Unadvisable};
pub use ratio::Ratio;
pub use recoding::Recoding;
pub use release::{
    Believed, ClassCounts, DistributionChecked, DistributionReport, Io, Losses, Phase, Predicted,
    RecodingReport, ReleaseBatches, ReleaseFile, ReleaseFolder, ReleaseKind, ReleaseStream, Report,
    Risk, Risks, RoundingReport, SearchReport, Sink, TableSink, Tables, Verification,
    replace as write_private,
};
pub use source::{
    Compression, Counts, FileFormat, Format, Meter, RecordBatches, Source, TableBatches, TableFile,
    TableStream,
};
pub use summary::Summary;
pub use taxonomy::{Hierarchy, Taxonomy};
pub use watch::{Closing, Progress, Watch};
