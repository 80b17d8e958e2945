//! What a search for cuts asks of a policy: one sensitive attribute with caps, a scheme, a loss
//! that knows its cost.

use super::Required;
use super::prepare::{CellOfRow, Counted};
use crate::error::{Error, Place, Result};
use crate::ids::{CellId, Id, IdMap, LeafId, RowId};
use crate::loss::Weights;
use crate::policy::Policy;
use crate::privacy::{Caps, Requirement};
use crate::ratio::Ratio;
use crate::search::cuts::{Problem, Suppression};
use crate::table::{Cells, Role, Table, Tallies};
use crate::taxonomy::Taxonomy;
use crate::watch::Watch;
use std::sync::Arc;

/// What a search for cuts and its release need: the problem, and the rows.
#[derive(Debug)]
pub struct OnCuts {
    /// What is searched.
    pub problem: Problem,
    /// The most records (or values) that are suppressed at random although no requirement forces it.
    /// The problem's limit leaves room for them.
    pub extra: u64,
    /// The sensitive column that has caps.
    pub sensitive: Option<String>,
    /// The sensitive value of each row; empty where nothing is sensitive.
    pub values: IdMap<RowId, LeafId>,
    /// The class label of each row; empty unless the loss is CM.
    pub labels: IdMap<RowId, LeafId>,
}

/// What is asked of cuts: a problem without tallies.
pub(crate) struct AskedOfCuts {
    pub(crate) problem: Problem,
    /// The counted column that has caps.
    pub(crate) column: Option<usize>,
    /// As in [`OnCuts`].
    pub(crate) extra: u64,
}

/// Numbers of values in cells that are counted at most for a search for cuts that nobody asked for.
const COUNTED: usize = 1 << 24;

/// What the requirements come to: the least number of rows, and the caps of one column.
struct Asked {
    k: u64,
    column: Option<usize>,
    caps: Vec<Ratio>,
}

impl Policy {
    /// What a search for cuts needs, or why it cannot be had; `None` where none is asked for.
    pub(super) fn on_cuts(
        &self,
        (taxonomies, cells): (&[Arc<Taxonomy>], &Cells<CellId>),
        cell_of_row: &CellOfRow<'_>,
        counted: &Counted,
        target: Option<usize>,
        weights: &Weights,
        watch: &Watch,
    ) -> Result<Option<OnCuts>> {
        let mut scheme = self.scheme()?;
        let Counted { required, leaves } = counted;
        let is_tried = self.tries_cuts(required, cells.len());
        if !self.search().algorithm.is_on_cuts() && !is_tried {
            return Ok(None);
        }
        if is_tried && self.search().suppression > Ratio::ZERO {
            // Classes that fail are left out as a whole, as by the other candidates.
            scheme = Suppression::AllRecords;
        }
        let rows = cell_of_row.len() as u64;
        let asked = self.asked_of_cuts(taxonomies, required, (target, scheme), weights, rows)?;
        let AskedOfCuts { mut problem, column, extra } = asked;
        let of_column = |column: Option<usize>| column.map(|column| leaves[column].clone());
        let (values, labels) = (of_column(column), of_column(target));
        let (values, labels) = (values.unwrap_or_default(), labels.unwrap_or_default());
        let of = |leaves: &IdMap<RowId, LeafId>, row| leaves.get(row).map_or(0, Id::number);
        let both = |row| of(&values, row) * problem.labels as u32 + of(&labels, row);
        let joint = watch.list(RowId::first(cell_of_row.len()).map(both))?;
        problem.tallies = Tallies::count(cells.len(), cell_of_row.raw(), &joint, watch)?;
        let sensitive = column.map(|column| required.names[column].clone());
        Ok(Some(OnCuts { problem, extra, sensitive, values, labels }))
    }

    /// What is asked of cuts, before any row is counted.
    pub(crate) fn asked_of_cuts(
        &self,
        taxonomies: &[Arc<Taxonomy>],
        required: &Required,
        (target, scheme): (Option<usize>, Suppression),
        weights: &Weights,
        rows: u64,
    ) -> Result<AskedOfCuts> {
        let loss = self.search().loss;
        if !scheme.is_defined_for(loss) {
            return Err(self.incomplete(
                "only the loss `lm` supports the suppression of values; use lm".into(),
            ));
        }
        let Asked { k, column, caps } = self.asked_on_cuts(required)?;
        let extra = self.search().cuts().extra_suppression.unwrap_or(Ratio::ZERO).floor_of(rows);
        let limit = self.search().limit();
        let problem = Problem {
            taxonomies: taxonomies.to_vec(),
            tallies: Tallies::from_parts(vec![0], Vec::new()),
            labels: target.map_or(1, |target| required.values[target].max(1)),
            caps: Caps::new(caps).ok_or(Error::Defect)?,
            k,
            scheme,
            loss,
            weights: weights.clone(),
            suppressible: limit.map(|limit| limit.floor_of(rows).saturating_sub(extra)),
        };
        Ok(AskedOfCuts { problem, column, extra })
    }

    /// Whether `auto` tries cuts: where it chooses among kinds of recoding, if a search for cuts
    /// supports what is asked and counting values by cell does not take too much memory.
    fn tries_cuts(&self, required: &Required, cells: usize) -> bool {
        if !self.compares_kinds() {
            return false;
        }
        self.asked_on_cuts(required)
            .is_ok_and(|asked| cells.saturating_mul(asked.caps.len()) <= COUNTED)
    }

    fn asked_on_cuts(&self, required: &Required) -> Result<Asked> {
        let mut asked = Asked { k: 1, column: None, caps: vec![Ratio::ONE] };
        for requirement in &required.requirements {
            let about = requirement.statement().column;
            match about.and_then(|about| requirement.caps(required.values[about])) {
                None if requirement.rows_decide() => {
                    asked.k = asked.k.max(requirement.least_rows())
                }
                Some((about, caps)) if asked.column.is_none_or(|known| known == about) => {
                    let lower = |(a, b): (&Ratio, &Ratio)| *a.min(b);
                    let both = || asked.caps.iter().zip(&caps).map(lower).collect();
                    asked.caps = if asked.column.is_some() { both() } else { caps };
                    asked.column = Some(about);
                }
                Some(_) => {
                    return Err(self.incomplete(
                        "a search for cuts supports caps on only one sensitive attribute".into(),
                    ));
                }
                None => return Err(self.unknown_on_cuts(requirement.as_ref())),
            }
        }
        Ok(asked)
    }

    fn unknown_on_cuts(&self, requirement: &dyn Requirement) -> Error {
        let statement = requirement.statement();
        let kind = statement.kind.map_or(String::new(), |kind| format!("{kind} "));
        self.incomplete(format!(
            "a search for cuts supports k, thresholds and frequency l-diversity, but not {kind}{}",
            statement.requirement
        ))
    }

    /// A sensitive column in which the token is a value would be released with two meanings of it.
    pub(super) fn check_token(&self, table: &Table) -> Result<()> {
        let Some(token) = self.token() else { return Ok(()) };
        for column in table.with_role(Role::Sensitive) {
            let found = column
                .dictionary()
                .and_then(|dictionary| Some((dictionary, dictionary.find(token)?)));
            if let Some((dictionary, code)) = found {
                return Err(Error::BadParameter {
                    place: Some(
                        Place::file(&table.file).line(dictionary.line(code)).column(&column.name),
                    ),
                    key: "search.suppression.token".into(),
                    value: token.to_string(),
                    expected: "a token that is not a sensitive value".into(),
                });
            }
        }
        Ok(())
    }
}
