//! The last scan: rows are recoded, sorted, and handed to the writer.

use super::bound::BoundTable;
use super::scan::{Column, Scanned, check_known, scan};
use crate::error::{Error, Result};
use crate::job::{ToldCaps, Walk};
use crate::loss::{Codes as RecodedCodes, Lm, Said, Weights, non_uniform_entropy};
use crate::loss::{cm, conditional_entropy, rmse};
use crate::release::{
    Background, ClassTotals, ClassWriter, CountedTarget, From, Losses, OfTarget, PrivateLosses,
    RELEASE, RecodedValues, Sink, Sorter, inverse, released_type, spelled_table,
};
use crate::search::grouping::FailingGroups;
use crate::source::Coder;
use crate::source::spill::{EachPiece, SpillFolder, Tuples};
use crate::table::{Role, Type};
use arrow_array::ArrayRef;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::path::PathBuf;
use std::sync::Arc;

/// The last scan.
pub(super) struct Writing<'a> {
    pub(super) walk: &'a Walk<'a>,
    pub(super) bound: &'a BoundTable,
    pub(super) values: &'a [RecodedValues],
    pub(super) failing: &'a FailingGroups,
}

/// What was counted while rows were written.
pub(super) struct Written {
    pub(super) totals: ClassTotals,
    pub(super) target: Option<(usize, CountedTarget)>,
    /// The rows with each leaf of each quasi-identifier, and those of them that are left out.
    pub(super) leaves: Vec<Vec<(u64, u64)>>,
    /// For each column, whether each code is released.
    pub(super) released: Vec<Vec<bool>>,
}

impl Writing<'_> {
    pub(super) fn write(
        &self,
        scanned: &mut Scanned,
        sink: &mut dyn Sink,
        folder: &SpillFolder,
        maps: &[&[u32]],
    ) -> Result<Written> {
        let Writing { walk, bound, values, failing } = *self;
        let (policy, watch, memory) = (&walk.job.policy, walk.watch, walk.job.limits.memory());
        let file = PathBuf::from(sink.name());
        let broken = |source: ArrowError| Error::Columnar { file: file.clone(), source };
        let layout = RowLayout::new(&scanned.columns);
        let kinds =
            layout.travelling.iter().map(|at| (*at, released_type(&scanned.columns[*at].kind)));
        let kinds: Vec<(usize, DataType)> = kinds.collect();
        let converter = Coder::converter(&kinds).map_err(broken)?;
        let (width, compared) =
            (layout.width(), layout.width() - usize::from(layout.target.is_some()));
        let mut sorter = Sorter::new(folder, (width, compared), memory / 2, watch);
        let mut written = Written {
            totals: ClassTotals::default(),
            target: layout.target.map(|at| (at, counted_target(&scanned.columns[at]))),
            leaves: bound
                .task
                .taxonomies
                .iter()
                .map(|tree| vec![(0, 0); tree.codes() as usize])
                .collect(),
            released: scanned.columns.iter().map(|one| vec![false; one.rows.len()]).collect(),
        };
        let (mut tuples, mut lifted, mut record) = (Vec::new(), Vec::new(), Vec::new());
        let key_words = bound.grouping(&NoTuples, 0, watch).key_words();
        let fields = &bound.packing.fields()[..bound.names.len()];
        let rows = scan(walk, &mut scanned.columns, |_| true, "recode", &mut |columns, batch| {
            check_known(walk, columns)?;
            bound.pack(&batch, &mut tuples);
            let travelling = kinds.iter().map(|(at, kind)| {
                let series =
                    batch[*at].1.ok_or_else(|| ArrowError::SchemaError("no column".into()))?;
                cast(&series.as_written()?, kind)
            });
            let travelling =
                travelling.collect::<Result<Vec<ArrayRef>, ArrowError>>().map_err(broken)?;
            let payload =
                converter.as_ref().map(|converter| converter.convert_columns(&travelling));
            let payload = payload.transpose().map_err(broken)?;
            for (row, tuple) in tuples.chunks_exact(bound.packing.words()).enumerate() {
                record.clear();
                let nodes =
                    fields.iter().zip(maps).map(|(field, map)| map[field.get(tuple) as usize]);
                record.extend(nodes);
                let is_lost = !failing.is_empty() && {
                    lifted.clear();
                    lifted.resize(key_words, 0);
                    let nodes = fields.iter().zip(&record);
                    nodes.for_each(|(field, node)| field.put(&mut lifted, *node));
                    failing.contains(&lifted)
                };
                for (field, leaves) in fields.iter().zip(&mut written.leaves) {
                    let (rows, lost) = &mut leaves[field.get(tuple) as usize];
                    *rows += 1;
                    *lost += u64::from(is_lost);
                }
                if is_lost {
                    continue;
                }
                for (at, ranks) in &layout.ranked {
                    let code = batch[*at].0[row] as usize;
                    written.released[*at][code] = true;
                    record.push(ranks[code]);
                }
                record.extend(layout.target.map(|at| batch[at].0[row]));
                let payload = payload.as_ref().map(|rows| rows.row(row));
                sorter.push(&record, payload.as_ref().map_or(&[], |row| row.data()))?;
            }
            Ok(true)
        })?;
        if rows != bound.rows {
            return Err(Error::ChangedMeanwhile { file: walk.source.file() });
        }
        let schema = layout.schema(&scanned.columns);
        sink.limit(memory as usize / 6);
        let table = sink.table(RELEASE, &schema)?;
        let notations = scanned
            .columns
            .iter()
            .map(|column| policy.notation(&column.name).filter(|_| column.is_key()));
        let table = spelled_table(table, notations, sink.name());
        let background = Background::new(table, &schema, 2);
        let target = written.target.as_ref().map(|(_, target)| target);
        let expected = bound.rows - failing.rows;
        let mut writer = ClassWriter::new(
            values,
            &layout.from,
            converter.as_ref(),
            background,
            &file,
            target,
            (width, expected),
            watch,
        );
        sorter.finish(&mut |words, payload| writer.push(words, payload))?;
        written.totals = writer.finish()?;
        Ok(written)
    }
}

