//! Synthetic tables, written in any format, with their policy and hierarchies.

use super::check_apart;
use crate::error::{Error, Result};
use crate::generate::{Generator, Kind, companions};
use crate::release::{Draft, Sink, publish};
use crate::source::Format;
use crate::watch::Watch;
use std::path::{Path, PathBuf};

/// Writes `rows` rows to `output`, the policy to `policy` (beside the table where not given) and hierarchies into a
/// folder `hierarchies` beside the policy. Returns all files that were written, the table first.
pub fn generate(
    kind: Kind,
    rows: u64,
    seed: u64,
    output: &Path,
    policy: Option<&Path>,
    watch: &Watch,
) -> Result<Vec<PathBuf>> {
    let format = Format::of(output)?;
    let generator = Generator::new(kind, rows, seed);
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or("table");
    let folder = |file: &Path| file.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut companions = companions(kind, name, "hierarchies").into_iter();
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    if let Some((name, content)) = companions.next() {
        let policy = policy.map_or_else(|| folder(output).join(&name), Path::to_path_buf);
        // The policy's own comment says how to use it, by the name it has.
        let called = policy.file_name().and_then(|called| called.to_str()).unwrap_or(&name);
        let content = content.replace(&name, called);
        let place = folder(&policy);
        files.push((policy, content));
        files.extend(companions.map(|(name, content)| (place.join(name), content)));
    }
    check_apart(&files.iter().map(|(file, _)| file.as_path()).collect::<Vec<_>>(), [output].into_iter())?;
    for (file, content) in &files {
        // Somebody may have edited it. Comments name the table, which may be another one of the same kind.
        let said =
            |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_string).collect::<Vec<_>>();
        if std::fs::read(file).is_ok_and(|there| said(&String::from_utf8_lossy(&there)) != said(content)) {
            return Err(Error::Exists { file: file.clone() });
        }
    }
    let draft = Draft::new(output)?;
    let mut sink = Sink::new(draft.writer()?, output, format, &generator.schema())?;
    let mut drafts = Vec::new();
    for (file, content) in &files {
        if files.iter().skip(1).any(|(hierarchy, _)| hierarchy == file) {
            std::fs::create_dir_all(folder(file)).map_err(Error::io(file, "write"))?;
        }
        drafts.push(Draft::with(file, content)?);
    }
    let mut sent = 0;
    for batch in generator {
        sink.write(&batch)?;
        sent += batch.num_rows() as u64;
        watch.progress("write", sent, Some(rows));
    }
    sink.finish()?;
    drafts.push(draft);
    publish(drafts)?;
    Ok(std::iter::once(output.to_path_buf()).chain(files.into_iter().map(|(file, _)| file)).collect())
}
