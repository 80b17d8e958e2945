//! scumble
pub mod error;
pub mod ratio;
pub mod table;
pub mod taxonomy;
