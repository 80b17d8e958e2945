//! A file in, a verified release out, with its report beside it.
//!
//! `cargo run -p scumble --example file`

use scumble::{Job, Policy, ReleaseFile, Result, TableFile, Watch};
use std::path::Path;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/six");
    let policy = Policy::read(&folder.join("policy.toml"))?;
    let input = TableFile::open(&folder.join("people.csv"))?;
    let output = std::env::temp_dir().join(format!("scumble-example-{}.csv", std::process::id()));
    let release = ReleaseFile::new(&output)?.like(&input);
    let report = Job::new(policy).run(&input, release, &Watch::default())?;
    assert!(report.privacy.iter().all(|judged| judged.satisfied));
    assert_eq!((report.released, report.classes.smallest_class), (6, 3));
    // The release and its report may be published; the third file is for the owner of the data.
    for ending in ["csv", "csv.report.json", "csv.private.json"] {
        assert!(std::fs::remove_file(output.with_extension(ending)).is_ok());
    }
    Ok(())
}
