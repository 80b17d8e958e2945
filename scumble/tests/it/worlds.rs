//! The bounds of queries against every world that fits a small release: none falls outside, and
//! both ends are reached.

use scumble::query::bounds::{Aggregate, Ends, bound};
use scumble::query::filtered::{Choice, bound_filtered};
use scumble::random::Random;

/// The records of one group and its subdomains, which may be more: each is the values that it has.
struct Group {
    records: usize,
    subdomains: Vec<Vec<i64>>,
}

/// Every way to give each record a subdomain of its own and a value in it.
fn worlds(group: &Group) -> Vec<Vec<i64>> {
    fn go(
        left: usize,
        free: &mut Vec<bool>,
        group: &Group,
        values: &mut Vec<i64>,
        found: &mut Vec<Vec<i64>>,
    ) {
        if left == 0 {
            found.push(values.clone());
            return;
        }
        for index in 0..free.len() {
            if !std::mem::replace(&mut free[index], false) {
                continue;
            }
            for value in &group.subdomains[index] {
                values.push(*value);
                go(left - 1, free, group, values, found);
                values.pop();
            }
            free[index] = true;
        }
    }
    let mut found = Vec::new();
    go(group.records, &mut vec![true; group.subdomains.len()], group, &mut Vec::new(), &mut found);
    found
}

/// The answer in one world, twice over and times the number of rows, so that means and medians are
/// whole.
fn answer(aggregate: Aggregate, values: &mut [i64]) -> i64 {
    values.sort_unstable();
    let rows = values.len();
    let times = 2 * rows as i64;
    match aggregate {
        Aggregate::Count => rows as i64 * times,
        Aggregate::Sum => values.iter().sum::<i64>() * times,
        Aggregate::Avg => values.iter().sum::<i64>() * 2,
        Aggregate::Min => values[0] * times,
        Aggregate::Max => values[rows - 1] * times,
        Aggregate::Median => (values[(rows - 1) / 2] + values[rows / 2]) * rows as i64,
    }
}

fn group(random: &mut Random) -> Group {
    let records = random.between(1, 3) as usize;
    let subdomains = records + random.below(2) as usize;
    let domain: Vec<i64> =
        (0..random.between(2, 4)).map(|step| step * step * random.between(1, 4) - 5).collect();
    let mut domain: Vec<i64> = domain.into_iter().collect();
    domain.sort_unstable();
    let subdomain = |random: &mut Random| {
        let from = random.below(domain.len() as u64) as usize;
        let to = random.between(from as i64, domain.len() as i64 - 1) as usize;
        domain[from..=to].to_vec()
    };
    Group { records, subdomains: (0..subdomains).map(|_| subdomain(random)).collect() }
}

