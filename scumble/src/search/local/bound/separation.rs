//! Which labels have rows that are priced too high?
//!
//! A depth-first walk chooses a label for one column after the other and keeps the tuples that are
//! covered, dearest first. Three things keep it short:
//!
//! - If the `k` dearest rows covered so far are cheap enough for the labels chosen so far, nothing
//!   below can be wrong: it covers fewer rows and costs more.
//! - A tuple so cheap that even with the `k - 1` dearest rows it is cheap enough cannot be among
//!   the `k` dearest of a label that is wrong, and leaves the list.
//! - A node of a tree is tried only if the tuples lie below several of its children. Otherwise the
//!   child covers the same for less.

use super::columns::{Layer, Menu, Ranges, Tuples};
use super::effort::Effort;
use crate::error::Result;
use std::cmp::Reverse;

/// Rows whose prices may not sum to more than a label allows.
#[derive(Clone, Debug)]
pub struct Ceiling {
    /// Tuples, each with the number of its rows.
    pub rows: Vec<(u32, u64)>,
    /// What their prices may sum to.
    pub most: u64,
}

impl Ceiling {
    /// What the prices of the rows sum to.
    pub fn sum(&self, prices: &[u64]) -> u64 {
        self.rows.iter().map(|(tuple, rows)| prices[*tuple as usize] * rows).sum()
    }
}

/// Looks for rows that are priced too high.
#[derive(Debug)]
pub struct Separation<'a> {
    tuples: &'a Tuples,
    /// The least number of rows of a class.
    least: u64,
    /// The column that is looked at in each depth: those with few labels first.
    order: Vec<usize>,
    /// By rank, dearest first: the number of each tuple, its price and its rows.
    numbers: Vec<u32>,
    prices: Vec<u64>,
    rows: Vec<u64>,
    /// For each depth, the code of each rank.
    codes: Vec<Vec<u32>>,
    /// Lists in use, by depth.
    lists: Vec<Vec<u32>>,
    found: Vec<Ceiling>,
}

