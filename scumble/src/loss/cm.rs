//! CM, the classification metric (Iyengar 2002): rows whose label is not their class's most
//! frequent one.

/// The number of rows of a class outside its majority label.
pub fn minority(labels: &[(u32, u32)]) -> u64 {
    let all: u64 = labels.iter().map(|(_, count)| u64::from(*count)).sum();
    let majority = labels.iter().map(|(_, count)| u64::from(*count)).max().unwrap_or(0);
    all - majority
}

/// The share of input rows outside their class's majority label, including suppressed rows.
pub fn cm(minority_rows: u64, suppressed: u64, rows: u64) -> f64 {
    if rows == 0 { 0.0 } else { (minority_rows + suppressed) as f64 / rows as f64 }
}
