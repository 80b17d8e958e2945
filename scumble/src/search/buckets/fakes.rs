//! MinSORFake: which fake values make the sum of ranges least?
//!
//! Koudas et al. 2009, section 5.2, algorithm 2, theorem 2, for trees of any arity and any weights.
//! A group may take up to t fake values, put wherever they help most. Neither the number of fakes
//! nor their side can be chosen greedily (examples 2 to 4), so all numbers are tried by dynamic
//! programming.
//!
//! | paper | here |
//! |---|---|
//! | minSORFake(g, k, r, H) | `Table::rows` of a node: at `x` fakes, with `kept` = &#124;g&#124; + x - r subdomains |
//! | (u, v), the maximum pair of ratio a : b | the children's weights times `units` |
//! | x, k - x | the split of the fakes between the children |
//!
//! **The recursion.** Let f(N, x, u) be the least sum of ranges of u subdomains inside N, when x
//! fakes were added to the values of N and all but u values taken away. If c units go to the
//! children, child i keeps c·wᵢ, and
//!
//! f(N, x, u) = min over c of (u - c·Σw)·range(N) + min over x₁ + … + xₖ = x of Σ f(Nᵢ, xᵢ, c·wᵢ)
//!
//! with as many values as are kept: xᵢ ≥ c·wᵢ - nᵢ. The inner minimum is a (min, +)-convolution of
//! rows. For given xᵢ the largest c is the best, as the paper says; over all splits it need not be,
//! so c is minimised over, by a running minimum. The paper's text has three misprints here: the
//! fakes are missing in the root's term, a sum stands for the minimum over x, and the right child
//! gets x instead of k - x.
//!
//! **Fewer states than section 5.3.** A subdomain inside N uses up a whole allocation on every
//! level above it, so at most P(N)·(|g| + t) are ever kept inside N, and only multiples of its
//! weight. On each level of the tree these are |g| + t states, where the paper counts |g| + t·2ᵈ.
//! At a given u more fakes never cost more (one that is taken away again costs nothing), and more
//! than u of them cannot help: rows begin at the fakes that are needed, end where they stop
//! falling, and only their steps are combined.
//!
//! Cost: O((|g| + t)·t²) at the root's children with equal weights, and a quarter of it on each
//! level below.

use super::hierarchy::ROOT;
use super::{Annotated, GroupValues, size};
use crate::error::Result;
use crate::watch::Watch;

/// What some subdomains inside a node cost, by the number of fakes. `costs[i]` is for `first + i`
/// fakes; fewer than `first` are not enough; more than the last cost what the last costs. Never
/// rising.
#[derive(Clone, Debug, Default)]
struct CostRow {
    first: usize,
    costs: Vec<u64>,
    /// How many units went to the children; empty for a leaf.
    units: Vec<u32>,
}

impl CostRow {
    /// The entry that holds for some fakes.
    fn at(&self, fakes: usize) -> Option<usize> {
        Some(fakes.checked_sub(self.first)?.min(self.costs.len() - 1))
    }

    /// Ends the row where it stops falling.
    fn trim(&mut self) {
        let flat =
            self.costs.iter().rev().take_while(|cost| Some(*cost) == self.costs.last()).count();
        self.costs.truncate(self.costs.len() - flat + 1);
        self.units.truncate(self.costs.len());
        // There may be millions of rows, and most of them are short.
        self.costs.shrink_to_fit();
        self.units.shrink_to_fit();
    }
}

