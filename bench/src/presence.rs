//! Delta-presence without complete world knowledge: figures 4 to 7 and table 5 of Nergiz and
//! Clifton (2008), and what was added.
//!
//! A population of 45,222 synthetic people (or the Adult table), 4 % of whom are in the private
//! table: `random` ones, or those whom age, sex and race make likely (`diabetes`). Columns without
//! further name are the paper's: its four optimizations, SD at 4 sigma, and nothing that was added;
//! `~` leaves one out. `scumble` is what the command does by itself.

use crate::harness::{Measured, Scratch, TIGHT, fastest, read};
use crate::presence_claims::{against_k, distances};
use scumble::bind::{Outside, Prepared};
use scumble::error::{Error, Result};
use scumble::generate::subset::{Selection, chance, is_in};
use scumble::policy::Policy;
use scumble::privacy::{Shortcuts, Work};
use scumble::random::Random;
use scumble::recoding::Mapping;
use scumble::release::Recoded;
use scumble::search::lattice::incognito::{Strategy, search};
use scumble::search::lattice::{sfalm, spalm};
use scumble::search::regions::{mfalm, mpalm};
use scumble::watch::Watch;
use scumble::{Synthetic, generate};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The attributes in the order of the paper, as far as the tables have them: the first four, and
/// all.
const CENSUS: [&str; 7] =
    ["age", "workclass", "education", "marital-status", "race", "sex", "birthplace"];
const ADULT: [&str; 7] =
    ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"];

/// The people of the paper's universe.
const PEOPLE: u64 = 45_222;

/// What the paper measures: its optimizations alone, with the cut of its section 8.
const PAPER: Shortcuts = Shortcuts {
    practical: true,
    sigmas: Some(4.0),
    dominant: true,
    bucket: 4,
    moments: false,
    refined: false,
    shared: false,
};

/// Everybody, and where the hierarchies are.
struct World {
    scratch: Scratch,
    names: [&'static str; 7],
    hierarchies: Vec<String>,
    people: Vec<Vec<String>>,
}

impl World {
    fn new(adult: Option<&Path>, rows: u64) -> Result<World> {
        let scratch = Scratch::new()?;
        let (file, delimiter, names) = match adult {
            Some(folder) => (folder.join("adult.csv"), ';', ADULT),
            None => {
                let file = scratch.path("census.csv");
                generate(Synthetic::Census, rows, 1, &file, None, &Watch::default())?;
                (file, ',', CENSUS)
            }
        };
        let text = std::fs::read_to_string(&file).map_err(Error::io(&file, "read"))?;
        let mut lines =
            text.lines().map(|line| line.split(delimiter).map(str::to_string).collect::<Vec<_>>());
        let header = lines.next().unwrap_or_default();
        let find = |name: &&str| {
            let missing = || Error::NoSuchColumn {
                file: file.clone(),
                column: name.to_string(),
                nearest: None,
            };
            header.iter().position(|column| column == name).ok_or_else(missing)
        };
        let positions: Vec<usize> = names.iter().map(find).collect::<Result<_>>()?;
        let person = |row: Vec<String>| {
            positions.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect()
        };
        let people = lines.map(person).collect();
        let hierarchy = |name: &&str| match adult {
            Some(folder) => format!("{:?}", folder.join(format!("adult_hierarchy_{name}.csv"))),
            None if *name == "age" => "{ intervals = [5, 10, 20, 40], from = 0, to = 100 }".into(),
            None => format!("{:?}", scratch.path("hierarchies").join(format!("{name}.csv"))),
        };
        let hierarchies = names.iter().map(hierarchy).collect();
        Ok(World { scratch, names, hierarchies, people })
    }

