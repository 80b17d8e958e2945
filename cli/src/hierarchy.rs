//! Hierarchies: check, draw and build them.

use crate::args::HierarchyCommand;
use crate::failure::Result;
use scumble::{
    Error, Policy, TableFile, Taxonomy, Watch, build_hierarchy, read_hierarchy, write_private,
};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The maximum number of children of a node to draw, without `--all`.
const MOST: usize = 12;

/// Runs a command; returns its output as JSON and as text.
pub fn run(
    action: HierarchyCommand,
    open: &dyn Fn(&Path) -> Result<TableFile>,
    watch: &Watch,
) -> Result<(Value, String)> {
    match action {
        HierarchyCommand::Check { file } => {
            let tree = read_hierarchy(&file)?;
            Ok((facts(&file, &tree), format!("{}: valid, {}\n", file.display(), summary(&tree))))
        }
        HierarchyCommand::Draw { file, policy, attribute, all } => {
            let tree = match (policy, attribute) {
                (Some(policy), Some(attribute)) => {
                    build_hierarchy(&open(&file)?, &Policy::read(&policy)?, &attribute, watch)?
                }
                _ => read_hierarchy(&file)?,
            };
            let mut json = facts(&file, &tree);
            json["rows"] = json!(tree.rows().collect::<Vec<_>>());
            Ok((json, drawn(&tree, all)))
        }
        HierarchyCommand::Build { input, policy, attribute, output } => {
            let policy = Policy::read(&policy)?;
            let tree = build_hierarchy(&open(&input)?, &policy, &attribute, watch)?;
            if output.exists() {
                return Err(Error::Exists { file: output }.into());
            }
            let line =
                |row: Vec<&str>| row.into_iter().map(field).collect::<Vec<_>>().join(";") + "\n";
            write_private(&output, &tree.rows().map(line).collect::<String>())?;
            Ok((facts(&output, &tree), format!("wrote {}: {}\n", output.display(), summary(&tree))))
        }
    }
}

fn facts(file: &Path, tree: &Taxonomy) -> Value {
    let nodes: Vec<usize> = tree.levels().iter().map(|level| level.len()).collect();
    json!({"file": file, "leaves": tree.leaves(), "height": tree.height(), "nodes": nodes})
}

/// A label as a field of a hierarchy file. The delimiter is found by itself when it is read, so the
/// others are quoted too.
fn field(label: &str) -> String {
    if label.is_empty() || label.contains([';', ',', '\t', '|', '"', '\n', '\r']) {
        format!("\"{}\"", label.replace('"', "\"\""))
    } else {
        label.to_string()
    }
}

/// A tree from its root down, a node on each line. A node that is called like its only child stands
/// for both.
fn drawn(taxonomy: &Taxonomy, all: bool) -> String {
    let mut text = String::new();
    let root = settled(taxonomy, taxonomy.height(), 0);
    let _ = writeln!(text, "{}", label(taxonomy, root));
    branches(&mut text, taxonomy, root, "", if all { usize::MAX } else { MOST });
    text
}

/// The nodes of each level, the leaves first, in one line.
fn summary(taxonomy: &Taxonomy) -> String {
    let nodes: Vec<String> =
        taxonomy.levels().iter().map(|level| level.len().to_string()).collect();
    format!("{} levels ({} nodes)", nodes.len(), nodes.join(", "))
}

/// The finest node that means the same and is called the same.
fn settled(taxonomy: &Taxonomy, mut level: usize, mut node: u32) -> (usize, u32) {
    while level > 0 {
        let below = children(taxonomy, (level, node));
        let same = |child: u32| {
            taxonomy.level(level - 1).label(child) == taxonomy.level(level).label(node)
        };
        if below.len() != 1 || !same(below.start) {
            break;
        }
        (level, node) = (level - 1, below.start);
    }
    (level, node)
}

/// The nodes one level below a node.
fn children(taxonomy: &Taxonomy, (level, node): (usize, u32)) -> std::ops::Range<u32> {
    let codes = taxonomy.level(level).range(node);
    let below = taxonomy.level(level - 1);
    below.node_of(codes.start)..below.node_of(codes.end - 1) + 1
}

fn label(taxonomy: &Taxonomy, (level, node): (usize, u32)) -> &str {
    match taxonomy.level(level).label(node) {
        "" => "(missing)",
        label => label,
    }
}

fn branches(
    text: &mut String,
    taxonomy: &Taxonomy,
    (level, node): (usize, u32),
    indent: &str,
    most: usize,
) {
    if level == 0 || taxonomy.level(level).range(node).is_empty() {
        return;
    }
    let below = children(taxonomy, (level, node));
    let left_out = below.len().saturating_sub(most);
    for child in below.clone().take(most) {
        let last = child + 1 == below.end;
        let (branch, further) =
            if last { ("└── ", "    ") } else { ("├── ", "│   ") };
        let child = settled(taxonomy, level - 1, child);
        let _ = writeln!(text, "{indent}{branch}{}", label(taxonomy, child));
        branches(text, taxonomy, child, &format!("{indent}{further}"), most);
    }
    if left_out > 0 {
        let _ = writeln!(text, "{indent}└── … {left_out} more");
    }
}
