//! DM, discernibility (Bayardo and Agrawal 2005): every row pays the size of its class, a
//! suppressed one the size of the table.

/// The sum of squared class sizes, plus rows x suppressed rows.
pub fn dm(class_sizes: impl Iterator<Item = u64>, rows: u64, suppressed: u64) -> u128 {
    let squares: u128 = class_sizes.map(|size| u128::from(size) * u128::from(size)).sum();
    squares + u128::from(rows) * u128::from(suppressed)
}