    /// The world with a private table.
    fn case(&self, selection: Selection) -> Result<Case<'_>> {
        let people = &self.people;
        let mut random = Random::new(8);
        let at = |name: &str| self.names.iter().position(|known| *known == name).unwrap_or(0);
        let (age, sex, race) = (at("age"), at("sex"), at("race"));
        let chance = |person: &Vec<String>| {
            let years = person[age].parse().unwrap_or(0);
            chance(selection, years, &person[sex], &person[race])
        };
        let private: Vec<&Vec<String>> =
            people.iter().filter(|person| is_in(chance(person), &mut random)).collect();
        let csv = |rows: &[&Vec<String>]| {
            let rows: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
            self.names.join(",") + "\n" + &rows.join("\n") + "\n"
        };
        let mut marginals = String::from("attribute,value,count\n");
        for (column, name) in self.names.iter().enumerate() {
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            people.iter().for_each(|person| *counts.entry(&person[column]).or_insert(0) += 1);
            counts
                .iter()
                .for_each(|(value, count)| marginals += &format!("{name},{value},{count}\n"));
        }
        let write = |name: &str, text: String| {
            let file = self.scratch.path(name);
            std::fs::write(&file, text).map_err(Error::io(&file, "write"))?;
            Ok::<PathBuf, Error>(file)
        };
        let table = write("private.csv", csv(&private))?;
        let population = write("population.csv", csv(&people.iter().collect::<Vec<_>>()))?;
        write("marginals.csv", marginals)?;
        Ok(Case { world: self, table, population, private: private.len() })
    }
}

/// A world with a private table in it.
pub struct Case<'a> {
    world: &'a World,
    /// The private table.
    pub table: PathBuf,
    /// Everybody.
    pub population: PathBuf,
    private: usize,
}

/// How a search went.
struct Ran {
    seconds: f64,
    lm: Option<f64>,
    /// Of all nodes, those that were judged.
    nodes: f64,
    work: Work,
}

impl Ran {
    fn cells(&self) -> [Value; 2] {
        [
            json!(format!("{:.2}", self.seconds * 1e3)),
            self.lm.map_or(json!("none"), |lm| json!(format!("{lm:.4}"))),
        ]
    }
}

impl Case<'_> {
    /// A table bound to a presence over its first columns.
    pub fn prepared(
        &self,
        columns: usize,
        presence: &str,
        shortcuts: Shortcuts,
    ) -> Result<Prepared> {
        let mut prepared =
            self.bound(columns, &format!("privacy.presence = {{ {presence} }}"), &self.table)?;
        let confident = prepared.task.confident.take();
        prepared.task.confident = confident.map(|confident| confident.with_shortcuts(shortcuts));
        Ok(prepared)
    }

    /// A table bound to what is asked of its first columns.
    pub fn bound(&self, columns: usize, asked: &str, table: &Path) -> Result<Prepared> {
        let attribute = |at: usize| {
            let (name, hierarchy) = (self.world.names[at], &self.world.hierarchies[at]);
            if at < columns {
                format!(
                    "attributes.{name} = {{ role = \"quasi-identifier\", hierarchy = {hierarchy} }}\n"
                )
            } else {
                format!("attributes.{name} = {{ role = \"identifier\" }}\n")
            }
        };
        let attributes: String = (0..self.world.names.len()).map(attribute).collect();
        let policy =
            Policy::parse(&format!("{attributes}\n{asked}\n"), &self.world.scratch.path("p"))?;
        let table = read(table, &policy)?;
        let population = if asked.contains("population =") {
            Some(read(&self.population, &policy)?)
        } else {
            None
        };
        policy.prepare_within(
            &table,
            Outside { population: population.as_ref(), confidences: None },
            &Watch::default(),
        )
    }

    fn ran(
        &self,
        columns: usize,
        delta: (f64, f64),
        confidence: f64,
        shortcuts: Shortcuts,
    ) -> Result<Ran> {
        let (min, max) = delta;
        let presence = format!(
            "min = {min}, max = {max}, confidence = {confidence}, marginals = \"marginals.csv\""
        );
        let mut prepared = self.prepared(columns, &presence, shortcuts)?;
        let mut timed = || {
            // Nothing is remembered from run to run.
            let confident = prepared.task.confident.take();
            prepared.task.confident =
                confident.map(|confident| confident.with_shortcuts(shortcuts));
            let start = Instant::now();
            let found = sfalm::search(&prepared.task, Strategy::default(), &Watch::default());
            (start.elapsed().as_secs_f64(), found)
        };
        let (mut seconds, found) = timed();
        // The fastest of five, where that does not take long.
        let again = if seconds < 0.5 { 4 } else { 0 };
        (0..again).for_each(|_| seconds = seconds.min(timed().0));
        let work =
            prepared.task.confident.as_ref().map(|confident| confident.work()).unwrap_or_default();
        let (lm, nodes) = match found {
            Ok(found) => {
                let space = found.space.unwrap_or(1) as f64;
                (Some(lm(&prepared, &found.mapping)?), found.visited as f64 / space)
            }
            Err(Error::CannotBeMet { .. }) => (None, 1.0),
            Err(error) => return Err(error),
        };
        Ok(Ran { seconds, lm, nodes, work })
    }
}

