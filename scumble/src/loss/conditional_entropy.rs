//! Conditional entropy of a class label given the class of a row (LeFevre and DeWitt 2007, section
//! 5.5): the bits about the label that a release leaves open, per row. A suppressed row leaves open
//! what the whole table does.

/// Total bits about the label that are open in some rows, from the count of each label.
fn bits(counts: impl Iterator<Item = u64> + Clone) -> f64 {
    let rows: u64 = counts.clone().sum();
    counts
        .filter(|count| *count > 0)
        .map(|count| count as f64 * (rows as f64 / count as f64).log2())
        .sum()
}

/// Total bits about the label that are open in the rows of a class.
pub fn open_bits(labels: &[(u32, u32)]) -> f64 {
    bits(labels.iter().map(|(_, count)| u64::from(*count)))
}

/// The mean over all input rows. `classes` has the labels of each released class with their counts,
/// `whole` the count of each label in the input.
pub fn conditional_entropy<'a>(
    classes: impl Iterator<Item = &'a [(u32, u32)]>,
    suppressed: u64,
    whole: &[u64],
) -> f64 {
    let rows: u64 = whole.iter().sum();
    if rows == 0 {
        return 0.0;
    }
    let released: f64 = classes.map(open_bits).sum();
    let left_out = if suppressed == 0 {
        0.0
    } else {
        suppressed as f64 * bits(whole.iter().copied()) / rows as f64
    };
    (released + left_out) / rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pure_class_leaves_nothing_open_and_a_suppressed_row_what_the_table_does() {
        let pure: [&[(u32, u32)]; 2] = [&[(0, 4)], &[(1, 4)]];
        assert_eq!(conditional_entropy(pure.into_iter(), 0, &[4, 4]), 0.0);
        let even: [&[(u32, u32)]; 1] = [&[(0, 4), (1, 4)]];
        assert_eq!(conditional_entropy(even.into_iter(), 0, &[4, 4]), 1.0);
        // 4 rows with nothing open, and 4 suppressed rows with one bit each.
        assert_eq!(conditional_entropy([&[(0, 4)][..]].into_iter(), 4, &[4, 4]), 0.5);
        // A class of 1 and 3: 1 x 2 bits and 3 x log2(4/3).
        let open = conditional_entropy([&[(0, 1), (1, 3)][..]].into_iter(), 0, &[1, 3]);
        assert!((open - 0.811_278_124_459_132_8).abs() < 1e-15, "{open}");
    }
}
