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

/// The anchor of a heading, as GitHub derives it.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines of a page that are not inside a fenced block.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn pages() -> Vec<PathBuf> {
    let files =
        |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut pages: Vec<PathBuf> = files(root())
        .chain(files(root().join("docs")))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut links = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for part in prose(&text).flat_map(|line| line.split("](").skip(1)) {
            let target = part.split(')').next().unwrap();
            if target.contains("://") {
                continue;
            }
            let (file, place) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            assert!(file.exists(), "{}: no {target}", page.display());
            if !place.is_empty() {
                let text = std::fs::read_to_string(&file).unwrap();
                let mut headings = prose(&text).filter(|line| line.starts_with('#'));
                let found = headings.any(|heading| anchor(heading) == place);
                assert!(found, "{}: no heading for {target}", page.display());
            }
            links += 1;
        }
    }
    assert!(links > 100, "only {links} links were found");
}

#[test]
fn the_readme_lists_all_pages() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for page in std::fs::read_dir(root().join("docs")).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        let link = format!("](docs/{name})");
        assert!(!name.ends_with(".md") || readme.contains(&link), "README.md has no {link}");
    }
}