/// No tuples at all.
pub(super) struct NoTuples;

impl Tuples for NoTuples {
    fn scan(&self, _: &mut EachPiece<'_>) -> Result<()> {
        Ok(())
    }
}

/// How rows are sorted and put together: the values of the class, then the places of counted values
/// among all values of their columns, then what travels.
pub(super) struct RowLayout {
    pub(super) keys: usize,
    /// The columns that are counted besides the keys, and the place of each code.
    pub(super) ranked: Vec<(usize, Vec<u32>)>,
    /// The first target, whose code is the last word.
    pub(super) target: Option<usize>,
    /// The columns that travel, the counted ones first.
    pub(super) travelling: Vec<usize>,
    /// Where the values of each column come from.
    pub(super) from: Vec<From>,
}

impl RowLayout {
    pub(super) fn new(columns: &[Column]) -> RowLayout {
        let of = |is_wanted: fn(&Column) -> bool| {
            (0..columns.len()).filter(move |at| is_wanted(&columns[*at]))
        };
        let counted = of(|column| !column.is_key() && column.is_counted());
        let ranks = |at: usize| {
            let dictionary = columns[at].codes.dictionary();
            let mut order: Vec<u32> = (0..dictionary.len() as u32).collect();
            order.sort_unstable_by_key(|code| dictionary.value(*code));
            (at, inverse(&order))
        };
        let travelling: Vec<usize> =
            counted.clone().chain(of(|column| !column.is_counted())).collect();
        let mut keys = 0;
        let from = |(at, column): (usize, &Column)| {
            if column.is_key() {
                keys += 1;
                return From::Key(keys - 1);
            }
            let place = travelling.iter().position(|known| *known == at);
            From::Travelling(place.unwrap_or(0))
        };
        let from = columns.iter().enumerate().map(from).collect();
        let ranked = counted.map(ranks).collect();
        let target = of(|column| column.role == Role::Target).next();
        RowLayout { keys, ranked, target, travelling, from }
    }

    pub(super) fn width(&self) -> usize {
        self.keys + self.ranked.len() + usize::from(self.target.is_some())
    }

    pub(super) fn schema(&self, columns: &[Column]) -> Arc<Schema> {
        let field = |column: &Column| {
            let kind = if column.is_key() { DataType::Utf8 } else { released_type(&column.kind) };
            Field::new(&column.name, kind, true)
        };
        Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
    }
}

