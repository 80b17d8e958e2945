//! Non-uniform entropy (Gionis and Tassa 2009): the bits lost when value v becomes v*,
//! -log2(count(v) / count(v*)), averaged over cells of the table. A suppressed row becomes the
//! whole column.

use std::ops::Range;

/// Rows with the same value in a column.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// The original value.
    pub leaf: u32,
    /// The value it became in released rows.
    pub became: u32,
    /// The number of released rows.
    pub released: u64,
    /// The number of suppressed rows.
    pub suppressed: u64,
}

/// The leaves that a value covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codes {
    /// Those of a node, or of numbers.
    Range(Range<u32>),
    /// Any of them, ascending.
    Set(Vec<u32>),
}

/// The mean over one column with `leaves` leaves. `became` has the leaves that each new value
/// covers; `said` describes all rows, in groups of any size. Counts of new values are over all
/// input rows, released or not.
pub fn non_uniform_entropy(
    leaves: u32,
    became: &[Codes],
    said: impl Iterator<Item = Said> + Clone,
) -> f64 {
    let mut counts = vec![0u64; leaves as usize];
    said.clone().for_each(|rows| counts[rows.leaf as usize] += rows.released + rows.suppressed);
    let mut below = Vec::with_capacity(counts.len() + 1);
    below.push(0u64);
    for count in &counts {
        below.push(below[below.len() - 1] + count);
    }
    let all = below[counts.len()];
    if all == 0 {
        return 0.0;
    }
    // Logarithms of counts, each computed once: of the leaves, of the new values, and of the whole
    // column.
    let logarithm = |rows: u64| (rows as f64).log2();
    let within = |codes: &Codes| match codes {
        Codes::Range(range) => logarithm(below[range.end as usize] - below[range.start as usize]),
        Codes::Set(set) => logarithm(set.iter().map(|code| counts[*code as usize]).sum()),
    };
    let leaf: Vec<f64> = counts.iter().map(|count| logarithm(*count)).collect();
    let became: Vec<f64> = became.iter().map(within).collect();
    let whole = logarithm(all);
    let mut lost = 0.0;
    for rows in said {
        let leaf = leaf[rows.leaf as usize];
        if rows.released > 0 {
            lost += rows.released as f64 * (became[rows.became as usize] - leaf);
        }
        if rows.suppressed > 0 {
            lost += rows.suppressed as f64 * (whole - leaf);
        }
    }
    lost / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_values_cost_nothing_and_the_root_costs_the_entropy() {
        let entropy = |became: &[Range<u32>], said: &[(u32, u32, u64, u64)]| {
            let became: Vec<Codes> = became.iter().cloned().map(Codes::Range).collect();
            let rows =
                |(leaf, became, released, suppressed)| Said { leaf, became, released, suppressed };
            non_uniform_entropy(2, &became, said.iter().copied().map(rows))
        };
        assert_eq!(entropy(&[0..1, 1..2], &[(0, 0, 4, 0), (1, 1, 8, 0)]), 0.0);
        assert_eq!(entropy(&[0..2, 0..2], &[(0, 0, 4, 0), (1, 1, 4, 0)]), 1.0);
        assert_eq!(entropy(&[0..1, 1..2], &[(0, 0, 4, 0), (1, 1, 0, 4)]), 0.5);
        // Half of a value suppressed: 2 of 8 rows lose one bit.
        assert_eq!(entropy(&[0..1, 1..2], &[(0, 0, 4, 0), (1, 1, 2, 2)]), 0.25);
        // A set of the first and the last of three values: each of its rows loses one bit.
        let said = |leaf, became| Said { leaf, became, released: 4, suppressed: 0 };
        let became = [Codes::Set(vec![0, 2]), Codes::Range(1..2)];
        let rows = [said(0, 0), said(1, 1), said(2, 0)];
        let lost = non_uniform_entropy(3, &became, rows.into_iter());
        assert!((lost - 2.0 / 3.0).abs() < 1e-12);
    }
}
