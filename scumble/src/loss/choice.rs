//! The list of losses, from which a policy chooses.

use super::cm::Classification;
use super::dm::Discernibility;
use super::lm::LossMetric;
use super::{LevelLoss, Loss, ReleaseFigures};
use crate::error::Result;
use crate::watch::Watch;

/// Makes the list: the choices, their names and meanings, and `ask!`, which passes a question on
/// to the loss that was chosen. Not a `&dyn Loss`: searches for cuts ask about every group, and
/// these calls should be inlined.
macro_rules! losses {
    ($($choice:ident = $loss:ident, $name:literal, $meaning:literal;)+) => {
        /// A loss that a policy can choose.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LossChoice {
            $(#[doc = $meaning] $choice,)+
        }

        impl LossChoice {
            /// Every loss with its name in a policy and its meaning.
            pub const NAMES: [(&'static str, LossChoice, &'static str); [$($name),+].len()] =
                [$(($name, LossChoice::$choice, $meaning)),+];
        }

        macro_rules! ask {
            ($chosen:expr, $asked:ident => $question:expr) => {
                match $chosen {
                    $(LossChoice::$choice => {
                        let $asked = $loss;
                        $question
                    })+
                }
            };
        }
    };
}

losses! {
    Lm = LossMetric, "lm", "loss metric: the share of detail lost, averaged over the table's cells";
    Dm = Discernibility, "dm", "discernibility: squared class sizes, plus rows x suppressed rows";
    Cm = Classification, "cm", "classification: share of rows outside their class's majority label";
}

impl LossChoice {
    /// Its name in a policy.
    pub fn name(self) -> &'static str {
        LossChoice::NAMES.iter().find(|(_, known, _)| *known == self).map_or("", |(name, ..)| name)
    }
}

impl Loss for LossChoice {
    fn cost(&self, release: &impl ReleaseFigures) -> Result<f64> {
        ask!(self, loss => loss.cost(release))
    }

    #[inline]
    fn part(&self, rows: u64, detail: f64, majority: impl FnOnce() -> u64) -> f64 {
        ask!(self, loss => loss.part(rows, detail, majority))
    }

    fn suppressed_record(&self, rows: u64, columns: usize) -> f64 {
        ask!(self, loss => loss.suppressed_record(rows, columns))
    }

    fn suppressed_value(&self, columns: usize) -> Option<f64> {
        ask!(self, loss => loss.suppressed_value(columns))
    }

    #[inline]
    fn columns_decide(&self) -> bool {
        ask!(self, loss => loss.columns_decide())
    }

    fn needs_target(&self) -> bool {
        ask!(self, loss => loss.needs_target())
    }

    fn unit(&self, rows: u64, columns: usize) -> f64 {
        ask!(self, loss => loss.unit(rows, columns))
    }

    #[inline]
    fn bound<'a>(
        &self,
        levels: impl Iterator<Item = &'a LevelLoss>,
        rows: u64,
        cells: usize,
        lost: u64,
    ) -> f64 {
        ask!(self, loss => loss.bound(levels, rows, cells, lost))
    }

    #[inline]
    fn least_part(&self, rows: u64, detail: impl FnOnce() -> f64, suppressed: f64) -> f64 {
        ask!(self, loss => loss.least_part(rows, detail, suppressed))
    }

    #[inline]
    fn row(&self, rows: u64, detail: f64) -> Option<f64> {
        ask!(self, loss => loss.row(rows, detail))
    }

    fn least_without(
        &self,
        lost: u64,
        sizes: impl Iterator<Item = u64>,
        suppressed: f64,
        watch: &Watch,
    ) -> Result<Option<f64>> {
        ask!(self, loss => loss.least_without(lost, sizes, suppressed, watch))
    }

    fn believed(&self, lm: f64, squares: f64, lost: f64, rows: u64) -> f64 {
        ask!(self, loss => loss.believed(lm, squares, lost, rows))
    }
}
