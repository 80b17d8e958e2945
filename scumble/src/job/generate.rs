//! Synthetic tables, written in any format, with their policy and hierarchies.

use super::check_apart;
use crate::error::{Error, Result};
use crate::generate::subset::{Selection, chance, is_in};
use crate::generate::{CENSUS_KEYS, Generator, TableKind, companions, subset_companions};
use crate::random::Random;
use crate::release::{Draft, TableSink, TableWriter, publish};
use crate::source::{FileFormat, Meter, Metered, Texts};
use crate::watch::Watch;
use arrow_array::BooleanArray;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A kind of synthetic table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synthetic {
    /// People of a census, with hierarchies.
    Census,
    /// The classification data of Agrawal and others.
    Agrawal,
    /// A part of a census whose membership is sensitive, with the population and its marginals.
    Subset(Selection),
}

/// Writes a synthetic table of `rows` rows (of a subset, as many people in all) to `output`, with
/// its policy and hierarchies. The policy goes to `policy`, by default beside the table. Returns all
/// files that were written, the table first.
pub fn generate(
    kind: Synthetic,
    rows: u64,
    seed: u64,
    output: &Path,
    policy: Option<&Path>,
    watch: &Watch,
) -> Result<Vec<PathBuf>> {
    match kind {
        Synthetic::Census => generate_table(TableKind::Census, rows, seed, output, policy, watch),
        Synthetic::Agrawal => generate_table(TableKind::Agrawal, rows, seed, output, policy, watch),
        Synthetic::Subset(selection) => {
            generate_subset(selection, rows, seed, output, policy, watch)
        }
    }
}

/// Writes `rows` rows to `output`, the policy to `policy` (beside the table where not given) and
/// hierarchies into a folder `hierarchies` beside the policy. Returns all files that were written,
/// the table first.
fn generate_table(
    kind: TableKind,
    rows: u64,
    seed: u64,
    output: &Path,
    policy: Option<&Path>,
    watch: &Watch,
) -> Result<Vec<PathBuf>> {
    let format = FileFormat::of(output)?;
    let generator = Generator::new(kind, rows, seed);
    let companions = companions(kind, name_of(output), "hierarchies");
    let files = placed(companions, output, policy)?;
    let draft = Draft::new(output)?;
    let mut sink = written(&draft, format, &generator.schema())?;
    let mut drafts = drafted(&files)?;
    let mut sent = 0;
    for batch in generator {
        watch.check()?;
        sent += batch.num_rows() as u64;
        sink.write(batch)?;
        watch.progress("write", sent, Some(rows));
    }
    Box::new(sink).finish()?;
    drafts.push(draft);
    publish(drafts)?;
    Ok(std::iter::once(output.to_path_buf())
        .chain(files.into_iter().map(|(file, _)| file))
        .collect())
}

