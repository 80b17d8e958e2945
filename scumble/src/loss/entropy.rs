//! Non-uniform entropy (Gionis and Tassa 2009): the bits lost when value v becomes v*, -log2(count(v) / count(v*)),
//! averaged over cells of the table. A suppressed row becomes the whole column.

/// The mean over one column. `counts[v]` are the input rows with value v, `kept[v]` those of them that are released,
/// `group_of[v]` is what v becomes. What a value becomes is counted over all input rows, released or not.
pub fn non_uniform_entropy(counts: &[u64], kept: &[u64], group_of: &[u32]) -> f64 {
    let rows: u64 = counts.iter().sum();
    if rows == 0 {
        return 0.0;
    }
    let groups = group_of.iter().copied().max().map_or(0, |most| most as usize + 1);
    let mut sizes = vec![0u64; groups];
    for (count, group) in counts.iter().zip(group_of) {
        sizes[*group as usize] += count;
    }
    let bits = |count: u64, of: u64| (of as f64 / count as f64).log2();
    let lost =
        counts.iter().zip(kept).zip(group_of).filter(|((count, _), _)| **count > 0).map(|((count, kept), group)| {
            *kept as f64 * bits(*count, sizes[*group as usize]) + (*count - *kept) as f64 * bits(*count, rows)
        });
    lost.sum::<f64>() / rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_values_cost_nothing_and_the_root_costs_the_entropy() {
        assert_eq!(non_uniform_entropy(&[3, 5], &[3, 5], &[0, 1]), 0.0);
        assert_eq!(non_uniform_entropy(&[4, 4], &[4, 4], &[0, 0]), 1.0);
        assert_eq!(non_uniform_entropy(&[4, 4], &[4, 0], &[0, 1]), 0.5);
    }
}
