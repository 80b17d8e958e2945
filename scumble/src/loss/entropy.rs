//! Non-uniform entropy (Gionis and Tassa 2009): the bits lost when value v becomes v*, -log2(count(v) / count(v*)),
//! averaged over cells of the table. A suppressed row becomes the whole column.

use std::ops::Range;

/// The mean over one column. `counts[v]` are the input rows with value v; `said` tells, for any number of rows at a
/// time, their value and the range of values that it became, or none where they are suppressed. What a value becomes is
/// counted over all input rows, released or not.
pub fn non_uniform_entropy(counts: &[u64], said: impl Iterator<Item = (usize, u64, Option<Range<u32>>)>) -> f64 {
    let mut below = Vec::with_capacity(counts.len() + 1);
    below.push(0u64);
    for count in counts {
        below.push(below[below.len() - 1] + count);
    }
    let all = below[counts.len()];
    if all == 0 {
        return 0.0;
    }
    // Logarithms of counts, each taken once: of the leaf, and of what it became.
    let leaf: Vec<f64> = counts.iter().map(|count| (*count as f64).log2()).collect();
    let mut last = (0..0, 0.0);
    let lost = said.map(|(value, rows, became)| {
        let became = became.unwrap_or(0..counts.len() as u32);
        if became != last.0 {
            let within = below[became.end as usize] - below[became.start as usize];
            last = (became, (within as f64).log2());
        }
        rows as f64 * (last.1 - leaf[value])
    });
    lost.sum::<f64>() / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_values_cost_nothing_and_the_root_costs_the_entropy() {
        let entropy = |counts: &[u64], said: &[(usize, u64, Option<Range<u32>>)]| {
            non_uniform_entropy(counts, said.iter().cloned())
        };
        assert_eq!(entropy(&[4, 8], &[(0, 4, Some(0..1)), (1, 8, Some(1..2))]), 0.0);
        assert_eq!(entropy(&[4, 4], &[(0, 4, Some(0..2)), (1, 4, Some(0..2))]), 1.0);
        assert_eq!(entropy(&[4, 4], &[(0, 4, Some(0..1)), (1, 4, None)]), 0.5);
    }
}