/// LM of a recoding; an error if it does not hold.
pub fn lm(prepared: &Prepared, mapping: &Mapping) -> Result<f64> {
    Ok(Recoded::new(&prepared.task, mapping, &Watch::default())?.lm(&prepared.task))
}

/// The ranges of the paper.
pub const DELTAS: [(f64, f64); 4] = [(0.0, 0.06), (0.0, 0.1), (0.0, 0.2), (0.01, 0.1)];

const CASES: [(&str, Selection); 2] =
    [("diabetes", Selection::Biased), ("random", Selection::Uniform)];

fn title(of: &str, private: usize, people: usize) -> String {
    format!("{of}; {private} of {people} people, milliseconds and LM")
}

/// Figures 4 to 7, table 5, none of the optimizations against all, what knowing more or parting more
/// is worth, and claims of the paper that have no figure.
pub fn presence(adult: Option<&Path>, rows: Option<u64>) -> Result<Vec<Measured>> {
    let world = World::new(adult, rows.unwrap_or(PEOPLE))?;
    let mut tables = vec![against_none(&world)?, against_full_domain(&world)?];
    for (name, selection) in CASES {
        let case = world.case(selection)?;
        tables.push(figure_4(&case, name)?);
        let (figure_5, figure_6) = figures_5_and_6(&case, name)?;
        tables.extend([figure_5, figure_6, figure_7(&case, name)?]);
        if selection == Selection::Biased {
            tables.push(table_5(&case)?);
        }
        tables.push(more_knowledge(&case, name)?);
        tables.push(distances(&case, name)?);
        tables.push(against_k(&case, name)?);
    }
    Ok(tables)
}

/// The last two columns say how many times faster the optimizations make it.
fn against_none(world: &World) -> Result<Measured> {
    let case = world.case(Selection::Biased)?;
    let mut rows = Vec::new();
    for delta in [(0.0, 0.1), (0.0, 0.2)] {
        let of = |shortcuts| case.ran(4, delta, 0.8, shortcuts);
        let (none, all, own) = (of(Shortcuts::NONE)?, of(PAPER)?, of(Shortcuts::default())?);
        let mut row = vec![json!(format!("{delta:?}"))];
        row.extend([&none, &all, &own].into_iter().flat_map(Ran::cells));
        row.push(json!(format!("{:.0}", none.seconds / all.seconds)));
        row.push(json!(format!("{:.0}", none.seconds / own.seconds)));
        rows.push(row);
    }
    Ok(Measured {
        title: title(
            "None of the optimizations against all, 4 attributes, confidence 0.8",
            case.private,
            world.people.len(),
        ),
        columns: vec![
            "delta",
            "none ms",
            "none LM",
            "all ms",
            "all LM",
            "scumble ms",
            "scumble LM",
            "none / all",
            "none / scumble",
        ],
        rows,
    })
}

