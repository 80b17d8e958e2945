//! Files in a temporary folder, and the library's way from them to an answer.

use scumble::bind::Prepared;
use scumble::error::Error;
use scumble::job::Job;
use scumble::policy::Policy;
use scumble::recoding::Mapping;
use scumble::release::{Recoded, ReleaseFile, Report, Tables, Verification};
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::search::{Found, Warrant};
use scumble::source::{FileFormat, Format, Source, TableFile, encode};
use scumble::table::{Data, Role, Table, Tallies};
use scumble::watch::Watch;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

pub const STRATEGIES: [Strategy; 3] = [Strategy::BestFirst, Strategy::TopDown, Strategy::BottomUp];

/// A folder that is gone when the test is.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        // Numbers of processes come again, and a killed test leaves its folders behind.
        static STARTED: LazyLock<u128> =
            LazyLock::new(|| UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos()));
        let name = format!("scumble-it-{}-{}-{name}", std::process::id(), *STARTED);
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path(name);
        std::fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind is no reason to fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A policy, whose hierarchies lie in `folder`.
pub fn policy(folder: &Path, text: &str) -> Policy {
    Policy::parse(text, &folder.join("policy.toml"))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Reads a table with the roles of a policy.
pub fn read(file: &Path, delimiter: u8, policy: &Policy) -> Table {
    let format = FileFormat::new(Format::Csv).with_delimiter(Some(delimiter));
    encoded(&TableFile::open_as(file, format).unwrap(), policy).unwrap()
}

/// Opens a file whose name tells its format.
pub fn open(file: &Path) -> TableFile {
    TableFile::open(file).unwrap()
}

/// The names of the columns of a source.
pub fn names(source: &dyn Source) -> Vec<String> {
    source.schema().fields().iter().map(|field| field.name().clone()).collect()
}

/// Scans a source with the roles of a policy.
pub fn encoded(source: &TableFile, policy: &Policy) -> Result<Table, Error> {
    let names = names(source);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    encode(source, &policy.roles(&names, source.path(), false)?, &Watch::silent(), "read")
}

/// Runs a job from one file to another.
pub fn run(job: &Job, input: &Path, output: &Path) -> Result<Report, Error> {
    let input = TableFile::open(input)?;
    let output = ReleaseFile::new(output)?.like(&input);
    job.run(&input, output, &Watch::silent())
}

/// Releases a file as a policy asks.
pub fn anonymize(input: &Path, policy: &Policy, output: &Path) -> Result<Report, Error> {
    run(&Job::new(policy.clone()), input, output)
}

/// Re-checks a release in a file or a folder.
pub fn verify(release: &Path, policy: &Policy) -> Verification {
    let release = Tables::open(release).unwrap();
    Job::new(policy.clone()).verify(&release, None, None, &Watch::silent()).unwrap()
}

/// A table that is bound to a policy.
pub struct Bound<'a> {
    pub table: &'a Table,
    pub prepared: Prepared,
}

/// The outcome of a full-domain search.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    pub levels: Vec<usize>,
    pub cost: f64,
    pub optimal: bool,
    pub space: u64,
    pub visited: u64,
}

impl From<Found> for Optimum {
    fn from(found: Found) -> Optimum {
        Optimum {
            levels: found.mapping.levels().to_vec(),
            cost: found.cost.unwrap(),
            optimal: found.warrant == Warrant::Optimal,
            space: found.space.unwrap() as u64,
            visited: found.visited,
        }
    }
}

/// What a release at some levels lost.
#[derive(Debug)]
pub struct Lost {
    pub suppressed: u64,
    pub lm: f64,
    pub dm: u128,
    pub cm: f64,
}

impl<'a> Bound<'a> {
    pub fn new(table: &'a Table, policy: &Policy) -> Bound<'a> {
        Bound { table, prepared: policy.prepare(table).unwrap() }
    }

    /// The optimum, or `None` where the requirements cannot be met. Any other error is a failure.
    pub fn search(&self, strategy: Strategy) -> Option<Optimum> {
        possible(incognito::search(&self.prepared.task, strategy, &Watch::default()))
            .map(Optimum::from)
    }

    /// The same, asked to stop when so many nodes were visited.
    pub fn search_until(&self, strategy: Strategy, visits: u64) -> Result<Found, Error> {
        let own: Arc<OnceLock<Watch>> = Arc::default();
        let known = own.clone();
        let watch = Watch::new(move |progress| {
            if progress.done >= visits {
                known.get().unwrap().stop();
            }
        });
        own.set(watch.clone()).unwrap();
        if visits == 0 {
            watch.stop();
        }
        incognito::search(&self.prepared.task, strategy, &watch)
    }

    /// A release at these levels, or `None` where the requirements do not allow it.
    pub fn release(&self, levels: &[usize]) -> Option<Lost> {
        let task = &self.prepared.task;
        let recoded =
            possible(Recoded::new(task, &Mapping::Levels(levels.to_vec()), &Watch::default()))?;
        let target = self.table.with_role(Role::Target).next();
        let cm = target.map_or(f64::NAN, |column| {
            let Data::Coded { dictionary, codes, .. } = &column.data else {
                panic!("a target is coded")
            };
            let classes = recoded
                .class_of_row(self.table, &self.prepared.leaf_cell, &Watch::default())
                .unwrap();
            let tallies = Tallies::count(
                recoded.classes.len(),
                classes.raw(),
                codes.raw(),
                &Watch::default(),
            )
            .unwrap();
            recoded
                .of_target(
                    task,
                    &tallies.totals(dictionary.len(), &Watch::default()).unwrap(),
                    &tallies,
                    None,
                )
                .cm
        });
        Some(Lost {
            suppressed: recoded.suppressed,
            lm: recoded.lm(task),
            dm: recoded.dm(task),
            cm,
        })
    }
}

fn possible<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(found) => Some(found),
        Err(Error::CannotBeMet { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

/// A small table for a worked example: the text of its CSV, of its policy and of its hierarchies.
pub struct Example {
    folder: Folder,
    attributes: String,
    table: PathBuf,
}

impl Example {
    /// `attributes` is the part of the policy that does not change; `hierarchies` are files with
    /// their text.
    pub fn new(name: &str, csv: &str, attributes: &str, hierarchies: &[(&str, &str)]) -> Example {
        let folder = Folder::new(name);
        for (file, text) in hierarchies {
            folder.write(file, text);
        }
        let table = folder.write("table.csv", csv);
        Example { folder, attributes: attributes.into(), table }
    }

    /// The table under some requirements; `asked` is the rest of the policy.
    pub fn with<T>(&self, asked: &str, look: impl FnOnce(&Bound<'_>) -> T) -> T {
        let policy = policy(&self.folder.0, &format!("{}\n{asked}\n", self.attributes));
        let table = read(&self.table, b',', &policy);
        look(&Bound::new(&table, &policy))
    }

    /// Whether the requirements allow a release at these levels without suppression.
    pub fn holds(&self, asked: &str, levels: &[usize]) -> bool {
        self.with(asked, |bound| bound.release(levels).is_some_and(|lost| lost.suppressed == 0))
    }

    /// The levels and the cost of the optimum, which all strategies must agree on.
    pub fn optimum(&self, asked: &str) -> Option<(Vec<usize>, f64)> {
        self.with(asked, |bound| {
            let found = STRATEGIES
                .map(|strategy| bound.search(strategy).map(|found| (found.levels, found.cost)));
            assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
            found[0].clone()
        })
    }
}
