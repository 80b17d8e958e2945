//! Record batches in memory, anonymized into others: no file is written.
//!
//! `cargo run -p scumble --example batches`

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use scumble::{Job, Policy, ReleaseBatches, Result, TableBatches, Watch};
use std::sync::Arc;

fn anonymize(batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
    let policy = Policy::from_toml(
        r#"
        attributes.age = { role = "quasi-identifier", hierarchy = { intervals = [10, 20] } }
        attributes.diagnosis = { role = "sensitive" }
        privacy = { k = 2, l-diversity = { kind = "distinct", l = 2 } }
        "#,
    )?;
    let mut release = ReleaseBatches::new();
    let table = TableBatches::new(batches)?;
    let report = Job::new(policy).run(table, &mut release, &Watch::default())?;
    assert!(report.classes.smallest_class >= 2, "the report is about the verified release");
    Ok(release.batches())
}

fn main() -> Result<()> {
    let ages: ArrayRef = Arc::new(Int64Array::from(vec![31, 34, 52, 58]));
    let diagnoses: ArrayRef = Arc::new(StringArray::from(vec!["flu", "asthma", "flu", "gout"]));
    let batch = RecordBatch::try_from_iter([("age", ages), ("diagnosis", diagnoses)]);
    let Ok(batch) = batch else { unreachable!("both columns have four rows") };
    let released = anonymize(vec![batch])?;
    assert_eq!(released.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
    Ok(())
}
