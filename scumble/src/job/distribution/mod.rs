//! stub
use super::{Job, Produced, Walk};
use crate::error::{Error, Result};
pub(super) use crate::release::Originals;
use crate::release::{Sink, Tables, Verification};
use crate::source::Source;
use crate::watch::Watch;

pub(super) fn produce(_: &mut Walk<'_>, _: &mut dyn Sink) -> Result<Produced> {
    Err(Error::Defect)
}
pub(super) fn verify(
    _: &Job,
    _: &Tables,
    _: Option<&dyn Source>,
    _: &Watch,
) -> Result<Verification> {
    Err(Error::Defect)
}
