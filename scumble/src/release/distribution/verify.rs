//! The checks of a distribution release.

use super::Distributed;
use super::levels::Levels;
use super::originals::{Held, Originals};
use super::targets::{Domain, Leaves, Wanted};
use crate::error::{Error, Figure, Judged, Result, quoted};
use crate::policy::{Attribute, DistributionAsked, Fakes, Of, Policy};
use crate::release::report::ClassCounts;
use crate::release::verify::{DistributionChecked, Read, check_table};
use crate::release::{Tables, Verification};
use crate::source::{Counts, Source, Texts, ahead};
use crate::table::Role;
use crate::watch::Watch;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The column of the records that names their group.
pub(super) const GROUP: &str = "group";

/// Definition 3.1: whether the subdomains of every group are a generalization of its values. What
/// is not, is said.
fn check_values(released: &Distributed, leaves: &[Leaves<'_>], held: &Held<'_>) -> Vec<String> {
    let mut lookups = vec![0; leaves.len()];
    released.groups.iter().enumerate().for_each(|(at, group)| {
        lookups[group.tree] += held.distinct(at);
    });
    let known: Vec<Vec<Option<u32>>> =
        leaves.iter().zip(lookups).map(|(leaves, lookups)| held.leaf_of(leaves, lookups)).collect();
    let wrong = released.groups.par_iter().enumerate().find_map_first(|(at, group)| {
        let values = held.of_group(at, &leaves[group.tree], &known[group.tree]);
        let fits = values.is_some_and(|values| {
            released.trees[group.tree].is_generalization(&values, &group.subdomains)
        });
        let name = quoted(&group.name);
        (!fits).then(|| {
            format!(
                "the subdomains of group {name} are no generalization of its values (definition \
                 3.1)"
            )
        })
    });
    wrong.into_iter().collect()
}

/// Judges a release from what is written in it; `originals` are the values that its groups had. A
/// release that contradicts itself was judged, and failed.
pub(crate) fn check_distribution(
    tables: &Tables,
    policy: &Policy,
    originals: Option<&Originals>,
    watch: &Watch,
) -> Result<Verification> {
    match judge(tables, policy, originals, watch) {
        Err(Error::Mismatch { file, problem }) if file.starts_with(tables.name()) => {
            let file = file.file_name().unwrap_or_default().display().to_string();
            let problems = vec![format!("{file}: {problem}")];
            Ok(Verification::failed(tables.name().to_path_buf(), problems))
        }
        other => other,
    }
}

/// The policy's distribution.
fn asked(policy: &Policy) -> Result<&DistributionAsked> {
    policy.privacy().distribution.as_ref().ok_or_else(|| Error::Incomplete {
        file: policy.file().to_path_buf(),
        missing: "no `distribution` under [privacy], but the release is a distribution".into(),
    })
}

fn judge(
    tables: &Tables,
    policy: &Policy,
    originals: Option<&Originals>,
    watch: &Watch,
) -> Result<Verification> {
    let asked = asked(policy)?;
    let released = Distributed::read(tables, policy.notation(&asked.attribute), watch)?;
    let table = tables.get("records")?;
    let (records, mut problems) =
        count_records(&*policy.plain_release(table), policy, asked, watch)?;
    problems.extend(check_groups(&released, &records, policy, asked)?);
    let (failing, torn) = check_subdomains(&released);
    problems.extend(torn);
    watch.check()?;
    let held = match originals.map(|own| own.held(&records, &released, watch)).transpose()? {
        None => None,
        Some(Ok(held)) => Some(held),
        Some(Err(difference)) => {
            problems.push(difference);
            None
        }
    };
    let leaves: Vec<Leaves<'_>> =
        released.trees.iter().map(|tree| Leaves::new(tree, released.scale)).collect();
    let all_checked =
        check_targets(&released, &leaves, policy, asked, held.as_ref(), &mut problems);
    problems.extend(check_bounds(tables.get("bounds")?, &released, watch)?);
    if let Some(held) = &held {
        problems.extend(check_values(&released, &leaves, held));
    }
    let mut privacy = vec![Judged {
        requirement: "distribution".into(),
        kind: None,
        sensitive: Some(asked.attribute.clone()),
        target: Some(asked.target.name()),
        required: Figure(0.0),
        parameters: BTreeMap::new(),
        achieved: Some(Figure(failing as f64)),
        satisfied: failing == 0,
        failing_classes: 0,
        worst: None,
    }];
    let (rows, groups) = (records.rows(), released.groups.len() as u64);
    let smallest = released.groups.iter().map(|group| group.records).min().unwrap_or(0);
    let average = |classes: u64| if classes == 0 { 0.0 } else { rows as f64 / classes as f64 };
    // If quasi-identifiers stay, people are told apart by nothing but the buckets of their groups.
    let mut classes = ClassCounts {
        classes: groups,
        smallest_class: smallest,
        average_class: average(groups),
        groups: Some(groups),
        smallest_group: Some(smallest),
    };
    let mut same_value = Vec::new();
    let mut notes = Vec::new();
    if policy.privacy().asks_for_classes() {
        let checked =
            check_table(table, &records_policy(policy, asked, &table.names())?, None, None, watch)?;
        privacy.extend(checked.verified.judged(&checked.counted));
        same_value = checked.same_value;
        classes.classes = checked.verified.classes;
        classes.smallest_class = checked.verified.smallest;
        classes.average_class = average(checked.verified.classes);
        // Identifiers were found already.
        let new = checked.problems.into_iter().filter(|problem| !problems.contains(problem));
        let new: Vec<String> = new.collect();
        problems.extend(new);
        notes = checked.notes;
    }
    let distribution = DistributionChecked {
        groups,
        fakes: released.groups.iter().map(|group| group.len().saturating_sub(group.records)).sum(),
        sum_of_ranges: sum_of_ranges(&released),
        share_of_trivial: share_of_trivial(&released),
        compared_with_original: originals.is_some(),
        target_checked: all_checked,
    };
    let satisfied = problems.is_empty() && privacy.iter().all(|judged| judged.satisfied);
    Ok(Verification {
        released: rows,
        classes,
        privacy,
        same_value,
        distribution: Some(distribution),
        satisfied,
        io: Read { bytes_read: tables.bytes_read() },
        problems,
        notes,
        file: tables.name().to_path_buf(),
    })
}

/// The ranges of all subdomains, summed.
fn sum_of_ranges(released: &Distributed) -> f64 {
    let of_group = |group: &super::ReadGroup| {
        let ranges = group.subdomains.iter().map(|(node, copies)| {
            released.trees[group.tree].range(*node) as f64 * f64::from(*copies)
        });
        ranges.collect::<Vec<f64>>()
    };
    let sum: f64 = released.groups.iter().flat_map(of_group).sum();
    sum / 10f64.powi(released.scale.unwrap_or(0) as i32)
}

/// The share of the sum of ranges in what it would be if every subdomain were the whole domain. If
/// the domain has a single value, it is that.
fn share_of_trivial(released: &Distributed) -> f64 {
    let (mut own, mut trivial) = (0.0, 0.0);
    for group in &released.groups {
        let tree = &released.trees[group.tree];
        let range = |(node, copies): &(u32, u32)| tree.range(*node) as f64 * f64::from(*copies);
        own += group.subdomains.iter().map(range).sum::<f64>();
        trivial += tree.range(0) as f64 * group.len() as f64;
    }
    if trivial > 0.0 { own / trivial } else { 1.0 }
}

/// A policy for the records alone: without the sensitive attribute, with the column of the groups.
fn records_policy(
    policy: &Policy,
    asked: &DistributionAsked,
    columns: &[String],
) -> Result<Policy> {
    // A pattern that only the sensitive attribute matches is about no column that is left.
    let is_about_it_only = |attribute: &&Attribute| {
        attribute.covers(&asked.attribute) && !columns.iter().any(|column| attribute.covers(column))
    };
    let of_attribute = policy.attributes().iter().filter(is_about_it_only);
    of_attribute
        .fold(policy.edit(), |policy, section| policy.remove(["attributes", &section.name]))
        .remove(["privacy", "distribution"])
        .remove(["attributes", &asked.attribute])
        .remove(["attributes", GROUP])
        .insensitive(GROUP)
        .build()
}

/// The columns that the owner's groups are made of, with their levels.
fn owner_columns(
    policy: &Policy,
    asked: &DistributionAsked,
    keys: &[String],
) -> Vec<(String, usize)> {
    // Classes that a search made are groups by themselves.
    if asked.groups.is_empty() && policy.privacy().asks_for_classes() {
        return keys.iter().map(|name| (name.clone(), 0)).collect();
    }
    asked.groups.clone()
}

/// The name of an owner's group from the labels of its columns.
pub(super) fn owner_name<'a>(labels: impl ExactSizeIterator<Item = &'a str>) -> String {
    let several = labels.len() > 1;
    let part = |label: &str| match label {
        "" => "(missing)".to_string(),
        // A bar inside a label is told from the bars between columns.
        label if several => label.replace('\\', "\\\\").replace('|', "\\|"),
        label => label.to_string(),
    };
    let parts: Vec<String> = labels.map(part).collect();
    if parts.is_empty() { "all".into() } else { parts.join("|") }
}

