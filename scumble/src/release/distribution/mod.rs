//! Does a distribution release keep what was asked, by what is written in it?
//!
//! What is [read](Distributed) here is judged here too, from the tables alone, with nothing of the
//! search and of the writer. The values that groups had before are compared if somebody knows them.

mod read;
mod verify;

pub use read::{Distributed, ReadGroup, Tree};
pub(crate) use verify::{GROUP, Originals, check_distribution, owner_name};
