//! SPALM: the optimal full-domain recoding under delta-presence with a public table (Nergiz, Atzori
//! and Clifton 2007; Nergiz and Clifton 2008, sections 3 and 7).
//!
//! Cells are those of the population; the rows of a group are the private ones, and a counted
//! column holds the others. A recoding that fails rules out every finer one (theorem 1), which the
//! lattice's machine knows from what [`Presence`](crate::privacy::Presence) says of merging, so
//! this is the search of [`incognito`] with nothing added: exact, with every other requirement on
//! the private rows beside it.
//!
//! | here | paper |
//! |---|---|
//! | hopeless | deleted with all children and grandchildren |
//! | [`Strategy::TopDown`] | the paper's order |
//! | [`Strategy::BestFirst`] | the default: what is cheap first, and what rules out most before it |
//!
//! Departure: costs steer the search as well as theorem 1 does. All orders find the same cost.

use super::incognito::{self, Strategy};
use crate::error::Result;
use crate::search::{Found, Task};
use crate::watch::Watch;

/// The cheapest recoding of the private rows under which every group of the population is present
/// within the range.
pub fn search(task: &Task, strategy: Strategy, watch: &Watch) -> Result<Found> {
    incognito::search(task, strategy, watch)
}