/// Whether the records of a group have a column by which they are told from others: the owner's
/// groups are made of it, or it is a quasi-identifier and those matter.
pub(super) fn is_compared(
    policy: &Policy,
    asked: &DistributionAsked,
    name: &str,
    role: Role,
) -> bool {
    let parted = asked.is_parted(policy.search().algorithm);
    let all_keys = parted || policy.privacy().asks_for_classes();
    let is_owner = asked.groups.iter().any(|(own, _)| own == name);
    name != GROUP && (is_owner || (all_keys && role == Role::QuasiIdentifier))
}

/// The records by group, by what the owner's groups are made of and by quasi-identifiers where they
/// matter; and what must not be among them.
fn count_records(
    table: &dyn Source,
    policy: &Policy,
    asked: &DistributionAsked,
    watch: &Watch,
) -> Result<(Counts, Vec<String>)> {
    let (names, file) = (table.names(), table.file());
    let mut problems = Vec::new();
    if names.contains(&asked.attribute) {
        let name = quoted(&asked.attribute);
        problems.push(format!("the records contain the sensitive attribute {name}"));
    }
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles = records_policy(policy, asked, &names)?.roles(&borrowed, &file, true)?;
    for (name, _) in names.iter().zip(&roles).filter(|(_, role)| **role == Role::Identifier) {
        problems.push(format!("the release contains the identifier {}", quoted(name)));
    }
    let Some(group) = names.iter().position(|name| name == GROUP) else {
        let problem = "the records have no column `group`".into();
        return Err(Error::Mismatch { file, problem });
    };
    let is_read = |column: &usize| is_compared(policy, asked, &names[*column], roles[*column]);
    let keys: Vec<usize> = [group].into_iter().chain((0..names.len()).filter(is_read)).collect();
    Ok((table.count(&keys, watch)?, problems))
}