/// The least sums of two rows' entries, for at most `limit` fakes together; `None` where more are
/// needed.
fn combine(one: &CostRow, other: &CostRow, limit: usize, watch: &Watch) -> Result<Option<CostRow>> {
    let first = one.first + other.first;
    let room = (limit + 1).checked_sub(first).filter(|room| *room > 0);
    let Some(room) = room else { return Ok(None) };
    let length = (one.costs.len() + other.costs.len() - 1).min(room);
    let mut costs = vec![u64::MAX; length];
    let (short, long) =
        if one.costs.len() < other.costs.len() { (one, other) } else { (other, one) };
    for (skip, cost) in short.costs.iter().enumerate().take(length) {
        // An entry that is no lower than the one before it does nothing that the other does not.
        if skip > 0 && *cost == short.costs[skip - 1] {
            continue;
        }
        watch.check()?;
        for (sum, other) in costs[skip..].iter_mut().zip(&long.costs) {
            *sum = (*sum).min(other.wrapping_add(*cost));
        }
    }
    // Past the end of the longer row its last cost goes on.
    let mut least = u64::MAX;
    for cost in &mut costs {
        least = least.min(*cost);
        *cost = least;
    }
    let mut row = CostRow { first, costs, units: Vec::new() };
    row.trim();
    Ok(Some(row))
}

/// The tables of all nodes for one group.
struct CostTables<'a> {
    hierarchy: &'a Annotated,
    /// Real values inside each node.
    inside: Vec<u64>,
    limit: usize,
    /// For each node but the root, a row for every number of units of the node above.
    rows: Vec<Vec<CostRow>>,
    watch: &'a Watch,
}