#[test]
fn no_world_falls_outside_and_both_ends_are_reached() {
    let mut random = Random::new(3);
    let (mut wide, mut several) = (0, 0);
    for case in 0..300 {
        let groups: Vec<Group> = (0..random.between(1, 2)).map(|_| group(&mut random)).collect();
        // The first records of each group are selected: all selections of one size are alike, which
        // worlds show too.
        let selected: Vec<usize> =
            groups.iter().map(|group| random.below(group.records as u64 + 1) as usize).collect();
        let from: Vec<usize> = groups
            .iter()
            .zip(&selected)
            .map(|(group, selected)| random.below((group.records - selected) as u64 + 1) as usize)
            .collect();
        if selected.iter().sum::<usize>() == 0 {
            continue;
        }
        let ends: Vec<Ends> = groups
            .iter()
            .map(|group| {
                Ends::new(
                    group.subdomains.iter().map(|values| (values[0], values[values.len() - 1], 1)),
                )
            })
            .collect();
        let asked: Vec<(&Ends, u32)> =
            ends.iter().zip(&selected).map(|(ends, selected)| (ends, *selected as u32)).collect();
        let all: Vec<Vec<Vec<i64>>> = groups.iter().map(worlds).collect();
        for (name, aggregate) in Aggregate::NAMES {
            let (mut least, mut greatest) = (i64::MAX, i64::MIN);
            let mut look = |parts: &[&Vec<i64>]| {
                let mut values: Vec<i64> = parts
                    .iter()
                    .zip(&selected)
                    .zip(&from)
                    .flat_map(|((values, selected), from)| &values[*from..from + selected])
                    .copied()
                    .collect();
                let answer = answer(aggregate, &mut values);
                (least, greatest) = (least.min(answer), greatest.max(answer));
            };
            match &all[..] {
                [one] => one.iter().for_each(|one| look(&[one])),
                [one, other] => {
                    one.iter().for_each(|one| other.iter().for_each(|other| look(&[one, other])))
                }
                _ => unreachable!(),
            }
            let found = bound(aggregate, &asked, 0);
            let rows = selected.iter().sum::<usize>();
            let (lower, upper) = found.bounds.unwrap();
            let times = 2.0 * rows as f64;
            // 15 digits are exact enough here: the true numbers are sixths of small integers.
            assert_eq!(
                (lower.rounded_down() * times).round() as i64,
                least,
                "{name} in case {case}"
            );
            assert_eq!(
                (upper.rounded_up() * times).round() as i64,
                greatest,
                "{name} in case {case}"
            );
            assert_eq!(found.rows, rows as u64);
            wide += usize::from(least < greatest);
            several += usize::from(groups.len() > 1);
        }
        // The auxiliary table says the same for each group by itself.
        for (ends, group) in ends.iter().zip(&groups) {
            for line in ends.lines(group.records as u32) {
                for (aggregate, (low, high)) in [
                    (Aggregate::Sum, line.sum),
                    (Aggregate::Min, line.min),
                    (Aggregate::Max, line.max),
                ] {
                    let (lower, upper) =
                        bound(aggregate, &[(ends, line.selected)], 0).bounds.unwrap();
                    assert_eq!(
                        (low as f64, high as f64),
                        (lower.rounded_down(), upper.rounded_up())
                    );
                }
            }
        }
    }
    assert!(wide > 500 && several > 500, "{wide} {several}");
}

/// The answer in one world; `None` for an aggregate of no rows.
fn plain_answer(aggregate: Aggregate, values: &mut [i64]) -> Option<f64> {
    match (aggregate, values.len()) {
        (Aggregate::Count, rows) => Some(rows as f64),
        (_, 0) => None,
        (_, rows) => Some(answer(aggregate, values) as f64 / (2 * rows) as f64),
    }
}

/// Every choice of one item from each list.
fn product<'a>(lists: &'a [Vec<Vec<i64>>]) -> Vec<Vec<&'a Vec<i64>>> {
    lists.iter().fold(vec![Vec::new()], |chosen, list| {
        let longer = chosen.iter().flat_map(|before| {
            list.iter().map(move |item| before.iter().copied().chain([item]).collect())
        });
        longer.collect::<Vec<Vec<&'a Vec<i64>>>>()
    })
}

