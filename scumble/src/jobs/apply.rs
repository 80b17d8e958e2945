//! More rows, recoded the same way, verified as strictly.

use super::{Failure, Options, Work, check_apart};
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::recoding::Recoding;
use crate::release::Report;
use std::path::Path;

/// Applies a saved recoding to another file of the same shape. Classes that fail are left out up to
/// the policy's limit; past it nothing is released.
pub fn apply(
    recoding: &Path,
    input: &Path,
    policy: &Policy,
    output: &Path,
    options: &Options,
) -> Result<Report, Failure> {
    check_apart(&[output], [recoding].into_iter())?;
    let text = std::fs::read(recoding).map_err(Error::io(recoding, "read"))?;
    let saved = Recoding::from_json(&text, recoding)?;
    let work = Work::read(input, policy, output, options)?;
    let mapping = saved.bind(work.columns(), recoding)?;
    work.release("saved-recoding", mapping, None, options)
}