/// Writes a census of `rows` rows, a part of it to `output`, the counts of its values, a policy
/// that asks for presence and its hierarchies. Returns all files that were written: the part, the
/// population, the marginals, the policy, hierarchies.
fn generate_subset(
    selection: Selection,
    rows: u64,
    seed: u64,
    output: &Path,
    policy: Option<&Path>,
    watch: &Watch,
) -> Result<Vec<PathBuf>> {
    let format = FileFormat::of(output)?;
    let ending = output.extension().and_then(|ending| ending.to_str()).unwrap_or("csv");
    let population = output.with_extension(format!("population.{ending}"));
    let marginals = output.with_extension("marginals.csv");
    let companions = subset_companions(
        name_of(output),
        "hierarchies",
        name_of(&population),
        name_of(&marginals),
    );
    let files = placed(companions, output, policy)?;
    // The policy looks for both beside itself.
    let beside = files.first().map_or_else(|| folder(output), |(policy, _)| folder(policy));
    let (population, marginals) =
        (beside.join(name_of(&population)), beside.join(name_of(&marginals)));
    let tables = [output.to_path_buf(), population.clone(), marginals.clone()];
    check_apart(&tables, files.iter().map(|(file, _)| file.as_path()))?;
    let generator = Generator::new(TableKind::Census, rows, seed);
    let (part, everybody) = (Draft::new(output)?, Draft::new(&population)?);
    let mut sink = written(&part, format, &generator.schema())?;
    let mut all = written(&everybody, FileFormat::of(&population)?, &generator.schema())?;
    let mut drafts = drafted(&files)?;
    let mut counts: Vec<BTreeMap<String, u64>> = vec![BTreeMap::new(); CENSUS_KEYS.len()];
    let mut sent = 0;
    for (number, batch) in (0..).zip(generator) {
        let broken = |source| Error::Columnar { file: output.to_path_buf(), source };
        let texts: Vec<Texts> = batch
            .columns()
            .iter()
            .map(Texts::of_array)
            .collect::<Result<_, _>>()
            .map_err(broken)?;
        let column =
            |name: &str| batch.schema().index_of(name).map(|at| &texts[at]).map_err(broken);
        for (counts, key) in counts.iter_mut().zip(CENSUS_KEYS) {
            let texts = column(key)?;
            (0..batch.num_rows())
                .for_each(|row| *counts.entry(texts.get(row).to_string()).or_insert(0) += 1);
        }
        let (age, sex, race) = (column("age")?, column("sex")?, column("race")?);
        // A stream of its own beside those that people are drawn from.
        let mut random = Random::stream(seed ^ SELECTED, number);
        let chosen = (0..batch.num_rows()).map(|row| {
            let age = age.get(row).parse().unwrap_or(0);
            is_in(chance(selection, age, sex.get(row), race.get(row)), &mut random)
        });
        let chosen: BooleanArray = chosen.collect::<Vec<bool>>().into();
        sink.write(filter_record_batch(&batch, &chosen).map_err(broken)?)?;
        sent += batch.num_rows() as u64;
        all.write(batch)?;
        watch.check()?;
        watch.progress("write", sent, Some(rows));
    }
    Box::new(sink).finish()?;
    Box::new(all).finish()?;
    let mut listed = String::from("attribute,value,count\n");
    for (counts, key) in counts.iter().zip(CENSUS_KEYS) {
        counts.iter().for_each(|(value, count)| listed += &format!("{key},{value},{count}\n"));
    }
    drafts.extend([Draft::with(&marginals, &listed)?, everybody, part]);
    publish(drafts)?;
    let written = [output.to_path_buf(), population, marginals].into_iter();
    Ok(written.chain(files.into_iter().map(|(file, _)| file)).collect())
}

/// Tells the stream by which people are chosen from those by which they are drawn.
const SELECTED: u64 = 0x5E1E_C7ED;

fn name_of(file: &Path) -> &str {
    file.file_name().and_then(|name| name.to_str()).unwrap_or("table")
}

fn folder(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).to_path_buf()
}

/// Where companions of a table go: the policy as asked, the others beside it.
fn placed(
    companions: Vec<(String, String)>,
    output: &Path,
    policy: Option<&Path>,
) -> Result<Vec<(PathBuf, String)>> {
    let mut companions = companions.into_iter();
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
    check_apart(
        &files.iter().map(|(file, _)| file.clone()).collect::<Vec<_>>(),
        [output].into_iter(),
    )?;
    for (file, content) in &files {
        // Somebody may have edited it. Comments name the table, which may be another one of the
        // same kind.
        let said = |text: &str| {
            text.lines()
                .filter(|line| !line.starts_with('#'))
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        if std::fs::read(file)
            .is_ok_and(|there| said(&String::from_utf8_lossy(&there)) != said(content))
        {
            return Err(Error::Exists { file: file.clone() });
        }
    }
    Ok(files)
}

/// Drafts of companions, with the folders that they need.
fn drafted(files: &[(PathBuf, String)]) -> Result<Vec<Draft>> {
    let mut drafts = Vec::new();
    for (file, content) in files {
        if files.iter().skip(1).any(|(hierarchy, _)| hierarchy == file) {
            std::fs::create_dir_all(folder(file)).map_err(Error::io(file, "write"))?;
        }
        drafts.push(Draft::with(file, content)?);
    }
    Ok(drafts)
}

/// A table that is written into a draft.
fn written(draft: &Draft, format: FileFormat, schema: &SchemaRef) -> Result<TableWriter> {
    let file = Metered::new(draft.writer()?, &Meter::default());
    TableWriter::new(file, draft.target(), &format, schema)
}
