//! Does the documentation say what the program checks against?

use scumble::Policy;
use scumble::policy::{KEYS, Key};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Lines as code in a cell of a table.
fn code(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("`{line}`")).collect();
    lines.join("<br>")
}

/// The reference: a table for each section, in the order of the list.
fn reference() -> String {
    let mut sections: Vec<&str> = KEYS.iter().map(|key| key.section).collect();
    sections.sort_by_key(|section| KEYS.iter().position(|key| key.section == *section));
    sections.dedup();
    let mut text = String::new();
    for section in sections {
        let heading = if section.is_empty() { "The file".into() } else { format!("`[{section}]`") };
        write!(text, "\n### {heading}\n\n").unwrap();
        text.push_str("| key | type | default | example | meaning |\n|---|---|---|---|---|\n");
        for key in KEYS.iter().filter(|key| key.section == section) {
            let default = match key.default {
                "*" | "." => code(key.default),
                words => words.to_string(),
            };
            let (name, example) = (code(key.name), code(key.example));
            writeln!(text, "| {name} | {} | {default} | {example} | {} |", key.kind, key.meaning)
                .unwrap();
        }
    }
    text + "\n"
}

#[test]
fn the_reference_of_keys_is_the_list_of_keys() {
    let path = root().join("docs/policy.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- keys -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- /keys -->").unwrap();
    let reference = reference();
    if std::env::var_os("SCUMBLE_GOLDEN").is_some_and(|wish| wish == "write") {
        let page = format!("{before}<!-- keys -->\n{reference}<!-- /keys -->{after}");
        std::fs::write(&path, page).unwrap();
    } else {
        assert_eq!(shown, reference, "SCUMBLE_GOLDEN=write puts it into docs/policy.md");
    }
}

/// A policy around an example, so that the rest of it is valid.
fn around(key: &Key) -> String {
    let example = key.example;
    if key.section.is_empty() {
        return format!("{example}\n");
    }
    let column = match key.section.split('.').next() {
        Some("attributes") => example,
        _ => "",
    };
    let section = match key.section.split('.').next() {
        Some("attributes") => String::new(),
        Some(section) => format!("[{section}]\n{example}\n"),
        None => unreachable!(),
    };
    let role = if key.name == "role" { "" } else { "role = \"quasi-identifier\"" };
    format!(
        "[attributes.age]\n{role}\n{column}\n[attributes.region]\nrole = \"quasi-identifier\"\n\
         [attributes.care]\nrole = \"identifier\"\n[attributes.diagnosis]\nrole = \"sensitive\"\n\
         [attributes.salary]\nrole = \"sensitive\"\ntype = \"integer\"\n{section}"
    )
}

#[test]
fn every_key_has_an_example_that_is_accepted() {
    let folder = std::env::temp_dir().join(format!("scumble-keys-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, content) in [
        ("education.csv", "10;school;*\n11;school;*\n"),
        ("population.csv", "age,region\n10,North\n"),
        ("marginals.csv", "attribute,value,count\nage,10,1\nregion,North,1\n"),
    ] {
        std::fs::write(folder.join(name), content).unwrap();
    }
    for key in KEYS {
        let Key { section, name, kind, example, .. } = key;
        assert!(!kind.is_empty(), "[{section}] {name}: call takes(…) in policy/keys.rs");
        let given = format!(" {example} ").contains(&format!(" {name} = "))
            || example.starts_with(&format!("{name}."));
        assert!(given, "[{section}] {name}: the example does not have the key: {example}");
        let mut policy = around(key);
        if key.section == "search" && key.meaning.ends_with("with `marginals`") {
            policy += "[privacy]\npresence = { marginals = \"marginals.csv\", confidence = 0.9 }\n";
        }
        std::fs::write(folder.join("policy.toml"), &policy).unwrap();
        if let Err(error) = Policy::read(&folder.join("policy.toml")) {
            panic!("[{section}] {name}: {error}\n{policy}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
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