impl<'a> Separation<'a> {
    /// Over tuples whose classes need at least `least` rows.
    pub fn new(tuples: &'a Tuples, least: u64) -> Separation<'a> {
        let width = tuples.menus.len();
        let mut order: Vec<usize> = (0..width).collect();
        let labels = |column: usize| match &tuples.menus[column] {
            Menu::Layers(layers) => (0, layers[0].costs.len()),
            Menu::Ranges(ranges) => (1, ranges.groups),
        };
        order.sort_by_key(|column| labels(*column));
        Separation {
            tuples,
            least,
            order,
            numbers: Vec::new(),
            prices: Vec::new(),
            rows: Vec::new(),
            codes: vec![Vec::new(); width],
            lists: vec![Vec::new(); width],
            found: Vec::new(),
        }
    }

    /// All that is priced too high; nothing if the effort was not enough to find out.
    pub fn run(&mut self, prices: &[u64], effort: &mut Effort<'_>) -> Result<Option<Vec<Ceiling>>> {
        self.numbers.clear();
        self.numbers.extend(0..self.tuples.len() as u32);
        self.numbers.sort_unstable_by_key(|tuple| (Reverse(prices[*tuple as usize]), *tuple));
        let by_rank = |values: &[u64]| -> Vec<u64> {
            self.numbers.iter().map(|tuple| values[*tuple as usize]).collect()
        };
        (self.prices, self.rows) = (by_rank(prices), by_rank(&self.tuples.rows));
        for (codes, column) in self.codes.iter_mut().zip(&self.order) {
            let of_tuple = &self.tuples.codes[*column];
            codes.clear();
            codes.extend(self.numbers.iter().map(|tuple| of_tuple[*tuple as usize]));
        }
        self.found.clear();
        let all: Vec<u32> = (0..self.tuples.len() as u32).collect();
        let is_complete = self.choose(0, &all, 0, effort)?;
        Ok(is_complete.then(|| std::mem::take(&mut self.found)))
    }

    /// The sum of the dearest rows, and that of all but the last of them; nothing if there are too
    /// few.
    #[inline(always)]
    fn dearest(&self, list: &[u32]) -> Option<(u64, u64)> {
        let (mut left, mut sum) = (self.least, 0);
        for rank in list {
            let (rows, price) = (self.rows[*rank as usize], self.prices[*rank as usize]);
            if rows >= left {
                return Some((sum + price * left, sum + price * (left - 1)));
            }
            sum += price * rows;
            left -= rows;
        }
        None
    }

    /// Chooses a label in one more column. Says whether the walk may go on.
    fn choose(
        &mut self,
        depth: usize,
        list: &[u32],
        cost: u64,
        effort: &mut Effort<'_>,
    ) -> Result<bool> {
        if depth == self.order.len() {
            self.note(list, cost);
            return Ok(true);
        }
        let tuples = self.tuples;
        match &tuples.menus[self.order[depth]] {
            Menu::Layers(layers) => self.nodes(depth, layers, list, cost, effort),
            Menu::Ranges(ranges) => self.ranges(depth, ranges, list, cost, effort),
        }
    }

    fn nodes(
        &mut self,
        depth: usize,
        layers: &[Layer],
        list: &[u32],
        cost: u64,
        effort: &mut Effort<'_>,
    ) -> Result<bool> {
        let Some((dearest, _)) = self.dearest(list) else { return Ok(true) };
        let mut parted = std::mem::take(&mut self.lists[depth]);
        let mut ends: Vec<u32> = Vec::new();
        let mut goes_on = true;
        for (number, layer) in layers.iter().enumerate() {
            if !goes_on || dearest <= self.least * (cost + layer.least) {
                continue;
            }
            goes_on = effort.spend(list.len() as u64 + 1)?;
            self.part(depth, layer, list, &mut parted, &mut ends);
            let mut start = 0;
            for end in &ends {
                let part = &parted[start..*end as usize];
                start = *end as usize;
                let below = number.checked_sub(1).map(|below| &layers[below].node_of);
                if goes_on && below.is_none_or(|below| self.is_spread(depth, below, part)) {
                    let node = layer.node_of[self.codes[depth][part[0] as usize] as usize];
                    let cost = cost + layer.costs[node as usize];
                    goes_on = self.enter(depth, part, cost, effort)?;
                }
            }
        }
        self.lists[depth] = parted;
        Ok(goes_on)
    }

    /// Sorts a list by node, dearest first below each, and notes where each node's part ends.
    fn part(
        &self,
        depth: usize,
        layer: &Layer,
        list: &[u32],
        parted: &mut Vec<u32>,
        ends: &mut Vec<u32>,
    ) {
        let node = |rank: u32| layer.node_of[self.codes[depth][rank as usize] as usize];
        parted.clear();
        ends.clear();
        // A counter for each node pays off only if there are many tuples.
        if list.len() * 4 < layer.costs.len() || list.len() <= 24 {
            parted.extend_from_slice(list);
            parted.sort_by_key(|rank| node(*rank));
            for (at, pair) in (1..).zip(parted.windows(2)) {
                if node(pair[0]) != node(pair[1]) {
                    ends.push(at);
                }
            }
            ends.push(list.len() as u32);
            return;
        }
        ends.resize(layer.costs.len() + 1, 0);
        list.iter().for_each(|rank| ends[node(*rank) as usize + 1] += 1);
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        parted.resize(list.len(), 0);
        for rank in list {
            let next = &mut ends[node(*rank) as usize];
            parted[*next as usize] = *rank;
            *next += 1;
        }
        // Now each counter is the end of its node. Empty ones go.
        ends.pop();
        ends.dedup();
        if ends.first() == Some(&0) {
            ends.remove(0);
        }
    }

    /// Whether tuples lie below several nodes.
    fn is_spread(&self, depth: usize, node_of: &[u32], part: &[u32]) -> bool {
        let node = |rank: u32| node_of[self.codes[depth][rank as usize] as usize];
        let first = node(part[0]);
        part.iter().any(|rank| node(*rank) != first)
    }

    fn ranges(
        &mut self,
        depth: usize,
        ranges: &Ranges,
        list: &[u32],
        cost: u64,
        effort: &mut Effort<'_>,
    ) -> Result<bool> {
        let Some((dearest, _)) = self.dearest(list) else { return Ok(true) };
        if !effort.spend(list.len() as u64 + 1)? {
            return Ok(false);
        }
        let code = |of: &Self, rank: u32| of.codes[depth][rank as usize];
        let mut by_code = list.to_vec();
        by_code.sort_by_key(|rank| code(self, *rank));
        let mut groups: Vec<&[u32]> =
            by_code.chunk_by(|a, b| code(self, *a) == code(self, *b)).collect();
        let last = groups.last().map(|group| code(self, group[0]));
        if last.is_some() && last == ranges.missing {
            // Missing values have a label of their own, and share only that of everything.
            let missing = groups.pop().unwrap_or_default();
            let with_all = cost + ranges.everything;
            let is_over = !self.enter(depth, missing, cost, effort)?
                || (!groups.is_empty() && !self.enter(depth, list, with_all, effort)?);
            if is_over {
                return Ok(false);
            }
        }
        let mut held = std::mem::take(&mut self.lists[depth]);
        let mut merged: Vec<u32> = Vec::new();
        for from in 0..groups.len() {
            held.clear();
            let first = code(self, groups[from][0]);
            for group in &groups[from..] {
                let cost = cost + ranges.cost(first, code(self, group[0]));
                if dearest <= self.least * cost {
                    break;
                }
                merge(&held, group, &mut merged);
                std::mem::swap(&mut held, &mut merged);
                let goes_on = effort.spend(held.len() as u64)?;
                if !goes_on || !self.enter(depth, &held, cost, effort)? {
                    self.lists[depth] = held;
                    return Ok(false);
                }
            }
        }
        self.lists[depth] = held;
        Ok(true)
    }

    /// Goes on below a label, unless nothing there can be wrong.
    #[inline(always)]
    fn enter(
        &mut self,
        depth: usize,
        list: &[u32],
        cost: u64,
        effort: &mut Effort<'_>,
    ) -> Result<bool> {
        let Some((dearest, but_one)) = self.dearest(list) else { return Ok(true) };
        let most = self.least * cost;
        if dearest <= most {
            return Ok(true);
        }
        let matters = |rank: &u32| but_one + self.prices[*rank as usize] > most;
        let kept = list.iter().rposition(matters).map_or(0, |last| last + 1);
        self.choose(depth + 1, &list[..kept], cost, effort)
    }

    /// Notes the dearest rows of a label, which are too dear; not if a smaller label covers them,
    /// which allows even less.
    fn note(&mut self, list: &[u32], cost: u64) {
        let (mut left, mut rows) = (self.least, Vec::new());
        for rank in list {
            let taken = self.rows[*rank as usize].min(left);
            rows.push((self.numbers[*rank as usize], taken));
            left -= taken;
            if left == 0 {
                break;
            }
        }
        if self.tuples.hull(&rows) >= cost {
            self.found.push(Ceiling { rows, most: self.least * cost });
        }
    }
}

/// Merges two ascending lists.
fn merge(one: &[u32], other: &[u32], into: &mut Vec<u32>) {
    into.clear();
    let (mut a, mut b) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        into.extend(if x < y { a.next() } else { b.next() });
    }
    into.extend(a);
    into.extend(b);
}