/// SPALM beside the search for k-anonymity, over the same people and attributes.
fn against_full_domain(world: &World) -> Result<Measured> {
    let case = world.case(Selection::Biased)?;
    let mut rows = Vec::new();
    let asked =
        [("k-anonymity of the population, k = 5".to_string(), None), ("k = 50".to_string(), None)]
            .into_iter();
    let asked =
        asked.chain(DELTAS.map(|delta| (format!("presence of the table, {delta:?}"), Some(delta))));
    for (at, (name, delta)) in asked.enumerate() {
        let prepared = match delta {
            None => case.bound(7, &format!("privacy.k = {}", [5, 50][at]), &case.population)?,
            Some((min, max)) => {
                let presence = format!("min = {min}, max = {max}, population = \"population.csv\"");
                case.prepared(7, &presence, Shortcuts::default())?
            }
        };
        let run = || match delta {
            None => search(&prepared.task, Strategy::default(), &Watch::default()),
            Some(_) => spalm::search(&prepared.task, Strategy::default(), &Watch::default()),
        };
        let (seconds, found) = fastest(1, 5, run)?;
        rows.push(vec![json!(name), json!(format!("{:.2}", seconds * 1e3)), json!(found.visited)]);
    }
    let title = "SPALM against the full-domain search: 7 attributes, one thread, fastest of 5, milliseconds";
    Ok(Measured { title: title.into(), columns: vec!["asked", "ms", "nodes visited"], rows })
}

fn figure_4(case: &Case<'_>, name: &str) -> Result<Measured> {
    let without = [
        Shortcuts { sigmas: None, ..PAPER },
        Shortcuts { practical: false, ..PAPER },
        Shortcuts { dominant: false, ..PAPER },
        Shortcuts { bucket: 1, ..PAPER },
        PAPER,
        Shortcuts::default(),
    ];
    let mut rows = Vec::new();
    for delta in DELTAS {
        let mut row = vec![json!(format!("{delta:?}"))];
        for shortcuts in without {
            row.extend(case.ran(4, delta, 0.8, shortcuts)?.cells());
        }
        rows.push(row);
    }
    Ok(Measured {
        title: title(
            &format!("Figure 4, {name}: 4 attributes, confidence 0.8"),
            case.private,
            case.world.people.len(),
        ),
        columns: vec![
            "delta",
            "~SD ms",
            "~SD LM",
            "~PA ms",
            "~PA LM",
            "~DM ms",
            "~DM LM",
            "~DC ms",
            "~DC LM",
            "all ms",
            "all LM",
            "scumble ms",
            "scumble LM",
        ],
        rows,
    })
}

/// With and without DM and DC, where the others are needed to end at all.
const SEVEN: [Shortcuts; 5] = [
    Shortcuts { dominant: false, bucket: 1, ..PAPER },
    Shortcuts { dominant: false, ..PAPER },
    Shortcuts { bucket: 1, ..PAPER },
    PAPER,
    Shortcuts::ALL,
];