/// Whether groups have the size they say, are made as the policy asks, and have no more fakes than
/// it allows.
fn check_groups(
    released: &Distributed,
    records: &Counts,
    policy: &Policy,
    asked: &DistributionAsked,
) -> Result<Vec<String>> {
    let mut problems = check_sizes(released, records, asked);
    if !problems.is_empty() {
        return Ok(problems);
    }
    let parted = asked.is_parted(policy.search().algorithm);
    let group_of: HashMap<&str, usize> =
        released.groups.iter().enumerate().map(|(at, group)| (group.name.as_str(), at)).collect();
    // A column `group` of the owner's own is no longer there.
    if !asked.groups.iter().any(|(name, _)| name == GROUP) {
        let labels = match owner_labels(records, policy, asked)? {
            Ok(labels) => labels,
            Err(problem) => return Ok(vec![problem]),
        };
        for codes in records.cells().tuples() {
            let group = &released.groups[group_of[records.dictionary(0).value(codes[0])]];
            let parts = labels.iter().map(|(column, labels)| match labels {
                Some(labels) => labels[codes[*column] as usize].as_str(),
                None => records.dictionary(*column).value(codes[*column]),
            });
            let owner = owner_name(parts);
            if owner != group.part_of {
                let name = quoted(&group.name);
                problems.push(format!("group {name} has records of group {}", quoted(&owner)));
                break;
            }
        }
    }
    if parted {
        let declared = |name: &str| {
            let role = policy.attribute(name).and_then(|attribute| attribute.role);
            role.or(policy.default_role()) == Some(Role::QuasiIdentifier)
        };
        let keys: Vec<usize> = (1..records.names().len())
            .filter(|column| declared(&records.names()[*column]))
            .collect();
        let mut tuple_of: HashMap<u32, Vec<u32>> = HashMap::new();
        for codes in records.cells().tuples() {
            let tuple: Vec<u32> = keys.iter().map(|column| codes[*column]).collect();
            if tuple_of.entry(codes[0]).or_insert_with(|| tuple.clone()) != &tuple {
                let name = quoted(records.dictionary(0).value(codes[0]));
                problems.push(format!("group {name} has records with different quasi-identifiers"));
                break;
            }
        }
    } else if released.groups.iter().any(|group| group.name != group.part_of) {
        problems.push("groups are split, but the policy does not use qi-sa".into());
    }
    Ok(problems)
}

