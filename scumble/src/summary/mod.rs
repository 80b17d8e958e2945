//! What is believed without reading rows?
//!
//! A [`Summary`] is what one scan leaves of a table: the values of its attributes with their
//! counts, and a [`Belief`] in how they go together. It tells the believed probability of any
//! generalized tuple, with a sensitive value or without ([Nergiz, Tamersoy and Saygin 2011],
//! definition 2.9: the summary function F), and can be kept in a file. It is never evidence: what
//! it says decides where a search looks, not what is released.
//!
//! The values of an attribute are numbered in the order of their texts. A question groups these
//! numbers, by the nodes of a level, a cut or a box, and gets the believed share of rows of each
//! tuple of groups: [`Believe::joint`] is the one method that a kind of summary has.

mod bayes;
mod beliefs;
mod build;
mod file;
mod histogram;
mod learn;
mod sample;

pub use bayes::{Dependence, Network};
pub use beliefs::{Beliefs, Estimator, Grouped, Sensitive};
pub use build::Builder;
pub use file::VERSION;
pub use histogram::Histogram;
pub use learn::Structure;
pub use sample::DrawnRows;

use crate::error::Result;
use crate::table::{Role, Type};
use crate::taxonomy::Taxonomy;
use crate::watch::Watch;
use std::path::{Path, PathBuf};

/// Tuples of groups, or steps on the way to them, that are listed at most; a mapping with more is
/// beyond belief.
const MOST_TUPLES: usize = 1 << 21;

/// Rows of a summarized table, at most: more than anybody has, and few enough to be multiplied.
pub const MOST_ROWS: u64 = 1 << 40;

/// The fingerprint of no tree in particular.
pub const ANY_TREE: u64 = 0;

/// A value that a question leaves out.
pub const NOWHERE: u32 = u32::MAX;

/// What is known of one attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Quasi-identifier or sensitive.
    pub role: Role,
    /// The type of its values.
    pub kind: Type,
    /// Its values, in the order of their texts.
    pub values: Vec<String>,
    /// The rows with each.
    pub counts: Vec<u64>,
    /// What its tree looked like: see [`fingerprint`]; [`ANY_TREE`] if nobody knows.
    pub tree: u64,
}

/// A summary of a table.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What errors call it.
    pub(crate) file: PathBuf,
    /// How many rows the table has.
    pub rows: u64,
    /// The quasi-identifiers in the table's order, then the sensitive attributes.
    pub attributes: Vec<Attribute>,
    /// How they go together.
    pub belief: Belief,
}

impl PartialEq for Summary {
    /// Where a summary came from does not matter.
    fn eq(&self, other: &Summary) -> bool {
        (self.rows, &self.attributes, &self.belief)
            == (other.rows, &other.attributes, &other.belief)
    }
}

impl Summary {
    /// What errors call it: its file, if it was read from one.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

/// How attributes go together.
#[derive(Clone, Debug, PartialEq)]
pub enum Belief {
    /// Not at all.
    Histogram,
    /// Each depends on a few others.
    Bayes(Network),
    /// As in some of the rows.
    Sample(DrawnRows),
}

/// Which belief to build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryKind {
    /// Independent attributes.
    #[default]
    Histogram,
    /// A Bayesian network.
    Bayes,
    /// A uniform sample.
    Sample,
}

impl SummaryKind {
    /// Every kind with its name.
    pub const NAMES: [(&'static str, SummaryKind); 3] = [
        ("histogram", SummaryKind::Histogram),
        ("bayes", SummaryKind::Bayes),
        ("sample", SummaryKind::Sample),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        SummaryKind::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// How a question groups the values of one attribute.
#[derive(Clone, Copy, Debug)]
pub struct Grouping<'a> {
    /// The group of each value; [`NOWHERE`] leaves it out.
    pub of: &'a [u32],
    /// How many groups there are.
    pub len: usize,
}

/// The believed shares of tuples of groups, those that are not zero, in ascending order of their
/// numbers: the groups of a tuple as digits of one number, the last attribute's as the lowest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joint {
    /// Number and share of each tuple.
    pub tuples: Vec<(u64, f64)>,
}

/// What a kind of belief can tell.
pub trait Believe {
    /// The believed share of each tuple of groups, one of each attribute; `None` where there are
    /// too many to be listed. Fails only if the job is aborted.
    fn joint(&self, groups: &[Grouping<'_>], watch: &Watch) -> Result<Option<Joint>>;
}

impl Believe for Summary {
    fn joint(&self, groups: &[Grouping<'_>], watch: &Watch) -> Result<Option<Joint>> {
        let tuples = groups
            .iter()
            .try_fold(1u64, |product, groups| product.checked_mul(groups.len.max(1) as u64));
        match &self.belief {
            _ if tuples.is_none() => Ok(None),
            Belief::Histogram => {
                Histogram { rows: self.rows, attributes: &self.attributes }.joint(groups, watch)
            }
            Belief::Bayes(network) => network.joint(groups, watch),
            Belief::Sample(drawn) => drawn.joint(groups, watch),
        }
    }
}

impl Summary {
    /// What it is called in a report.
    pub fn kind(&self) -> SummaryKind {
        match self.belief {
            Belief::Histogram => SummaryKind::Histogram,
            Belief::Bayes(_) => SummaryKind::Bayes,
            Belief::Sample(_) => SummaryKind::Sample,
        }
    }

    /// The attributes with a role, with their positions.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = (usize, &Attribute)> {
        self.attributes.iter().enumerate().filter(move |(_, attribute)| attribute.role == role)
    }
}

/// A number that two trees share only if all their labels are the same, leaf by leaf and level by
/// level (FNV-1a).
pub fn fingerprint(taxonomy: &Taxonomy) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    };
    for level in taxonomy.levels() {
        for node in 0..level.len() as u32 {
            eat(level.label(node).as_bytes());
            // Labels cannot run into one another, and neither can nodes of other sizes.
            eat(&[0]);
            eat(&level.range(node).start.to_le_bytes());
            eat(&level.leaves(node).to_le_bytes());
        }
    }
    hash
}