/// A target, and what its values are if all of them are numbers.
pub(super) fn counted_target(column: &Column) -> CountedTarget {
    let numbers = column.codes.dictionary().values().map(|value| Type::Real.number(value));
    CountedTarget { column: 0, numbers: numbers.collect() }
}

impl Written {
    /// How well the target is known from the release.
    pub(super) fn of_target(&self, scanned: &Scanned, failing: &FailingGroups) -> Option<OfTarget> {
        let (at, target) = self.target.as_ref()?;
        let (whole, suppressed, totals) =
            (scanned.columns[*at].rows.as_slice(), failing.rows, &self.totals);
        let rows = scanned.rows as f64;
        // What the rows that are left out leave open, and what the others do.
        let open =
            conditional_entropy(std::iter::empty(), suppressed, whole) + totals.open_bits / rows;
        let error = target.numbers.as_ref().map(|numbers| {
            let left_out = rmse(std::iter::empty(), suppressed, whole, numbers);
            (left_out * left_out + totals.squared_error / rows).sqrt()
        });
        let cm = cm(totals.minority, suppressed, scanned.rows);
        Some(OfTarget { cm, conditional_entropy: open, rmse: error })
    }

    pub(super) fn losses(
        &self,
        bound: &BoundTable,
        values: &[RecodedValues],
        failing: &FailingGroups,
        target: Option<OfTarget>,
    ) -> (Losses, PrivateLosses) {
        let (totals, task) = (&self.totals, &bound.task);
        let mean = |weights: &Weights| {
            let lm = Lm::new(task.taxonomies.iter().map(Arc::as_ref), weights);
            let mut sum = lm.nothing();
            for (column, lost) in sum.0.iter_mut().enumerate() {
                let whole = u128::from(lm.whole()[column]);
                *lost = totals.lost[column] + u128::from(failing.rows) * whole;
            }
            lm.mean(&sum, bound.rows)
        };
        let lm = mean(&Weights::equal(task.taxonomies.len()));
        let lm_weighted = task.weights.is_given().then(|| mean(&task.weights));
        let dm = totals.squares + u128::from(bound.rows) * u128::from(failing.rows);
        let entropy = |(column, leaves): (usize, &Vec<(u64, u64)>)| {
            let codes: Vec<RecodedCodes> = values[column].all_codes();
            let became = became(&codes, leaves.len());
            let said = leaves.iter().enumerate().map(|(leaf, (rows, lost))| Said {
                leaf: leaf as u32,
                became: became[leaf],
                released: rows - lost,
                suppressed: *lost,
            });
            non_uniform_entropy(leaves.len() as u32, &codes, said)
        };
        let entropies: f64 = self.leaves.iter().enumerate().map(entropy).sum();
        let entropy = entropies / self.leaves.len().max(1) as f64;
        let losses = Losses { lm_weighted, ..Losses::new(lm, dm, target) };
        (losses, PrivateLosses::new(target, Some(entropy)))
    }

    /// The caps that follow from frequencies, and those of values that the release has.
    pub(super) fn caps(
        &self,
        bound: &BoundTable,
        scanned: &Scanned,
        derives_caps: bool,
    ) -> ToldCaps {
        if !derives_caps {
            return ToldCaps::default();
        }
        let is_told = |(name, value, _): &&(String, String, _)| {
            let columns = scanned.columns.iter().zip(&self.released);
            columns.into_iter().any(|(column, released)| {
                column.name == *name
                    && column
                        .codes
                        .dictionary()
                        .find(value)
                        .is_some_and(|code| released[code as usize])
            })
        };
        let released = bound.caps.iter().filter(is_told).cloned().collect();
        ToldCaps { all: bound.caps.clone(), released }
    }
}

/// The number of the value that each leaf became.
pub(super) fn became(values: &[RecodedCodes], leaves: usize) -> Vec<u32> {
    let mut became = vec![0; leaves];
    for (value, codes) in (0..).zip(values) {
        if let RecodedCodes::Range(range) = codes {
            became[range.start as usize..range.end as usize].fill(value);
        }
    }
    became
}
