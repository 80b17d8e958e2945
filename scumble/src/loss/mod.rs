//! What does a release cost?
//!
//! Each loss is a sum over groups and columns. It never decreases when groups merge, and
//! suppression only adds to it, so the loss of a finer node without suppression is a lower bound
//! for every coarser node. Sums are kept as integers and divided once at the end, so a release has
//! the same cost as a float however it was reached.

mod cm;
mod conditional_entropy;
mod dm;
mod entropy;
mod lm;
mod rmse;

pub use cm::{cm, minority};
pub use conditional_entropy::{conditional_entropy, open_bits};
pub use dm::dm;
pub use entropy::{Said, non_uniform_entropy};
pub use lm::{Lm, LmSum};
pub use rmse::{rmse, squared_error};

/// What a search minimizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The share of detail lost, averaged over cells of the table.
    Lm,
    /// The sum of squared class sizes.
    Dm,
    /// The share of rows outside their class's majority label.
    Cm,
}

impl Loss {
    /// Every loss with its name in a policy and its meaning.
    pub const NAMES: [(&'static str, Loss, &'static str); 3] = [
        ("lm", Loss::Lm, "loss metric: the share of detail lost, averaged over the table's cells"),
        ("dm", Loss::Dm, "discernibility: squared class sizes, plus rows x suppressed rows"),
        ("cm", Loss::Cm, "classification: share of rows outside their class's majority label"),
    ];
}