/// For each column that owner's groups are made of: its position among the counted ones, and its
/// labels where they are more general than its values; or what is wrong with a value.
fn owner_labels(
    records: &Counts,
    policy: &Policy,
    asked: &DistributionAsked,
) -> Result<Result<Vec<OwnerLabels>, String>> {
    let file = std::path::Path::new("records");
    let mut labels = Vec::new();
    for (name, level) in owner_columns(policy, asked, &records.names()[1..]) {
        let at = records.names().iter().position(|known| *known == name);
        let at = at.ok_or_else(|| Error::Mismatch {
            file: file.to_path_buf(),
            problem: format!("no column {}", quoted(&name)),
        })?;
        if level == 0 {
            labels.push((at, None));
            continue;
        }
        let values = records.dictionary(at);
        let levels = Levels::new(policy, &name, values);
        if level > levels.height {
            return Err(Error::BadParameter {
                place: None,
                key: "privacy.distribution.groups".into(),
                value: format!("{name}={level}"),
                expected: format!("a level from 0 to {}", levels.height),
            });
        }
        let mut of_level = Vec::with_capacity(values.len());
        for value in values.values() {
            let Some(label) = levels.label(value, level) else {
                let (value, name) = (quoted(value), quoted(&name));
                return Ok(Err(format!("{value} is not in the hierarchy of {name}")));
            };
            of_level.push(label);
        }
        labels.push((at, Some(of_level)));
    }
    Ok(Ok(labels))
}

/// The position of a column, and what each of its values is called if not by itself.
type OwnerLabels = (usize, Option<Vec<String>>);

/// The most fakes that a group of some size may have. A share is rounded down.
fn most_fakes(fakes: Fakes, records: u64) -> u64 {
    match fakes {
        Fakes::Number(number) => number.into(),
        Fakes::Share(share) => {
            let most = u128::from(records) * u128::from(share.numerator());
            u64::try_from(most / u128::from(share.denominator())).unwrap_or(u64::MAX)
        }
    }
}