/// The columns of what was measured with those.
fn columns_of_seven(varied: &'static str) -> Vec<&'static str> {
    let of_shortcuts = [
        "~DM~DC ms",
        "~DM~DC LM",
        "~DM ms",
        "~DM LM",
        "~DC ms",
        "~DC LM",
        "all ms",
        "all LM",
        "scumble ms",
        "scumble LM",
    ];
    std::iter::once(varied).chain(of_shortcuts).collect()
}

fn figures_5_and_6(case: &Case<'_>, name: &str) -> Result<(Measured, Measured)> {
    let (mut rows, mut pruned) = (Vec::new(), Vec::new());
    for delta in DELTAS {
        let mut row = vec![json!(format!("{delta:?}"))];
        for shortcuts in SEVEN {
            let ran = case.ran(7, delta, 0.8, shortcuts)?;
            row.extend(ran.cells());
            if shortcuts == PAPER {
                let rate = |done: u64, of: u64| {
                    json!(format!("{:.3}", 1.0 - done as f64 / (of as f64).max(1.0)))
                };
                let Work { tuples, dominant, possible, computed } = ran.work;
                let nodes = json!(format!("{:.3}", 1.0 - ran.nodes));
                pruned.push(vec![
                    json!(format!("{delta:?}")),
                    rate(computed, possible),
                    nodes,
                    rate(dominant, tuples),
                ]);
            }
        }
        rows.push(row);
    }
    let people = case.world.people.len();
    let figure_5 = Measured {
        title: title(
            &format!("Figure 5, {name}: 7 attributes, confidence 0.8"),
            case.private,
            people,
        ),
        columns: columns_of_seven("delta"),
        rows,
    };
    let title = format!(
        "Figure 6, {name}: 7 attributes, share of densities, nodes and tuples that were pruned"
    );
    Ok((figure_5, Measured { title, columns: vec!["delta", "SD", "PA", "DM"], rows: pruned }))
}

fn figure_7(case: &Case<'_>, name: &str) -> Result<Measured> {
    let mut rows = Vec::new();
    for confidence in [0.98, 0.95, 0.9, 0.8, 0.6] {
        let mut row = vec![json!(confidence)];
        for shortcuts in SEVEN {
            row.extend(case.ran(7, (0.0, 0.1), confidence, shortcuts)?.cells());
        }
        rows.push(row);
    }
    Ok(Measured {
        title: title(
            &format!("Figure 7, {name}: 7 attributes, delta (0, 0.1)"),
            case.private,
            case.world.people.len(),
        ),
        columns: columns_of_seven("confidence"),
        rows,
    })
}

fn table_5(case: &Case<'_>) -> Result<Measured> {
    let plain = case.ran(7, (0.0, 0.1), 0.8, Shortcuts { bucket: 1, ..PAPER })?;
    let mut rows = Vec::new();
    for bucket in [2, 4, 6, 8, 10] {
        let ran = case.ran(7, (0.0, 0.1), 0.8, Shortcuts { bucket, ..PAPER })?;
        let more =
            ran.lm.zip(plain.lm).map(|(ran, plain)| json!(format!("{:+.2}", ran / plain - 1.0)));
        let time = json!(format!("{:.2}", ran.seconds / plain.seconds));
        rows.push(vec![json!(bucket), time, more.unwrap_or(json!("none"))]);
    }
    let title = "Table 5: time against ~DC and relative increase of LM by the size of buckets, diabetes, 7 attributes, \
                 delta (0, 0.1), confidence 0.8";
    Ok(Measured { title: title.into(), columns: vec!["bucket", "x", "+"], rows })
}

/// What it is worth to know the population, and to part it in many dimensions.
fn more_knowledge(case: &Case<'_>, name: &str) -> Result<Measured> {
    let mut rows = Vec::new();
    for (min, max) in DELTAS {
        let known = format!("min = {min}, max = {max}, population = \"population.csv\"");
        let likely =
            format!("min = {min}, max = {max}, confidence = 0.8, marginals = \"marginals.csv\"");
        let mut row = vec![json!(format!("{:?}", (min, max)))];
        for (presence, of) in [(&known, 0), (&known, 1), (&likely, 2), (&likely, 3)] {
            let prepared = case.prepared(7, presence, Shortcuts::default())?;
            let (task, watch) = (&prepared.task, Watch::default());
            let start = Instant::now();
            let found = match of {
                0 => spalm::search(task, Strategy::default(), &watch),
                1 => mpalm::search(task, TIGHT, &watch),
                2 => search(task, Strategy::default(), &watch),
                _ => mfalm::search(task, &watch),
            };
            let seconds = start.elapsed().as_secs_f64();
            let lm = match found {
                Ok(found) => Some(lm(&prepared, &found.mapping)?),
                Err(Error::CannotBeMet { .. }) => None,
                Err(error) => return Err(error),
            };
            row.extend(Ran { seconds, lm, nodes: 0.0, work: Work::default() }.cells());
        }
        rows.push(row);
    }
    Ok(Measured {
        title: title(
            &format!(
                "Population or marginals (confidence 0.8), levels or regions, {name}: 7 attributes"
            ),
            case.private,
            case.world.people.len(),
        ),
        columns: vec![
            "delta",
            "SPALM ms",
            "SPALM LM",
            "MPALM ms",
            "MPALM LM",
            "SFALM ms",
            "SFALM LM",
            "regions ms",
            "regions LM",
        ],
        rows,
    })
}
