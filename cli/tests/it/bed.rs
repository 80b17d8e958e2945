//! The test language: a folder that is gone afterwards, a command that runs in it, and what came of
//! it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// A folder of its own for one test.
pub struct Bed {
    folder: PathBuf,
}

/// What can be seen of a file from outside: whether it was touched.
type Seen = BTreeMap<String, (u64, u64, SystemTime)>;

/// How a command ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
    /// Files that appeared, vanished or changed.
    pub touched: Vec<String>,
}

/// Says that a test is skipped, past the capture of the test harness.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// A table about six people that is released with k = 2 by the policy below.
pub const PEOPLE: &str = "\
name,age,city,ill
Ann,34,Bern,flu
Bob,36,Bern,gout
Cid,51,Thun,flu
Dee,55,Thun,asthma
Eva,38,Biel,gout
Fay,57,Thun,flu
";

pub const PEOPLE_POLICY: &str = r#"[attributes.name]
role = "identifier"

[attributes.age]
role = "quasi-identifier"
type = "integer"
hierarchy = { intervals = [10, 20], from = 0, to = 100 }

[attributes.city]
role = "quasi-identifier"
hierarchy = "city.csv"

[attributes.ill]
role = "sensitive"

[privacy]
k = 2
"#;

pub const CITIES: &str = "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\n";

impl Bed {
    pub fn new() -> Bed {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("scumble-it-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Bed { folder }
    }

    /// A folder with six people, their policy and its hierarchy.
    pub fn people() -> Bed {
        let bed = Bed::new();
        bed.file("table.csv", PEOPLE).file("policy.toml", PEOPLE_POLICY).file("city.csv", CITIES);
        bed
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Bed {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Changes a piece of a file that must be there.
    pub fn edit(&self, name: &str, from: &str, to: &str) -> &Bed {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}:\n{text}");
        self.file(name, text.replacen(from, to, 1))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn mode(&self, name: &str) -> u32 {
        std::fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    /// The names in the folder, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        self.seen().into_keys().collect()
    }

    fn seen(&self) -> Seen {
        let mut seen = Seen::new();
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            // A file may vanish while another process of the test works here.
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                let name =
                    entry.path().strip_prefix(&self.folder).unwrap().to_string_lossy().into_owned();
                if metadata.is_dir() {
                    folders.push(entry.path());
                } else {
                    seen.insert(
                        name,
                        (metadata.ino(), metadata.len(), metadata.modified().unwrap()),
                    );
                }
            }
        }
        seen
    }

    /// The tool in this folder, not yet started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.finish(self.command(arguments))
    }

    /// Runs any command and looks at what it did to the folder.
    pub fn finish(&self, mut command: Command) -> Outcome {
        let before = self.seen();
        let output = command.output().unwrap();
        let after = self.seen();
        let names = before.keys().chain(after.keys());
        let mut touched: Vec<String> =
            names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect();
        touched.sort();
        touched.dedup();
        Outcome {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            touched,
        }
    }

    /// `anonymize table.csv --policy policy.toml -o out.csv` and more arguments.
    pub fn anonymize(&self, more: &[&str]) -> Outcome {
        self.run(
            &[&["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out.csv"], more]
                .concat(),
        )
    }

    /// The records of a CSV file of this folder.
    pub fn records(&self, name: &str, delimiter: char) -> Vec<Vec<String>> {
        records(&self.read(name), delimiter)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Outcome {
    /// Done, without a word on standard error.
    #[track_caller]
    pub fn ok(self) -> Outcome {
        assert!(self.status == 0 && self.stderr.is_empty(), "{self:#?}");
        self
    }

    /// Refused with this status and one line that contains a text; nothing was written, changed or
    /// removed.
    #[track_caller]
    pub fn fails_with(self, status: i32, part: &str) -> Outcome {
        assert_eq!(self.status, status, "{self:#?}");
        assert!(self.touched.is_empty(), "{self:#?}");
        self.complains().says(part)
    }

    /// Standard error is one line.
    #[track_caller]
    pub fn complains(self) -> Outcome {
        let line = self.stderr.strip_suffix('\n');
        let one = line.is_some_and(|line| !line.is_empty() && !line.contains(['\n', '\r']));
        assert!(one, "not one line: {self:#?}");
        self
    }

    /// Standard error contains a text too.
    #[track_caller]
    pub fn says(self, part: &str) -> Outcome {
        assert!(self.stderr.contains(part), "no {part:?} in {self:#?}");
        self
    }

    /// Standard output as the one JSON object it must be.
    #[track_caller]
    pub fn json(&self) -> Value {
        let value: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        assert!(value.is_object(), "{self:#?}");
        value
    }
}

/// The records of a delimited text, by a reader that shares nothing with the tool's.
pub fn records(text: &str, delimiter: char) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut characters = text.chars().peekable();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' if quoted => quoted = false,
            _ if quoted => field.push(character),
            '"' if field.is_empty() => quoted = true,
            '\n' => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            _ if character == delimiter => record.push(std::mem::take(&mut field)),
            _ => field.push(character),
        }
    }
    assert!(
        !quoted && record.is_empty() && field.is_empty(),
        "the last line does not end:\n{text}"
    );
    records
}

/// A delimited text with every field in quotes.
pub fn delimited(records: &[Vec<String>], delimiter: char) -> String {
    let mut text = String::new();
    for record in records {
        let fields: Vec<String> =
            record.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
        text += &(fields.join(&delimiter.to_string()) + "\n");
    }
    text
}

/// Rows without their order.
pub fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

/// What a run of the tool said, and the most memory that it ever held, in bytes.
pub fn peak_of(mut command: Command) -> (Output, u64) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        // Only grows while the process lives, so the last answer before its end counts.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        peak = kilobytes.unwrap_or(0).max(peak);
        std::thread::sleep(Duration::from_millis(1));
    }
    (child.wait_with_output().unwrap(), peak * 1024)
}
