//! Re-identification risk of a table or a release, by the usual three adversaries (El Emam 2013).
//!
//! | adversary | knows | success for a row |
//! |---|---|---|
//! | prosecutor | that the person is in the table | 1 / rows of its class |
//! | journalist | a population that contains the table | 1 / people of the population in its class |
//! | marketer | as the journalist, and wants as many as possible | the average over rows |
//!
//! Without a population the table is taken for one: that is the worst case.

use crate::ids::Id;
use crate::table::Cells;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The figures for one adversary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Risk {
    /// The greatest risk of any row.
    pub highest: f64,
    /// The mean over rows.
    pub average: f64,
    /// The share of rows whose risk is above the threshold.
    pub above_threshold: f64,
}

/// The figures of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Risks {
    /// Rows.
    pub rows: u64,
    /// Distinct tuples of quasi-identifiers.
    pub classes: u64,
    /// Rows that are alone in their class.
    pub unique: u64,
    /// The threshold of `above_threshold`.
    pub threshold: f64,
    /// Against one who knows that the person is in the table.
    pub prosecutor: Risk,
    /// Against one who knows a population.
    pub journalist: Risk,
    /// The share of rows that one would get right who guesses for all of them.
    pub marketer: f64,
}

impl Risks {
    /// Measures the classes of a table. `population[class]` is the size of the class in a
    /// population, where one is known; it is at least the class itself.
    pub fn new<K: Id>(classes: &Cells<K>, population: Option<&[u64]>, threshold: f64) -> Risks {
        let sizes: Vec<u64> = classes.counts().iter().map(|count| u64::from(*count)).collect();
        let rows: u64 = sizes.iter().sum();
        let measure = |crowds: &[u64]| {
            let risk = |crowd: &u64| 1.0 / *crowd as f64;
            let weighted = sizes.iter().zip(crowds);
            let exposed = weighted
                .clone()
                .filter(|(_, crowd)| risk(crowd) > threshold)
                .map(|(size, _)| *size);
            Risk {
                highest: crowds.iter().map(risk).fold(0.0, f64::max),
                average: weighted.map(|(size, crowd)| *size as f64 * risk(crowd)).sum::<f64>()
                    / rows as f64,
                above_threshold: exposed.sum::<u64>() as f64 / rows as f64,
            }
        };
        let journalist = measure(population.unwrap_or(&sizes));
        Risks {
            rows,
            classes: sizes.len() as u64,
            unique: sizes.iter().filter(|size| **size == 1).count() as u64,
            threshold,
            prosecutor: measure(&sizes),
            journalist,
            marketer: journalist.average,
        }
    }

    /// The same from the number of classes of each size, without a population.
    pub(crate) fn of_sizes(classes_of: &BTreeMap<u64, u64>, threshold: f64) -> Risks {
        let sizes = || classes_of.iter().map(|(size, classes)| (*size, *classes));
        let rows: u64 = sizes().map(|(size, classes)| size * classes).sum();
        let classes: u64 = classes_of.values().sum();
        let exposed = sizes().filter(|(size, _)| 1.0 / *size as f64 > threshold);
        let share = |part: u64| if rows == 0 { 0.0 } else { part as f64 / rows as f64 };
        let prosecutor = Risk {
            highest: classes_of.keys().next().map_or(0.0, |size| 1.0 / *size as f64),
            average: share(classes),
            above_threshold: share(exposed.map(|(size, classes)| size * classes).sum()),
        };
        Risks {
            rows,
            classes,
            unique: classes_of.get(&1).copied().unwrap_or(0),
            threshold,
            prosecutor,
            journalist: prosecutor,
            marketer: prosecutor.average,
        }
    }

    /// The figures as one JSON object.
    pub fn to_json(&self) -> Value {
        let one = |risk: &Risk| {
            json!({
                "highest": risk.highest,
                "average": risk.average,
                "above-threshold": risk.above_threshold,
            })
        };
        json!({
            "rows": self.rows,
            "classes": self.classes,
            "unique": self.unique,
            "threshold": self.threshold,
            "prosecutor": one(&self.prosecutor),
            "journalist": one(&self.journalist),
            "marketer": {"average": self.marketer},
        })
    }
}

impl Serialize for Risks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_small_table() {
        let mut classes: Cells = Cells::new(1);
        classes.add(&[0], 1);
        classes.add(&[1], 4);
        let risks = Risks::new(&classes, None, 0.25);
        assert_eq!((risks.rows, risks.classes, risks.unique), (5, 2, 1));
        assert_eq!(risks.prosecutor, Risk { highest: 1.0, average: 0.4, above_threshold: 0.2 });
        assert_eq!(risks.marketer, 0.4);
        assert_eq!(Risks::of_sizes(&BTreeMap::from([(1, 1), (4, 1)]), 0.25), risks);
        let known = Risks::new(&classes, Some(&[2, 10]), 0.25);
        assert_eq!(
            known.journalist,
            Risk { highest: 0.5, average: (0.5 + 0.4) / 5.0, above_threshold: 0.2 }
        );
        assert_eq!(known.prosecutor, risks.prosecutor);
    }
}