impl<'a> CostTables<'a> {
    fn new(
        hierarchy: &'a Annotated,
        group: &GroupValues,
        limit: u32,
        watch: &'a Watch,
    ) -> CostTables<'a> {
        let mut upto = vec![0u64; hierarchy.leaves() as usize + 1];
        for (leaf, count) in group {
            upto[*leaf as usize + 1] += u64::from(*count);
        }
        for leaf in 0..hierarchy.leaves() as usize {
            upto[leaf + 1] += upto[leaf];
        }
        let nodes = hierarchy.nodes();
        let inside = nodes
            .iter()
            .map(|node| upto[node.leaves.end as usize] - upto[node.leaves.start as usize]);
        let inside = inside.collect();
        let rows = vec![Vec::new(); nodes.len()];
        CostTables { hierarchy, inside, limit: limit as usize, rows, watch }
    }

    /// The most units that each node's children can ever be given: whole units of what can be kept
    /// inside the node, with no more fakes than there may be.
    fn most_units(&self) -> Result<Vec<u64>> {
        let nodes = self.hierarchy.nodes();
        let mut most = vec![0u64; nodes.len()];
        for (number, node) in nodes.iter().enumerate().filter(|(_, node)| node.unit > 0) {
            self.watch.check()?;
            let kept = match number as u32 {
                ROOT => self.inside[number] + self.limit as u64,
                _ => (most[node.parent as usize] * node.weight)
                    .min(self.inside[number] + self.limit as u64),
            };
            let lacking = |units: u64| {
                let children = node.children.clone().zip(self.hierarchy.children(number as u32));
                let lack = children.map(|(child, it)| {
                    (units * it.weight).saturating_sub(self.inside[child as usize])
                });
                lack.sum::<u64>()
            };
            let (mut enough, mut too_many) = (0, kept / node.unit + 1);
            while too_many - enough > 1 {
                let middle = enough + (too_many - enough) / 2;
                if lacking(middle) <= self.limit as u64 {
                    enough = middle
                } else {
                    too_many = middle
                }
            }
            most[number] = enough;
        }
        Ok(most)
    }

    /// The children's rows for some units put together, one by one.
    fn combined(&self, number: u32, units: usize, limit: usize) -> Result<Option<Vec<CostRow>>> {
        let children = self.hierarchy.node(number).children.clone();
        let mut together: Vec<CostRow> = Vec::with_capacity(children.len());
        for child in children {
            let row = &self.rows[child as usize][units];
            let next = match together.last() {
                None => Some(row.clone()),
                Some(before) => combine(before, row, limit, self.watch)?,
            };
            let Some(next) = next else { return Ok(None) };
            together.push(next);
        }
        Ok(Some(together))
    }

    /// Fills the rows of a node for `kept` = each of `wanted`, ascending, from those of its
    /// children.
    fn fill(
        &self,
        number: u32,
        most_units: u64,
        wanted: impl Iterator<Item = u64>,
    ) -> Result<Vec<CostRow>> {
        let node = self.hierarchy.node(number);
        let inside = self.inside[number as usize];
        // For each number of fakes the least of (children's costs) - units * unit * range over the
        // units tried so far.
        let mut best = vec![(0i128, 0u32); self.limit + 1];
        let mut tried = 0;
        let mut rows = Vec::new();
        for kept in wanted {
            while node.unit > 0 && tried < most_units && (tried + 1) * node.unit <= kept {
                self.watch.check()?;
                tried += 1;
                let combined = self.combined(number, tried as usize, self.limit)?;
                let Some(row) = combined.and_then(|mut rows| rows.pop()) else { continue };
                let saved = i128::from(tried) * i128::from(node.unit) * i128::from(node.range);
                let last = row.costs.len() - 1;
                for (offset, best) in best[row.first..].iter_mut().enumerate() {
                    let cost = i128::from(row.costs[offset.min(last)]) - saved;
                    if cost < best.0 {
                        *best = (cost, tried as u32);
                    }
                }
            }
            self.watch.check()?;
            let first = kept.saturating_sub(inside) as usize;
            if first > self.limit {
                break;
            }
            let whole = i128::from(kept) * i128::from(node.range);
            // More fakes than subdomains cannot help. Rows of the length that they keep leave no
            // holes in the memory.
            let last = self.limit.min(kept as usize).max(first);
            let length = last - first + 1;
            let (costs, units) = (Vec::with_capacity(length), Vec::with_capacity(length));
            let mut row = CostRow { first, costs, units };
            for (cost, units) in &best[first..=last] {
                row.costs.push((whole + cost) as u64);
                row.units.push(*units);
            }
            row.trim();
            rows.push(row);
        }
        Ok(rows)
    }

    /// Puts `fakes` into the leaves below a node so that `kept` subdomains inside it cost least.
    fn place(&self, number: u32, fakes: usize, units: u32, counts: &mut [u32]) -> Result<()> {
        let node = self.hierarchy.node(number);
        if fakes == 0 {
            return Ok(());
        }
        self.watch.check()?;
        let together =
            if units == 0 { None } else { self.combined(number, units as usize, fakes)? };
        // Fakes that end up as the node itself may have any value inside it.
        let Some(together) = together.filter(|rows| !rows.is_empty()) else {
            counts[node.leaves.start as usize] += fakes as u32;
            return Ok(());
        };
        let mut left = fakes;
        for (position, child) in node.children.clone().enumerate().rev() {
            let row = &self.rows[child as usize][units as usize];
            let given = match position.checked_sub(1) {
                None => left,
                Some(before) => {
                    let before = &together[before];
                    let cost =
                        |row: &CostRow, fakes: usize| row.at(fakes).map(|entry| row.costs[entry]);
                    let most = (row.first + row.costs.len() - 1).min(left);
                    let sum =
                        |given: &usize| Some(cost(row, *given)? + cost(before, left - given)?);
                    let least =
                        (row.first..=most).filter_map(|given| Some((sum(&given)?, given))).min();
                    least.map_or(0, |(_, given)| given)
                }
            };
            left -= given;
            let units = row.at(given).and_then(|entry| row.units.get(entry)).copied().unwrap_or(0);
            self.place(child, given, units, counts)?;
        }
        Ok(())
    }
}

