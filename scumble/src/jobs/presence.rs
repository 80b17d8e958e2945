//! Releases of tables whose membership is sensitive: the world is read, and a written release is held against it.

use crate::error::{Error, Result};
use crate::policy::{BoundKey, Policy, World, nearest, others};
use crate::privacy::{Presence, Requirement};
use crate::release::{Judgement, Known, Matched, matched, verify_sizes};
use crate::source::encode;
use crate::table::{Cells, Column, Dictionary, Role, Table, Tallies};
use crate::taxonomy::Binding;
use std::sync::Arc;

/// The public table of a policy, where it names one, with only these quasi-identifiers; and the bytes that were read.
pub(super) fn population<'a>(
    policy: &Policy,
    keys: impl Iterator<Item = &'a Column>,
) -> Result<Option<(Table, u64)>> {
    let names: Vec<&str> = keys.map(|column| column.name.as_str()).collect();
    read_population(policy, &names)
}

fn read_population(policy: &Policy, keys: &[&str]) -> Result<Option<(Table, u64)>> {
    let Some(file) = policy.privacy.presence.as_ref().and_then(|asked| asked.population()) else { return Ok(None) };
    let source = super::open(file, None)?;
    let bytes = source.bytes();
    let names: Vec<String> = source.names().map(str::to_string).collect();
    if let Some(absent) = keys.iter().find(|key| !names.iter().any(|name| name == *key)) {
        let nearest = nearest(absent, names.iter().map(String::as_str));
        return Err(Error::NoSuchColumn { file: file.to_path_buf(), column: absent.to_string(), nearest });
    }
    let role = |name: &String| match keys.contains(&name.as_str()) {
        true => Role::QuasiIdentifier,
        false => Role::Identifier,
    };
    Ok(Some((encode(source, &names.iter().map(role).collect::<Vec<_>>())?, bytes)))
}

/// How a written release keeps a presence.
pub(super) struct Presented {
    pub(super) judgements: Vec<Judgement>,
    pub(super) problems: Vec<String>,
    pub(super) bytes: u64,
}

/// Holds the classes of a release, which stand in a file as labels, against the world. `labels[i]` are those of
/// quasi-identifier `keys[i]`, which the classes number.
pub(super) fn judge(policy: &Policy, keys: &[&str], labels: &[&Dictionary], classes: &Cells) -> Result<Presented> {
    let mut presented = Presented { judgements: Vec::new(), problems: Vec::new(), bytes: 0 };
    let Some(asked) = &policy.privacy.presence else { return Ok(presented) };
    let population = read_population(policy, keys)?;
    presented.bytes = population.as_ref().map_or(0, |(_, bytes)| *bytes);
    let Some(world) = policy.world(keys, population.as_ref().map(|(table, _)| table))? else { return Ok(presented) };
    let (mut known, mut leaves) = (Vec::new(), Vec::new());
    for (key, name) in keys.iter().enumerate() {
        let BoundKey { binding, world } =
            world.bind(policy, key, name, &Dictionary::default(), asked.file())?;
        let taxonomy = Arc::new(binding.taxonomy);
        let axis = Binding::axis(policy.hierarchy(name), binding.kind, &binding.numbers, &taxonomy);
        known.push(Known { taxonomy, axis, kind: binding.kind, numbers: binding.numbers });
        leaves.push(world);
    }
    if let World::Population(population, positions) = &world {
        let mut people = Cells::new(keys.len());
        let maps: Vec<&[u32]> = leaves.iter().map(Vec::as_slice).collect();
        let counts = others(population, positions, &maps, &mut people)?;
        let Matched { people, nowhere, several } = matched(&known, labels, classes, &people, &counts);
        if several > 0 {
            presented.problems.push(format!(
                "{several} people of the population belong to several classes; a release must not overlap"
            ));
        }
        let rows = classes.counts().iter().map(|rows| u64::from(*rows));
        let too_many = rows.clone().zip(&people).filter(|(rows, people)| rows > people).count();
        if too_many > 0 {
            presented.problems.push(format!("{too_many} classes have more rows than the population has people"));
        }
        let mut sizes: Vec<u64> = rows.collect();
        let mut others: Vec<u64> =
            people.iter().zip(&sizes).map(|(people, rows)| people.saturating_sub(*rows)).collect();
        if nowhere > 0 {
            // All of them are known to be absent, whatever groups they make.
            sizes.push(0);
            others.push(nowhere);
        }
        let entries: Vec<(u32, u32)> =
            others.iter().map(|others| (0, u32::try_from(*others).unwrap_or(u32::MAX))).collect();
        let tallies = [Tallies::from_parts((0..=entries.len() as u32).collect(), entries)];
        let requirements: Vec<Box<dyn Requirement>> = Presence::within(0, asked.min, asked.max)
            .into_iter()
            .map(|one| Box::new(one) as Box<dyn Requirement>)
            .collect();
        presented.judgements = verify_sizes(&sizes, &tallies, &requirements).privacy;
    }
    Ok(presented)
}