/// Whether groups have the size they say, and no more fakes than the policy allows.
fn check_sizes(released: &Distributed, records: &Counts, asked: &DistributionAsked) -> Vec<String> {
    let mut problems = Vec::new();
    let mut counted: HashMap<&str, u64> = HashMap::new();
    for (codes, rows) in records.cells().tuples().zip(records.cells().counts()) {
        *counted.entry(records.dictionary(0).value(codes[0])).or_default() += u64::from(*rows);
    }
    let known: HashSet<&str> = released.groups.iter().map(|group| group.name.as_str()).collect();
    for name in records.dictionary(0).values().filter(|name| !known.contains(name)) {
        problems.push(format!("the records have the unknown group {}", quoted(name)));
    }
    for group in &released.groups {
        let counted = counted.get(group.name.as_str()).copied().unwrap_or(0);
        let (name, subdomains) = (quoted(&group.name), group.len());
        if counted != group.records {
            problems.push(format!(
                "group {name} has {counted} records, but groups.csv says {}",
                group.records
            ));
        } else if subdomains < counted {
            problems.push(format!(
                "group {name} has {counted} records, but only {subdomains} subdomains"
            ));
        } else if subdomains - counted > most_fakes(asked.fakes, counted) {
            let fakes = subdomains - counted;
            problems.push(format!("group {name} has more fakes than the policy allows: {fakes}"));
        } else if subdomains != group.said {
            let said = group.said;
            problems.push(format!(
                "group {name} has {subdomains} subdomains, but groups.csv says {said}"
            ));
        }
        if problems.len() > 10 {
            break;
        }
    }
    problems
}

/// The number of groups whose subdomains do not follow their target, and what is wrong with the
/// first.
fn check_subdomains(released: &Distributed) -> (u64, Option<String>) {
    let groups = released.groups.par_iter();
    let torn: Vec<(usize, u32)> = groups
        .enumerate()
        .filter_map(|(at, group)| Some((at, released.trees[group.tree].torn(&group.subdomains)?)))
        .collect();
    let first = torn.first().map(|(at, node)| {
        let group = &released.groups[*at];
        let node = quoted(&released.trees[group.tree].labels[*node as usize]);
        let name = quoted(&group.name);
        format!(
            "the subdomains of group {name} do not follow its target below {node} (definition 3.2)"
        )
    });
    (torn.len() as u64, first)
}

/// Whether the trees in the release are the policy's targets of the groups that point to them;
/// returns whether all could be checked.
fn check_targets(
    released: &Distributed,
    leaves: &[Leaves<'_>],
    policy: &Policy,
    asked: &DistributionAsked,
    held: Option<&Held<'_>>,
    problems: &mut Vec<String>,
) -> bool {
    let domain = Domain::new(policy, asked, held);
    // Targets are told apart by their places in the policy: two may have the same name.
    let place_of: HashMap<&str, usize> =
        asked.targets.iter().zip(0..).map(|((name, _), at)| (name.as_str(), at)).collect();
    let mut parts_of: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, group) in released.groups.iter().enumerate() {
        parts_of.entry(&group.part_of).or_default().push(at);
    }
    let mut smallest = vec![u64::MAX; released.trees.len()];
    for group in &released.groups {
        smallest[group.tree] = smallest[group.tree].min(group.records);
    }
    let mut all_checked = true;
    let mut seen = HashSet::new();
    for group in &released.groups {
        let place = place_of.get(group.part_of.as_str());
        let target = place.map_or(&asked.target, |place| &asked.targets[*place].1);
        // A target of the group's own values is another one for each of the owner's groups.
        let own = (target.of == Of::Group).then_some(group.part_of.as_str());
        if !seen.insert((group.tree, place, own)) {
            continue;
        }
        let leaves = &leaves[group.tree];
        let counts = held.map(|held| match own {
            None => held.in_table(leaves),
            Some(owner) => held.in_groups(leaves, &parts_of[owner]),
        });
        let counts = counts.as_ref().map(|(counts, rows)| (&counts[..], *rows));
        let smallest = smallest[group.tree];
        let wanted = Wanted { target, rounding: asked.rounding, smallest, domain: &domain };
        match wanted.is_target(leaves, counts) {
            None => all_checked = false,
            Some(true) => {}
            Some(false) => problems.push(format!(
                "the target weights of group {} differ from those of {}",
                quoted(&group.name),
                quoted(&target.name())
            )),
        }
    }
    all_checked
}

/// The columns of the auxiliary table behind the group.
const BOUNDS: [&str; 7] =
    ["selected", "sum_lower", "sum_upper", "min_lower", "min_upper", "max_lower", "max_upper"];

