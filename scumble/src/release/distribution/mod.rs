//! Does a distribution release keep what was asked, by what is written in it?
//!
//! What is [read](Distributed) here is judged here too, from the tables alone, with nothing of the
//! search and of the writer. The values that groups had before are compared if somebody knows them.
//!
//! | file | question |
//! |---|---|
//! | `read` | what is in the tables? |
//! | `verify` | does it keep what was asked? |
//! | `levels` | what is a value called at a level of its hierarchy? |
//! | `targets` | which weights does a target have? |
//! | `originals` | which values did the groups have in the owner's table? |

mod levels;
mod originals;
mod read;
mod targets;
mod verify;

pub(crate) use originals::{Claim, Originals};
pub use read::{Distributed, ReadGroup, Tree};
pub(crate) use verify::check_distribution;
