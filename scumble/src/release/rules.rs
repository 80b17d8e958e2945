//! A partition tree, written as it is found: the tree itself is never whole in memory. What is
//! written is what [`Recoding`](crate::recoding::Recoding) reads.

use crate::error::{Error, Result};
use crate::recoding::Columns;
use crate::search::regions::Choice;
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that a tree is written to, depth first: each node is followed by its parts.
pub struct Rules<'a> {
    file: BufWriter<Box<dyn Write + Send>>,
    target: PathBuf,
    columns: Columns<'a>,
    /// Whether a node was told.
    begun: bool,
}

impl<'a> Rules<'a> {
    /// Starts a tree in `file`; `target` is what errors call it.
    pub fn new(
        file: Box<dyn Write + Send>,
        target: &Path,
        columns: Columns<'a>,
    ) -> Result<Rules<'a>> {
        let mut rules = Rules {
            file: BufWriter::new(file),
            target: target.to_path_buf(),
            columns,
            begun: false,
        };
        let names = json!(columns.names);
        rules.put(&format!(
            "{{\"version\":1,\"model\":\"regions\",\"attributes\":{names},\"nodes\":["
        ))?;
        Ok(rules)
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(Error::io(&self.target, "write"))
    }

    fn node(&mut self, node: &serde_json::Value) -> Result<()> {
        let between = if std::mem::replace(&mut self.begun, true) { "," } else { "" };
        self.put(&format!("{between}\n{node}"))
    }

    /// A region.
    pub fn region(&mut self) -> Result<()> {
        self.node(&json!("region"))
    }

    /// A split, whose parts follow.
    pub fn split(&mut self, choice: &Choice) -> Result<()> {
        let name = &self.columns.names[choice.column()];
        let node = match choice {
            Choice::Threshold { .. } => match choice.up_to() {
                Some(number) => json!({"threshold": {"attribute": name, "up-to": number}}),
                None => json!({"threshold": {"attribute": name}}),
            },
            Choice::Children { column, level, children, rest } => {
                let nodes = self.columns.taxonomies[*column].level(*level);
                let labels: Vec<&str> = children.iter().map(|child| nodes.label(*child)).collect();
                let mut node = json!({"attribute": name, "level": level, "labels": labels});
                if !rest.is_empty() {
                    node["rest"] = json!(true);
                }
                json!({ "children": node })
            }
        };
        self.node(&node)
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<()> {
        self.put("\n]}\n")?;
        self.file.flush().map_err(Error::io(&self.target, "write"))
    }
}
