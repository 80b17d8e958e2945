//! A release judged from its file alone: the rows are counted afresh, and every class is put to
//! every requirement.
//!
//! Nothing of the search is used here.

use crate::error::{Result, WorstValue};
use crate::ids::ClassId;
use crate::privacy::{Group, Requirement, Statement, asks_nothing};
use crate::table::{Cells, Tallies};
use crate::watch::Watch;

/// Classes that are judged between two polls for an abort.
const JUDGED: usize = 1 << 12;

/// How one requirement came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What was asked.
    pub statement: Statement,
    /// The worst class's figure; `None` where there is no class.
    pub achieved: Option<f64>,
    /// How many classes fail.
    pub failing: u64,
    /// The worst class's worst value, where values have caps.
    pub worst: Option<WorstValue>,
}

impl Judgement {
    /// Whether every class meets it.
    pub fn satisfied(&self) -> bool {
        self.failing == 0
    }

    /// Takes in the figure of another class. `worst` tells its worst value, and is asked only where
    /// the figure is not better than all others.
    fn take(&mut self, figure: f64, worst: impl FnOnce() -> Option<WorstValue>) {
        let known = self.achieved.unwrap_or(figure);
        let worse = self.statement.worse(known, figure);
        if self.achieved.is_none() || worse != known {
            self.worst = worst();
        } else if self.worst.is_some() && figure == known {
            // The first by name, whatever the order of the classes.
            let named = |one: &WorstValue| (one.value.clone(), one.class_rows);
            self.worst = self.worst.take().into_iter().chain(worst()).min_by_key(named);
        }
        self.achieved = Some(worse);
    }
}

/// What was counted in a release.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Rows in the file.
    pub rows: u64,
    /// Classes in the file.
    pub classes: u64,
    /// Rows of the smallest class.
    pub smallest: u64,
    /// A judgement for each requirement.
    pub privacy: Vec<Judgement>,
}

impl Verified {
    /// Whether every requirement holds.
    pub fn satisfied(&self) -> bool {
        self.privacy.iter().all(Judgement::satisfied)
    }

    /// Takes in what was counted of other classes of the same release, judged by the same
    /// requirements.
    pub fn take(&mut self, other: Verified) {
        self.smallest = match (self.classes, other.classes) {
            (_, 0) => self.smallest,
            (0, _) => other.smallest,
            _ => self.smallest.min(other.smallest),
        };
        self.rows += other.rows;
        self.classes += other.classes;
        for (judgement, other) in self.privacy.iter_mut().zip(other.privacy) {
            judgement.failing += other.failing;
            if let Some(figure) = other.achieved {
                judgement.take(figure, || other.worst);
            }
        }
    }
}

/// Judges every class. `tallies` are those of the counted columns by class.
pub fn verify(
    classes: &Cells<ClassId>,
    tallies: &[Tallies],
    requirements: &[Box<dyn Requirement>],
    watch: &Watch,
) -> Result<Verified> {
    let sizes: Vec<u64> = classes.counts().iter().map(|count| u64::from(*count)).collect();
    verify_sizes(&sizes, tallies, requirements, watch)
}

/// The same for classes of which only the rows are known; those without any are groups of the
/// population alone.
pub fn verify_sizes(
    sizes: &[u64],
    tallies: &[Tallies],
    requirements: &[Box<dyn Requirement>],
    watch: &Watch,
) -> Result<Verified> {
    let judge = |requirement: &dyn Requirement| {
        let statement = requirement.statement();
        let mut judgement = Judgement { statement, achieved: None, failing: 0, worst: None };
        watch.each(sizes.iter().enumerate(), JUDGED, |(index, rows)| {
            let group = Group { rows: *rows, columns: tallies, index };
            if asks_nothing(requirement, &group) {
                return;
            }
            judgement.failing += u64::from(!requirement.holds(&group));
            judgement.take(requirement.figure(&group), || requirement.worst(&group));
        })?;
        Ok(judgement)
    };
    let judged = requirements.iter().map(|requirement| judge(requirement.as_ref()));
    let privacy = judged.collect::<Result<_>>()?;
    let classes = || sizes.iter().copied().filter(|rows| *rows > 0);
    Ok(Verified {
        rows: sizes.iter().sum(),
        classes: classes().count() as u64,
        smallest: classes().min().unwrap_or(0),
        privacy,
    })
}
