//! A partition tree, written as it is found: the tree itself is never whole in memory. What is written is what
//! [`Recoding`](crate::recoding::Recoding) reads.

use crate::error::{Error, Result};
use crate::recoding::Columns;
use crate::search::regions::Choice;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A split whose parts are being told: the labels of its children, or none for a threshold, and the parts told so far.
struct Open {
    labels: Option<Vec<String>>,
    told: usize,
}

/// A file that a tree is written to, depth first.
pub struct Rules<'a> {
    file: BufWriter<File>,
    target: PathBuf,
    columns: Columns<'a>,
    open: Vec<Open>,
}

impl<'a> Rules<'a> {
    /// Starts a tree in `file`; `target` is what errors call it.
    pub fn new(file: File, target: &Path, columns: Columns<'a>) -> Result<Rules<'a>> {
        let mut rules = Rules { file: BufWriter::new(file), target: target.to_path_buf(), columns, open: Vec::new() };
        let names = json!(columns.names);
        rules.put(&format!("{{\"version\":1,\"model\":\"regions\",\"attributes\":{names},\"tree\":"))?;
        Ok(rules)
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(Error::io(&self.target, "write"))
    }

    /// Before a node: what separates it from the part before it.
    fn begin(&mut self) -> Result<()> {
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        let mut text = String::from(if open.told > 0 { "," } else { "" });
        if let Some(labels) = &open.labels {
            text += &format!("[{},", json!(labels[open.told]));
        }
        open.told += 1;
        self.put(&text)
    }

    /// After a node.
    fn end(&mut self) -> Result<()> {
        match self.open.last() {
            Some(Open { labels: Some(_), .. }) => self.put("]"),
            _ => Ok(()),
        }
    }

    /// A region.
    pub fn region(&mut self) -> Result<()> {
        self.begin()?;
        self.put("\"region\"")?;
        self.end()
    }

    /// A split, whose parts follow.
    pub fn open(&mut self, choice: &Choice) -> Result<()> {
        self.begin()?;
        let name = json!(self.columns.names[choice.column()]);
        match choice {
            Choice::Threshold { .. } => {
                let up_to = choice.up_to(self.columns.axes);
                let up_to = up_to.map_or(String::new(), |number| format!("\"up-to\":{},", json!(number)));
                self.put(&format!("{{\"threshold\":{{\"attribute\":{name},{up_to}\"parts\":["))?;
                self.open.push(Open { labels: None, told: 0 });
            }
            Choice::Children { column, level, children } => {
                self.put(&format!("{{\"children\":{{\"attribute\":{name},\"level\":{level},\"parts\":["))?;
                let nodes = self.columns.taxonomies[*column].level(*level);
                let labels = children.iter().map(|child| nodes.label(*child).to_string()).collect();
                self.open.push(Open { labels: Some(labels), told: 0 });
            }
        }
        Ok(())
    }

    /// All parts of the last split were told.
    pub fn close(&mut self) -> Result<()> {
        self.open.pop();
        self.put("]}}")?;
        self.end()
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<()> {
        self.put("}\n")?;
        self.file.flush().map_err(Error::io(&self.target, "write"))
    }
}
