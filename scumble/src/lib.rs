//! scumble
pub mod error;
pub mod ratio;
pub mod table;
pub mod taxonomy;
pub mod source;
pub mod privacy;
pub mod loss;
pub mod recoding;
pub mod search;
pub mod release;
pub mod random;
pub mod generate;
pub mod policy;
pub mod jobs;
