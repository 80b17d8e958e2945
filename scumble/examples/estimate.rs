//! Which recodings likely hold, and what they cost, from a summary alone.
//!
//! `cargo run -p scumble --example estimate`

use scumble::{Job, Policy, Result, TableFile, Watch};
use std::path::Path;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/census");
    let watch = Watch::default();
    let policy = Policy::read(&folder.join("policy.toml"))?;
    let table = TableFile::open(&folder.join("census.csv"))?;
    let summary = Job::new(policy.clone()).summarize(&table, &watch)?;
    // The table is not needed any more: another k is a calculation.
    for k in [5, 50] {
        let job = Job::new(policy.edit().k(k).build()?);
        let estimation = job.estimate(&summary, &watch)?;
        let best = estimation.candidates.first();
        assert!(best.is_some_and(|best| best.loss.lm > 0.0));
    }
    Ok(())
}
