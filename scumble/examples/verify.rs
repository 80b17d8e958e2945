//! A release re-checked against a policy, from what is written in it.
//!
//! `cargo run -p scumble --example verify`

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use scumble::{Error, Job, Policy, Result, TableBatches, Tables, Watch};
use std::sync::Arc;

fn main() -> Result<()> {
    let policy = Policy::from_toml(
        r#"
        attributes.zip = { role = "quasi-identifier", hierarchy = { mask = "right" } }
        attributes.diagnosis = { role = "sensitive" }
        privacy = { k = 2 }
        "#,
    )?;
    let zips: ArrayRef = Arc::new(StringArray::from(vec!["130**", "130**", "148**"]));
    let diagnoses: ArrayRef = Arc::new(StringArray::from(vec!["flu", "asthma", "gout"]));
    let batch = RecordBatch::try_from_iter([("zip", zips), ("diagnosis", diagnoses)]);
    let Ok(batch) = batch else { unreachable!("both columns have three rows") };
    let release = Tables::one(TableBatches::new(vec![batch])?);
    let verification = Job::new(policy).verify(&release, None, None, &Watch::default())?;
    // One class has a single row.
    assert_eq!(verification.privacy[0].failing_classes, 1);
    assert!(matches!(verification.check(), Err(Error::CheckFailed { .. })));
    Ok(())
}
