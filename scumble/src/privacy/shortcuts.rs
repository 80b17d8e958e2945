//! How [confident presence](super::ConfidentPresence) may be judged faster: the paper's four
//! optimizations and what was added.

use crate::estimate::Cut;

/// Switches a shortcut off.
pub type SwitchOff = fn(&mut Shortcuts);

/// Ways to judge faster. None of them makes a claim larger than the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortcuts {
    /// PA.
    pub practical: bool,
    /// SD: densities further from the mean than so many standard deviations are left out.
    pub sigmas: Option<f64>,
    /// DM.
    pub dominant: bool,
    /// DC: numbers in buckets of so many; 1 for none.
    pub bucket: u64,
    /// Mean and variance first.
    pub moments: bool,
    /// What a cut leaves open is computed without.
    pub refined: bool,
    /// Equal tuples are judged once.
    pub shared: bool,
}

impl Default for Shortcuts {
    fn default() -> Self {
        Shortcuts::ALL
    }
}

impl Shortcuts {
    /// All of them.
    pub const ALL: Shortcuts = Shortcuts {
        practical: true,
        sigmas: Some(2.0),
        dominant: true,
        bucket: 4,
        moments: true,
        refined: true,
        shared: true,
    };

    /// None of them.
    pub const NONE: Shortcuts = Shortcuts {
        practical: false,
        sigmas: None,
        dominant: false,
        bucket: 1,
        moments: false,
        refined: false,
        shared: false,
    };

    /// The names by which they are switched off, each with what that does.
    pub const NAMES: [(&'static str, SwitchOff); 7] = [
        ("pa", |shortcuts| shortcuts.practical = false),
        ("sd", |shortcuts| shortcuts.sigmas = None),
        ("dm", |shortcuts| shortcuts.dominant = false),
        ("dc", |shortcuts| shortcuts.bucket = 1),
        ("moments", |shortcuts| shortcuts.moments = false),
        ("refinement", |shortcuts| shortcuts.refined = false),
        ("sharing", |shortcuts| shortcuts.shared = false),
    ];

    /// Whether a tuple that holds may be refused.
    pub fn may_refuse(&self) -> bool {
        !self.refined && (self.sigmas.is_some() || self.bucket > 1)
    }

    /// What is left out of densities.
    pub(super) fn cut(&self) -> Cut {
        let negligible = if *self == Shortcuts::NONE { 0.0 } else { Cut::EXACT.negligible };
        Cut { sigmas: self.sigmas, bucket: self.bucket, negligible }
    }
}