/// The lines of the auxiliary table that the subdomains imply, group by group.
struct Expected<'a> {
    released: &'a Distributed,
    group: usize,
    selected: u64,
    /// The lower ends of the group's subdomains, ascending, and the upper ends, descending.
    lows: Vec<i64>,
    highs: Vec<i64>,
    sums: (i64, i64),
}

impl<'a> Expected<'a> {
    fn new(released: &'a Distributed) -> Expected<'a> {
        let (lows, highs) = (Vec::new(), Vec::new());
        let mut expected = Expected { released, group: 0, selected: 0, lows, highs, sums: (0, 0) };
        expected.enter();
        expected
    }

    /// Prepares the lines of the current group.
    fn enter(&mut self) {
        self.lows.clear();
        self.highs.clear();
        (self.selected, self.sums) = (0, (0, 0));
        let Some(group) = self.released.groups.get(self.group) else { return };
        for (lower, upper, copies) in self.released.ends(group) {
            self.lows.extend(std::iter::repeat_n(lower, copies as usize));
            self.highs.extend(std::iter::repeat_n(upper, copies as usize));
        }
        self.lows.sort_unstable();
        self.highs.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// The next line: the group's name and the numbers behind it; `None` at the end.
    fn next(&mut self) -> Option<(&'a str, [i64; 7])> {
        loop {
            let group = self.released.groups.get(self.group)?;
            if self.selected == group.records.min(group.len()) {
                self.group += 1;
                self.enter();
                continue;
            }
            let at = self.selected as usize;
            self.selected += 1;
            let mut numbers = [self.selected as i64, 0, 0, 0, 0, 0, 0];
            if self.released.scale.is_some() {
                // A forged release may have sums that do not fit; it must not end the program.
                let (low, high) = (self.lows[at], self.highs[at]);
                self.sums = (self.sums.0.saturating_add(low), self.sums.1.saturating_add(high));
                let (sums, least, greatest) = (self.sums, self.lows[0], self.highs[0]);
                numbers[1..].copy_from_slice(&[sums.0, sums.1, least, high, low, greatest]);
            }
            return Some((&group.name, numbers));
        }
    }
}

/// A decimal number in units of 10^-scale; `None` if it is not one, or has more decimals.
fn units(text: &str, scale: u32) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction_digits = fraction.len() as u32;
    if whole.is_empty() || fraction_digits > scale {
        return None;
    }
    let mut number: i64 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number = number.checked_mul(10)?.checked_add(digit.into())?;
    }
    let number = number.checked_mul(10i64.checked_pow(scale - fraction_digits)?)?;
    Some(if negative { -number } else { number })
}

/// Whether the auxiliary table is what the subdomains imply, line by line.
fn check_bounds(
    table: &dyn Source,
    released: &Distributed,
    watch: &Watch,
) -> Result<Option<String>> {
    let wrong = || Ok(Some("bounds.csv does not match sensitive.csv".to_string()));
    let columns = if released.scale.is_some() { &BOUNDS[..] } else { &BOUNDS[..1] };
    let wanted = [GROUP].iter().chain(columns);
    if !table.names().iter().map(String::as_str).eq(wanted.copied()) {
        return wrong();
    }
    let mut expected = Expected::new(released);
    let file = table.file();
    let fits = ahead(table.texts(&vec![true; columns.len() + 1])?, watch, |batches| {
        for batch in batches {
            let batch = batch?;
            let texts = batch.columns.iter().map(Texts::of).collect::<Result<Vec<Texts>, _>>();
            let texts = texts.map_err(|source| Error::Columnar { file: file.clone(), source })?;
            for row in 0..batch.rows {
                let Some((name, numbers)) = expected.next() else { return Ok(false) };
                let is_same = |(at, number): (usize, &i64)| {
                    let scale = if at == 0 { 0 } else { released.scale.unwrap_or(0) };
                    units(texts[at + 1].get(row), scale) == Some(*number)
                };
                let mut numbers = numbers[..columns.len()].iter().enumerate();
                if texts[0].get(row) != name || !numbers.all(is_same) {
                    return Ok(false);
                }
            }
        }
        Ok(expected.next().is_none())
    })?;
    if fits { Ok(None) } else { wrong() }
}