#[test]
fn bounds_under_a_condition_on_the_value_are_those_of_all_worlds() {
    let mut random = Random::new(11);
    let (mut wide, mut unknown, mut none, mut medians) = (0, 0, 0, 0);
    for case in 0..4000 {
        let groups: Vec<Group> = (0..random.between(1, 2)).map(|_| group(&mut random)).collect();
        let selected: Vec<usize> =
            groups.iter().map(|group| random.below(group.records as u64 + 1) as usize).collect();
        // Any set of values, not only a range.
        let odd = random.below(8);
        let satisfies = |value: i64| (value.rem_euclid(7) + odd as i64).rem_euclid(5) < 3;
        let choice = |values: &Vec<i64>| {
            let kept: Vec<i64> = values.iter().copied().filter(|own| satisfies(*own)).collect();
            let ends = kept.iter().min().zip(kept.iter().max());
            Choice {
                selected: ends.map(|(low, high)| (*low, *high)),
                rejected: kept.len() < values.len(),
                copies: 1,
            }
        };
        let choices: Vec<Vec<Choice>> =
            groups.iter().map(|group| group.subdomains.iter().map(choice).collect()).collect();
        let asked: Vec<(&[Choice], u32)> = choices
            .iter()
            .zip(&selected)
            .map(|(choices, selected)| (&choices[..], *selected as u32))
            .collect();
        let all: Vec<Vec<Vec<i64>>> = groups.iter().map(worlds).collect();
        let worlds: Vec<Vec<i64>> = product(&all)
            .into_iter()
            .map(|parts| {
                let chosen = parts.iter().zip(&selected).flat_map(|(part, rows)| &part[..*rows]);
                chosen.copied().filter(|value| satisfies(*value)).collect()
            })
            .collect();
        unknown += usize::from(worlds.iter().any(Vec::is_empty));
        for (name, aggregate) in Aggregate::NAMES {
            let answers: Vec<f64> = worlds
                .iter()
                .filter_map(|world| plain_answer(aggregate, &mut world.clone()))
                .collect();
            let least = answers.iter().copied().min_by(f64::total_cmp);
            let greatest = answers.iter().copied().max_by(f64::total_cmp);
            let found = bound_filtered(aggregate, &asked, 0);
            assert_eq!(found.rows, selected.iter().sum::<usize>() as u64);
            let found =
                found.bounds.map(|(lower, upper)| (lower.rounded_down(), upper.rounded_up()));
            let Some((least, greatest)) = least.zip(greatest) else {
                assert_eq!(found, None, "{name} in case {case}");
                none += 1;
                continue;
            };
            let (lower, upper) = found.unwrap_or((f64::NAN, f64::NAN));
            assert!(
                (lower - least).abs() < 1e-9 && (upper - greatest).abs() < 1e-9,
                "{name} in case {case}: {lower} to {upper}, but worlds reach {least} to \
                 {greatest}\n{selected:?} {choices:?}"
            );
            wide += usize::from(least < greatest);
            medians += usize::from(aggregate == Aggregate::Median && least.fract() != 0.0);
        }
    }
    assert!(
        wide > 4000 && unknown > 500 && none > 500 && medians > 50,
        "{wide} {unknown} {none} {medians}"
    );
}

/// Without a condition both ways to compute bounds agree.
#[test]
fn a_condition_that_always_holds_changes_no_bound() {
    let mut random = Random::new(12);
    for case in 0..500 {
        let groups: Vec<Group> = (0..3).map(|_| group(&mut random)).collect();
        let ends: Vec<Vec<(i64, i64)>> = groups
            .iter()
            .map(|group| {
                let ends = |values: &Vec<i64>| (values[0], values[values.len() - 1]);
                group.subdomains.iter().map(ends).collect()
            })
            .collect();
        let plain: Vec<Ends> = ends
            .iter()
            .map(|ends| Ends::new(ends.iter().map(|(low, high)| (*low, *high, 2))))
            .collect();
        let choices: Vec<Vec<Choice>> = ends
            .iter()
            .map(|ends| {
                let choice = |ends: &(i64, i64)| Choice {
                    selected: Some(*ends),
                    rejected: false,
                    copies: 2,
                };
                ends.iter().map(choice).collect()
            })
            .collect();
        let records: Vec<u32> =
            groups.iter().map(|group| random.below(2 * group.records as u64 + 1) as u32).collect();
        let plain: Vec<(&Ends, u32)> = plain.iter().zip(records.iter().copied()).collect();
        let filtered: Vec<(&[Choice], u32)> =
            choices.iter().map(Vec::as_slice).zip(records.iter().copied()).collect();
        for (name, aggregate) in Aggregate::NAMES {
            let shown = |answer: scumble::query::Answer| {
                answer.bounds.map(|(lower, upper)| (lower.rounded_down(), upper.rounded_up()))
            };
            assert_eq!(
                shown(bound(aggregate, &plain, 2)),
                shown(bound_filtered(aggregate, &filtered, 2)),
                "{name} in case {case}"
            );
        }
    }
}
