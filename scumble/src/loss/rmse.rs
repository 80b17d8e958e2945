//! RMSE of a numeric target that is guessed as the mean of its class (LeFevre and DeWitt 2007,
//! section 5.5): the square root of the mean over all input rows of Var(class, target). A
//! suppressed row is guessed as the mean of the table.

/// The number of rows with some values, and the sum of their squared distances from the mean.
fn rows_and_error(values: impl Iterator<Item = (f64, u64)> + Clone) -> (f64, f64) {
    let rows: f64 = values.clone().map(|(_, count)| count as f64).sum();
    let mean = values.clone().map(|(number, count)| number * (count as f64 / rows)).sum::<f64>();
    (rows, values.map(|(number, count)| count as f64 * (number - mean).powi(2)).sum())
}

/// The sum over the rows of a class of the squared distance from its mean; `numbers` has the number
/// of each value.
pub fn squared_error(values: &[(u32, u32)], numbers: &[f64]) -> f64 {
    rows_and_error(
        values.iter().map(|(value, count)| (numbers[*value as usize], u64::from(*count))),
    )
    .1
}

/// The RMSE over all input rows. `classes` has the values of each released class with their counts,
/// `whole` the count of each value in the input, and `numbers` the number of each value.
pub fn rmse<'a>(
    classes: impl Iterator<Item = &'a [(u32, u32)]>,
    suppressed: u64,
    whole: &[u64],
    numbers: &[f64],
) -> f64 {
    let (rows, error) = rows_and_error(numbers.iter().copied().zip(whole.iter().copied()));
    if rows == 0.0 {
        return 0.0;
    }
    let left_out = if suppressed == 0 { 0.0 } else { suppressed as f64 * error / rows };
    ((classes.map(|values| squared_error(values, numbers)).sum::<f64>() + left_out) / rows).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_guessed() {
        // 1, 3 | 10, 10: errors 1, 1, 0, 0.
        let classes: [&[(u32, u32)]; 2] = [&[(0, 1), (1, 1)], &[(2, 2)]];
        let numbers = [1.0, 3.0, 10.0];
        assert_eq!(rmse(classes.into_iter(), 0, &[1, 1, 2], &numbers), 0.5f64.sqrt());
        // The last two suppressed: the table's mean is 6, its variance (25 + 9 + 16 + 16) / 4.
        assert_eq!(
            rmse(classes[..1].iter().copied(), 2, &[1, 1, 2], &numbers),
            ((2.0 + 33.0) / 4.0f64).sqrt()
        );
        // No precision is lost far from zero.
        let far = numbers.map(|number| number + 1e12);
        assert_eq!(rmse(classes.into_iter(), 0, &[1, 1, 2], &far), 0.5f64.sqrt());
    }
}