/// The tables of a group, and for each exact number of fakes the least sum of ranges with the
/// root's units.
fn solve<'a>(
    hierarchy: &'a Annotated,
    group: &GroupValues,
    limit: u32,
    watch: &'a Watch,
) -> Result<(CostTables<'a>, Vec<(u64, u32)>)> {
    let mut tables = CostTables::new(hierarchy, group, limit, watch);
    let most_units = tables.most_units()?;
    for number in (1..hierarchy.nodes().len() as u32).rev() {
        let node = hierarchy.node(number);
        let wanted = (0..=most_units[node.parent as usize]).map(|units| units * node.weight);
        tables.rows[number as usize] = tables.fill(number, most_units[number as usize], wanted)?;
    }
    let wanted = (0..=u64::from(limit)).map(|fakes| size(group) + fakes);
    let rows = tables.fill(ROOT, most_units[ROOT as usize], wanted)?;
    let exactly = |(fakes, row): (usize, &CostRow)| {
        row.at(fakes).map(|entry| (row.costs[entry], row.units[entry]))
    };
    let sums = rows.iter().enumerate().filter_map(exactly).collect();
    Ok((tables, sums))
}

/// The bytes that [`choose`] needs at most. A row for `kept` subdomains begins with the fakes that
/// are needed and ends with `kept` of them at the latest.
pub fn memory_needed(
    hierarchy: &Annotated,
    group: &GroupValues,
    limit: u32,
    watch: &Watch,
) -> Result<u64> {
    const ENTRY: u64 = (size_of::<u64>() + size_of::<u32>()) as u64;
    const NODE: u64 = (3 * size_of::<u64>() + size_of::<Vec<CostRow>>()) as u64;
    // What the allocator adds to the two lists of a row.
    const ROW: u64 = size_of::<CostRow>() as u64 + 32;
    let tables = CostTables::new(hierarchy, group, limit, watch);
    let (most_units, limit) = (tables.most_units()?, u64::from(limit));
    let mut bytes = NODE * hierarchy.nodes().len() as u64;
    for (node, inside) in hierarchy.nodes().iter().zip(&tables.inside).skip(1) {
        watch.check()?;
        for units in 0..=most_units[node.parent as usize] {
            let kept = units * node.weight;
            let first = kept.saturating_sub(*inside);
            if first > limit {
                break;
            }
            bytes += ROW + ENTRY * (kept.min(limit).saturating_sub(first) + 1);
        }
    }
    Ok(bytes)
}

/// The least sum of ranges with exactly 0, 1, … `limit` fakes.
pub fn sums(
    hierarchy: &Annotated,
    group: &GroupValues,
    limit: u32,
    watch: &Watch,
) -> Result<Vec<u64>> {
    Ok(solve(hierarchy, group, limit, watch)?.1.into_iter().map(|(sum, _)| sum).collect())
}

