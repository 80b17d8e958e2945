//! SFALM: the best full-domain recoding under c-confident delta-presence (Nergiz and Clifton 2008,
//! section 7, algorithm 1).
//!
//! The lattice of [`incognito`], whose nodes are judged by the confidence of their classes besides
//! all other requirements. Merging may lower the confidence of a tuple, so nothing follows for
//! finer nodes from one that fails. With practical anti-monotonicity (PA) it is taken to follow;
//! that can cost utility, never privacy, since whatever is released has been judged. Where PA
//! leaves nothing to release, the search is repeated without it: that none holds is said only of
//! nodes that were judged.
//!
//! | here | paper |
//! |---|---|
//! | [`Shortcuts::practical`](crate::privacy::Shortcuts::practical) | line 9: a node is deleted with all finer ones |
//! | [`ConfidentPresence::hold`](crate::privacy::ConfidentPresence::hold) | lines 5 to 8 |
//!
//! Departures: nodes come in the order of their cost instead of level by level from the top
//! ([`Strategy::TopDown`] is the paper's order). Without PA that makes the first node that holds
//! the best one, since LM is known before a node is judged.

use super::incognito::{self, Strategy};
use crate::error::{Error, Result, Shortfall};
use crate::search::{Found, Task, Warrant};
use crate::watch::Watch;

/// The cheapest recoding whose classes are all confidently present. It is proven to be that only
/// where nothing was taken to follow that does not: without PA, and where no tuple is refused for
/// what a cut left out.
pub fn search(task: &Task, strategy: Strategy, watch: &Watch) -> Result<Found> {
    let Some(confident) = &task.confident else { return incognito::search(task, strategy, watch) };
    let shortcuts = confident.shortcuts();
    let mut practical = shortcuts.practical;
    let mut found = incognito::search_with(task, strategy, practical, watch);
    if practical && matches!(found, Err(Error::CannotBeMet { .. })) {
        practical = false;
        found = incognito::search_with(task, strategy, practical, watch);
    }
    let mut found = found.map_err(|error| told(error, shortcuts.may_refuse()))?;
    if practical || shortcuts.may_refuse() {
        found.warrant = Warrant::AtLeast(0.0);
    }
    Ok(found)
}

/// Where tuples that hold may be refused, a recoding may hold although none was found.
fn told(error: Error, may_refuse: bool) -> Error {
    match error {
        Error::CannotBeMet { shortfall: Shortfall::NoRecoding { space, rows, .. }, refusal }
            if may_refuse =>
        {
            let shortfall = Shortfall::NoConfidentRecoding { space, rows };
            Error::CannotBeMet { shortfall, refusal }
        }
        error => error,
    }
}
