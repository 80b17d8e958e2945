//! The subdomains, groups, hierarchies and bounds of a distribution release.

use super::bounds;
use super::lines::{Lines, rendered};
use super::plan::Plan;
use crate::error::{Error, Result};
use crate::query::Ends;
use crate::release::{FolderDraft, push_field};
use crate::search::buckets::{Bucket, Distributed};
use crate::table::push_decimal;
use rayon::prelude::*;
use std::io::Write;

/// Writes the subdomains, the groups and the hierarchies; returns the bytes.
pub(super) fn buckets(
    draft: &FolderDraft,
    plan: &Plan<'_>,
    found: &Distributed<'_>,
    names: &[String],
    records: &[u32],
) -> Result<u64> {
    let labels: Vec<_> = plan
        .targets
        .par_iter()
        .map(|target| {
            let nodes = 0..target.hierarchy.nodes().len() as u32;
            let labels: Vec<String> = nodes.map(|node| plan.domain.label(target, node)).collect();
            rendered(labels.iter().map(String::as_str), 1, "\n")
        })
        .collect();
    let group_names = rendered(names.iter().map(String::as_str), 0, "");
    let weights: Vec<u64> = found.buckets.iter().map(Bucket::len).collect();
    let target_of = |group: usize| plan.target_of[found.part_of[group] as usize];
    let mut lines = Lines::create(draft, "sensitive.csv", "group,value")?;
    let lines_of = |group: usize| weights[group];
    lines.write_all(names.len(), lines_of, |groups, page| {
        for group in groups {
            let labels = &labels[target_of(group) as usize];
            for (node, copies) in &found.buckets[group].subdomains {
                let start = page.bytes().len();
                group_names.push(page, group as u32);
                labels.push(page, *node);
                page.repeat(start, *copies);
            }
        }
    })?;
    let mut written = lines.finish();
    let owners = rendered(plan.names.iter().map(String::as_str), 1, "");
    let mut lines = Lines::create(draft, "groups.csv", "group,part_of,target,records,subdomains")?;
    lines.write_all(
        names.len(),
        |_| 1,
        |groups, page| {
            for group in groups {
                group_names.push(page, group as u32);
                owners.push(page, found.part_of[group]);
                let rest =
                    format!(",{},{},{}\n", target_of(group) + 1, records[group], weights[group]);
                page.push(rest.as_bytes());
            }
        },
    )?;
    written += lines.finish();
    let mut lines =
        Lines::create(draft, "hierarchy.csv", "target,value,parent,weight,lower,upper")?;
    for (number, target) in (1..).zip(&plan.targets) {
        let label = |node: u32| plan.domain.label(target, node);
        let mut bytes = Vec::new();
        for (at, node) in (0..).zip(target.hierarchy.nodes()) {
            let parent = if at == 0 { String::new() } else { label(node.parent) };
            for (position, field) in
                [format!("{number}"), label(at), parent, node.weight.to_string()].iter().enumerate()
            {
                push_field(&mut bytes, field, position, b',');
            }
            for leaf in [node.leaves.start, node.leaves.end - 1] {
                bytes.push(b',');
                if let Some(numbers) = &plan.domain.numbers {
                    push_decimal(
                        &mut bytes,
                        numbers.units[target.codes[leaf as usize] as usize],
                        numbers.scale,
                    );
                }
            }
            bytes.push(b'\n');
        }
        lines.write(&bytes)?;
    }
    Ok(written + lines.finish())
}

/// Writes the auxiliary table; returns the bytes.
pub(super) fn bounds(
    draft: &FolderDraft,
    plan: &Plan<'_>,
    found: &Distributed<'_>,
    names: &[String],
    records: &[u32],
) -> Result<u64> {
    let numbers = plan.domain.numbers.as_ref();
    let mut lines = Lines::create(draft, "bounds.csv", &bounds::header(numbers.is_some()))?;
    lines.write_all(
        names.len(),
        |group| records[group].into(),
        |groups, page| {
            for group in groups {
                let target = &plan.targets[plan.target_of[found.part_of[group] as usize] as usize];
                let ends = numbers.map(|numbers| {
                    let end = |leaf: u32| numbers.units[target.codes[leaf as usize] as usize];
                    Ends::new(found.buckets[group].subdomains.iter().map(|(node, copies)| {
                        let leaves = &target.hierarchy.node(*node).leaves;
                        (end(leaves.start), end(leaves.end - 1), *copies)
                    }))
                });
                bounds::push_lines(
                    page,
                    &names[group],
                    ends.as_ref(),
                    records[group],
                    plan.domain.scale(),
                );
            }
        },
    )?;
    Ok(lines.finish())
}

/// Writes a small file.
pub(super) fn text(draft: &FolderDraft, name: &'static str, content: &str) -> Result<u64> {
    let mut file = draft.create(name)?;
    file.write_all(content.as_bytes()).map_err(Error::io(&draft.target().join(name), "write"))?;
    Ok(content.len() as u64)
}