/// The fakes, at most `limit`, that make the least sum of ranges: leaves with counts, ascending. Of
/// several numbers that do equally well the least is taken, so a group that gains nothing takes
/// none.
pub fn choose(
    hierarchy: &Annotated,
    group: &GroupValues,
    limit: u32,
    watch: &Watch,
) -> Result<Vec<(u32, u32)>> {
    let (tables, sums) = solve(hierarchy, group, limit, watch)?;
    let best = sums.into_iter().enumerate().min_by_key(|(fakes, (sum, _))| (*sum, *fakes));
    let mut counts = vec![0; hierarchy.leaves() as usize];
    if let Some((fakes, (_, units))) = best {
        tables.place(ROOT, fakes, units, &mut counts)?;
    }
    Ok((0..).zip(counts).filter(|(_, count)| *count > 0).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Bucket, Measure, Shape};
    use super::*;

    /// The uniform distribution over 1 … n in a balanced binary tree.
    fn uniform(n: i64) -> Annotated {
        let values: Vec<i64> = (1..=n).collect();
        Annotated::exact(
            &vec![1; n as usize],
            &Shape::Balanced { arity: 2 },
            Measure::Numbers(&values),
        )
    }

    /// Values of 1 … n as a group.
    fn group(values: &[u32]) -> Vec<(u32, u32)> {
        super::super::merge(&values.iter().map(|value| (value - 1, 1)).collect::<Vec<_>>(), &[])
    }

    /// The best sum of ranges with exactly `fakes` fakes, by trying all of them.
    fn exhaustive(tree: &Annotated, group: &GroupValues, fakes: u32, from: u32) -> u64 {
        if fakes == 0 {
            return Bucket::fill(tree, group, 0, &Watch::default()).unwrap().sum_of_ranges;
        }
        let with =
            |leaf| exhaustive(tree, &super::super::merge(group, &[(leaf, 1)]), fakes - 1, leaf);
        (from..tree.leaves()).map(with).min().unwrap()
    }

    #[test]
    fn example_2_one_fake_is_better_than_two() {
        let (tree, g) = (uniform(8), group(&[1, 3, 5]));
        let best = Bucket::fill(&tree, &g, 2, &Watch::default()).unwrap();
        assert!(matches!(best.fakes[..], [(6 | 7, 1)]), "{best:?}");
        assert_eq!(best.sum_of_ranges, 4);
        assert_eq!(exhaustive(&tree, &g, 1, 0), 4);
        assert!(exhaustive(&tree, &g, 2, 0) > 4);
    }

    #[test]
    fn example_3_a_local_optimum_is_not_the_end() {
        let (tree, g) = (uniform(8), group(&[1, 3, 5, 7]));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|fakes| exhaustive(&tree, &g, fakes, 0)),
            [4, 11, 10, 17, 0]
        );
        assert_eq!(sums(&tree, &g, 4, &Watch::silent()).unwrap(), [4, 11, 10, 17, 0]);
        let best = Bucket::fill(&tree, &g, 4, &Watch::default()).unwrap();
        assert_eq!((best.fakes, best.sum_of_ranges), (group(&[2, 4, 6, 8]), 0));
        // Without the fourth fake none at all is best: four pairs with a range of 1 each.
        let best = Bucket::fill(&tree, &g, 3, &Watch::default()).unwrap();
        assert_eq!((best.fakes, best.sum_of_ranges), (vec![], 4));
    }

    #[test]
    fn example_4_the_fake_8() {
        let g = group(&[1, 1, 1, 2, 3, 4, 5, 6, 7, 9, 9, 11, 11, 13, 13, 15, 15]);
        let tree = uniform(16);
        let cost = |fake: u32| {
            Bucket::fill(&tree, &super::super::merge(&g, &group(&[fake])), 0, &Watch::default())
                .unwrap()
                .sum_of_ranges
        };
        // The paper's 46 holds for the odd fakes on the right; an even one completes a pair and
        // saves 2 more.
        assert_eq!([9, 11, 13, 15].map(cost), [46; 4]);
        assert_eq!([10, 12, 14, 16].map(cost), [44; 4]);
        assert_eq!((1..=16).map(cost).min(), Some(38), "no single fake does better");
        assert_eq!((1..=16).filter(|fake| cost(*fake) == 38).collect::<Vec<_>>(), [8]);
        let best = Bucket::fill(&tree, &g, 1, &Watch::default()).unwrap();
        assert_eq!((best.fakes, best.sum_of_ranges), (group(&[8]), 38));
    }

    #[test]
    fn example_5_exactly_two_fakes() {
        let (tree, g) = (uniform(8), group(&[1, 2, 3, 5, 6, 7, 7]));
        let watch = Watch::silent();
        let tables = CostTables::new(&tree, &g, 2, &watch);
        // With both fakes on the right 3 and 6 values stand on the two sides, so three go to the
        // root.
        assert_eq!((tables.inside[1], tables.inside[2] + 2), (3, 6));
        assert_eq!(
            sums(&tree, &g, 2, &Watch::silent()).unwrap(),
            [0, 1, 2].map(|fakes| exhaustive(&tree, &g, fakes, 0))
        );
    }
}
