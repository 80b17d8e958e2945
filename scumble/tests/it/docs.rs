//! Does the documentation say what the program checks against?

use scumble::policy::KEYS;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_table_of_keys_is_the_list_of_keys() {
    let mut table = String::from("| in | key | meaning |\n|---|---|---|\n");
    for key in KEYS {
        let section =
            if key.section.is_empty() { String::new() } else { format!("`[{}]`", key.section) };
        writeln!(table, "| {section} | `{}` | {} |", key.name, key.meaning).unwrap();
    }
    let page = std::fs::read_to_string(root().join("docs/policy.md")).unwrap();
    let shown =
        page.split("<!-- keys -->\n").nth(1).and_then(|rest| rest.split("<!-- /keys -->").next());
    assert_eq!(
        shown,
        Some(table.as_str()),
        "put this between the marks in docs/policy.md:\n{table}"
    );
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut links = 0;
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "PAPERS.md",
        "docs/policy.md",
        "docs/experiments.md",
    ] {
        let page = root().join(name);
        let text = std::fs::read_to_string(&page).unwrap();
        for part in text.split("](").skip(1) {
            let target = part.split(')').next().unwrap();
            if !target.contains("://") {
                let file = page.parent().unwrap().join(target.split('#').next().unwrap());
                assert!(file.exists(), "{name}: no {target}");
                links += 1;
            }
        }
    }
    assert!(links > 20, "only {links} links were found");
}
