//! Synthetic tables, written in any format, with their policy and hierarchies.

use crate::error::{Error, Result};
use crate::generate::{Generator, Kind, companions};
use crate::release::{Draft, Sink, replace};
use crate::source::Format;
use std::path::{Path, PathBuf};

/// Writes `rows` rows to `output`, the policy to `policy` (beside the table where not given) and hierarchies into a
/// folder `hierarchies` beside the policy. Returns all files that were written, the table first.
pub fn generate(kind: Kind, rows: u64, seed: u64, output: &Path, policy: Option<&Path>) -> Result<Vec<PathBuf>> {
    let format = Format::of(output)?;
    let generator = Generator::new(kind, rows, seed);
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or("table");
    let mut files = companions(kind, name, "hierarchies").into_iter();
    let draft = Draft::new(output)?;
    let mut sink = Sink::new(draft.writer()?, output, format, &generator.schema())?;
    for batch in generator {
        sink.write(&batch)?;
    }
    sink.finish()?;
    draft.publish()?;
    let mut written = vec![output.to_path_buf()];
    let folder = |file: &Path| file.parent().unwrap_or(Path::new("")).to_path_buf();
    if let Some((name, content)) = files.next() {
        let policy = policy.map_or_else(|| folder(output).join(name), Path::to_path_buf);
        replace(&policy, &content)?;
        for (name, content) in files {
            let file = folder(&policy).join(name);
            std::fs::create_dir_all(folder(&file)).map_err(Error::io(&file, "write"))?;
            replace(&file, &content)?;
            written.push(file);
        }
        written.insert(1, policy);
    }
    Ok(written)
}
