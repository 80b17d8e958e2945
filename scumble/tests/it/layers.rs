//! Does a room know only those before it? The sources are read for `crate::`, and for `super::` as
//! far as it leaves the room; tests may know anything, and so may the front page.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Who may know whom: a room may use itself and those in earlier lines, not its neighbours. Rooms
/// in brackets in HOUSE.md come later and have their place already.
const ORDER: [&[&str]; 20] = [
    &["error"],
    &["lock", "ratio", "random", "watch"],
    &["ids"],
    &["table"],
    &["taxonomy"],
    &["recoding"],
    &["source"],
    &["estimate"],
    &["privacy", "loss"],
    &["summary"],
    &["search"],
    &["policy"],
    &["bind"],
    &["generate"],
    &["release"],
    &["portrait"],
    &["html"],
    &["query"],
    &["job"],
    &["lib"],
];

fn rank(room: &str) -> Option<usize> {
    ORDER.iter().position(|rooms| rooms.contains(&room))
}

/// The code of a source without comments and without items that are only for tests.
fn code(source: &str) -> String {
    let mut kept = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() == "#[cfg(test)]" {
            // The item ends with a semicolon on its first line, or with a brace under its
            // beginning.
            let indent = &line[..line.len() - line.trim_start().len()];
            let item = lines.by_ref().find(|line| !line.trim_start().starts_with("#["));
            if !item.is_some_and(|item| item.ends_with([';', '}'])) {
                lines.by_ref().find(|line| *line == format!("{indent}}}"));
            }
        } else {
            kept += line.split("//").next().unwrap_or("");
            kept += "\n";
        }
    }
    kept
}

/// The first names of a path's continuation: one, or several in braces.
fn names(continuation: &str) -> Vec<String> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let first = |text: &str| {
        text.trim_start().chars().take_while(|character| is_name(*character)).collect::<String>()
    };
    let Some(list) = continuation.strip_prefix('{') else { return vec![first(continuation)] };
    let (mut depth, mut item, mut items) = (0, String::new(), Vec::new());
    for character in list.chars() {
        match character {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            _ => {
                depth += i32::from(character == '{') - i32::from(character == '}');
                item.push(character);
            }
        }
    }
    items.push(item);
    items.iter().map(|item| first(item)).filter(|name| !name.is_empty()).collect()
}

/// The rooms that a source names, if its module lies `depth` steps below the crate.
fn known(source: &str, depth: usize) -> BTreeSet<String> {
    let code = code(source);
    let paths = ["crate::".to_string(), "super::".repeat(depth)];
    let mut rooms = BTreeSet::new();
    for path in paths.iter().filter(|path| !path.is_empty()) {
        for (at, _) in code.match_indices(path.as_str()) {
            let before = code[..at].chars().next_back();
            let inside = before
                .is_some_and(|character| character.is_alphanumeric() || "_:$".contains(character));
            if !inside {
                rooms.extend(names(&code[at + path.len()..]));
            }
        }
    }
    rooms
}

/// The library's sources: path, room, steps below the crate.
fn sources() -> Vec<(PathBuf, String, usize)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut open, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inner = path.strip_prefix(&root).unwrap().with_extension("");
                let steps: Vec<String> =
                    inner.iter().map(|step| step.to_string_lossy().into_owned()).collect();
                let is_folder = steps[steps.len() - 1] == "mod";
                found.push((path, steps[0].clone(), steps.len() - usize::from(is_folder)));
            }
        }
    }
    found
}

#[test]
fn a_room_knows_only_those_before_it() {
    let sources = sources();
    assert!(sources.len() > 20, "the sources are not where they were");
    let mut wrong = Vec::new();
    let mut uses = 0;
    for (path, room, depth) in sources.iter().filter(|(_, room, _)| room != "lib") {
        let Some(mine) = rank(room) else {
            wrong.push(format!("{}: the room `{room}` has no place in the order", path.display()));
            continue;
        };
        for other in known(&std::fs::read_to_string(path).unwrap(), *depth)
            .iter()
            .filter(|other| *other != room)
        {
            uses += 1;
            match rank(other) {
                Some(theirs) if theirs < mine => {}
                Some(_) => {
                    wrong.push(format!("{}: `{room}` must not know `{other}`", path.display()))
                }
                None => wrong.push(format!("{}: `{other}` is no room", path.display())),
            }
        }
    }
    assert!(uses > 50, "only {uses} uses were seen; is `crate::` written in another way now?");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn architecture_names_every_room() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let Ok(text) = std::fs::read_to_string(file) else { return };
    for (_, room, _) in sources().iter().filter(|(_, room, _)| room != "lib") {
        let named = [format!("`{room}`"), format!("src/{room}"), format!("[{room}]")];
        assert!(
            named.iter().any(|name| text.contains(name.as_str())),
            "ARCHITECTURE.md does not name `{room}`"
        );
    }
}

#[test]
fn uses_are_found_however_they_are_written() {
    let source = "
use crate::table::{Cells, Tallies};
use crate::{error::{Error, Result}, loss, search::lattice};
fn f() -> super::super::policy::Policy { crate::ratio::Ratio::ONE }
// crate::comment::never
/// [`job`](crate::job)
use super::sibling;
#[cfg(test)]
use crate::generate::census;
#[cfg(test)]
mod tests {
    use crate::release::Recoded;
    fn inner() {
    }
}
use crate::source::after;
";
    let found: Vec<String> = known(source, 2).into_iter().collect();
    assert_eq!(found, ["error", "loss", "policy", "ratio", "search", "source", "table"]);
}
