//! The experiments of l+-Optimize, re-run.

use crate::bench::Measured;
use scumble::error::Result;
use std::path::Path;

/// All tables.
pub fn l_plus(_adult: Option<&Path>) -> Result<Vec<Measured>> {
    Ok(Vec::new())
}
