//! What a job knows of the world beside its table: confidences of rows, and the exact judgement of
//! a presence.

use crate::error::{Error, Place, Result};
use crate::ids::{CellId, ClassId, Id, IdMap};
use crate::policy::{Policy, nearest};
use crate::ratio::Ratio;
use crate::release::{Judgement, RecodedValues};
use crate::search::Task;
use crate::source::{Source, Texts, ahead};
use crate::table::Cells;
use crate::watch::Watch;

/// Classes that are looked at between two polls for an abort.
const TUPLES: usize = 1 << 12;

/// The exact judgement of classes whose table is known, where presence is judged in likely worlds.
pub(super) fn exactly(
    task: &Task,
    values: &[RecodedValues],
    classes: &Cells<ClassId>,
    class_of: &IdMap<CellId, ClassId>,
    watch: &Watch,
) -> Result<Option<Judgement>> {
    let Some(confident) = task.confident.as_ref() else { return Ok(None) };
    let merge = |column: usize| {
        task.tallies[column].merge(classes.len(), class_of.raw(), task.values[column], watch)
    };
    let needed = confident.needed_by().map(merge).transpose()?;
    let tuple = |class: ClassId| {
        let codes = classes.codes(class).iter().enumerate();
        // Only local recodings have sets, and they do not support a presence.
        let range = |column: usize, value: u32| values[column].range(value).unwrap_or(0..0);
        let marked = codes.map(|(column, value)| confident.marked(column, range(column, *value)));
        let needed = needed
            .as_ref()
            .and_then(|needed| needed.group(class.index()).last())
            .map_or(0, |last| last.0);
        confident.tuple(u64::from(classes.count(class)), marked.collect(), needed)
    };
    let mut tuples = Vec::with_capacity(classes.len());
    watch.each(classes.ids(), TUPLES, |class| tuples.push(tuple(class)))?;
    let (smallest, failing) = confident.smallest(&tuples, watch)?;
    let (statement, achieved) = (confident.statement(), Some(smallest));
    Ok(Some(Judgement { statement, achieved, failing, worst: None }))
}

/// The confidence that each row of the input needs, if the policy names a column for it. The column
/// may have any role, and should mostly not be released, so it is read by a scan of its own.
pub(super) fn confidences(
    policy: &Policy,
    source: &dyn Source,
    watch: &Watch,
) -> Result<Option<Vec<Ratio>>> {
    let asked = policy.privacy().presence.as_ref().and_then(|asked| asked.marginals());
    let Some((asked, column)) =
        asked.and_then(|asked| Some((asked, asked.confidence_column.as_ref()?)))
    else {
        return Ok(None);
    };
    let (file, names) = (source.file(), source.names());
    let wanted: Vec<bool> = names.iter().map(|name| name == column).collect();
    if !wanted.contains(&true) {
        let nearest = nearest(column, names.iter().map(String::as_str));
        return Err(Error::NoSuchColumn { file, column: column.clone(), nearest });
    }
    let mut confidences = Vec::new();
    ahead(source.texts(&wanted)?, watch, |batches| {
        for batch in batches {
            let batch = batch?;
            let broken = |source| Error::Columnar { file: file.clone(), source };
            let [series] = &batch.columns[..] else { return Err(Error::Defect) };
            let texts = Texts::of(series).map_err(broken)?;
            for row in 0..series.len() {
                let text = texts.get(row);
                let known =
                    if text.is_empty() { Some(asked.confidence) } else { text.parse().ok() };
                let wrong = || Error::BadParameter {
                    place: Some(Place::file(&file).line(batch.lines.of(row)).column(column)),
                    key: "confidence".into(),
                    value: text.to_string(),
                    expected: "a share from 0 to 1, or an empty field".into(),
                };
                let known = known.filter(|share| *share <= Ratio::ONE).ok_or_else(wrong)?;
                confidences.push(known);
            }
        }
        Ok(())
    })?;
    Ok(Some(confidences))
}
