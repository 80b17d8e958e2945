//! A policy by builder, with the words of the TOML, and the same policy as JSON.
//!
//! `cargo run -p scumble --example builder`

use scumble::{Hierarchy, Policy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::builder()
        .identifier("name")
        .quasi_identifier("age", Hierarchy::intervals(&[5.0, 10.0, 20.0], Some(0.0), Some(100.0))?)
        .sensitive("diagnosis")
        .k(5)
        .l_diversity("distinct", 3)
        .algorithm("mondrian")
        .build()?;
    let json = serde_json::to_string(&policy)?;
    let again: Policy = serde_json::from_str(&json)?;
    assert_eq!(json, serde_json::to_string(&again)?);
    // A mistake is an error that says what is expected.
    let wrong = policy.edit().k(0).build();
    assert!(wrong.is_err_and(|error| error.to_string().contains("privacy.k")));
    Ok(())
}
