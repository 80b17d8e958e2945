//! A quasi-identifier as a dimension: the label of a range of its codes, and the detail lost by
//! releasing only that label.
//!
//! Numbers and dates without a hierarchy are ordered and can be split anywhere; everything else is
//! split along its tree. A missing value has the last code of an ordered axis and is a branch of
//! its own below the whole range: a range that holds both a missing value and a number has the
//! label of the root, never that of a range of numbers.

use super::{ROOT, Taxonomy, TreeNode, moments};
use crate::table::{Day, Moment, Type};
use std::ops::{Bound, Range};
use std::sync::Arc;

/// The label of a region that holds every number but no missing value.
pub const ANY_NUMBER: &str = "any number";

/// How codes of an ordered axis represent numbers.
#[derive(Clone, Debug)]
pub enum AxisNumbers {
    /// A code is a rank among these ascending numbers.
    Ranked(Arc<[f64]>),
    /// A code is the distance of a whole number from the smallest one.
    Offset,
    /// A code is an order-preserving mapping of the number's bits.
    Bits,
}

/// An axis that can be split at any threshold.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// Whole numbers, real numbers or days.
    pub kind: Type,
    /// The meaning of codes.
    pub numbers: AxisNumbers,
    /// The code of missing values, if there are any; it is above all others.
    pub missing: Option<u64>,
    /// The smallest number.
    pub least: f64,
    /// The largest number.
    pub greatest: f64,
}

/// The order-preserving code of a finite number; 0 and -0 have the same code.
pub fn bits_of(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The number with this code.
fn of_bits(code: u64) -> f64 {
    f64::from_bits(if code >> 63 == 1 { code & !(1 << 63) } else { !code })
}

impl Ordered {
    /// The number of a code, which must not be that of missing values.
    pub fn number(&self, code: u64) -> f64 {
        match &self.numbers {
            AxisNumbers::Ranked(numbers) => numbers[code as usize],
            AxisNumbers::Offset => self.least + code as f64,
            AxisNumbers::Bits => of_bits(code),
        }
    }

    /// The smallest code of a number above `number`; all smaller codes are those of numbers up to
    /// `number`.
    pub fn above(&self, number: f64) -> u64 {
        match &self.numbers {
            AxisNumbers::Ranked(numbers) => {
                numbers.partition_point(|known| *known <= number) as u64
            }
            AxisNumbers::Offset => ((number - self.least).floor().max(-1.0) as i64 + 1) as u64,
            AxisNumbers::Bits => bits_of(number) + 1,
        }
    }

    fn is_missing(&self, code: u64) -> bool {
        self.missing == Some(code)
    }

    fn width(&self) -> f64 {
        self.greatest - self.least
    }
}

/// Labels ranges of codes in a release.
#[derive(Clone, Debug)]
pub enum Axis {
    /// Split at thresholds.
    Ordered(Ordered),
    /// Split along a tree.
    Tree(Arc<Taxonomy>),
}

/// Codes from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// The smallest code.
    pub first: u64,
    /// The largest code.
    pub last: u64,
}

impl Extent {
    /// An extent without codes.
    pub const NONE: Extent = Extent { first: u64::MAX, last: 0 };

    /// Extends the range to include a code.
    pub fn include(&mut self, code: u64) {
        self.first = self.first.min(code);
        self.last = self.last.max(code);
    }
}

impl Axis {
    /// All codes.
    pub fn whole(&self) -> Extent {
        match self {
            Axis::Tree(taxonomy) => Extent { first: 0, last: u64::from(taxonomy.codes()) - 1 },
            Axis::Ordered(axis) => {
                let (first, last) = match &axis.numbers {
                    AxisNumbers::Ranked(numbers) => (0, numbers.len() as u64 - 1),
                    AxisNumbers::Offset => (0, axis.width() as u64),
                    AxisNumbers::Bits => (bits_of(axis.least), bits_of(axis.greatest)),
                };
                Extent { first, last: axis.missing.unwrap_or(last) }
            }
        }
    }

    /// The smallest node that contains an extent of a tree's codes.
    pub fn ancestor(taxonomy: &Taxonomy, extent: Extent) -> TreeNode {
        let (first, last) = (extent.first as u32, extent.last as u32);
        let holds = |level: &usize| {
            taxonomy.level(*level).node_of(first) == taxonomy.level(*level).node_of(last)
        };
        let level = (0..taxonomy.height()).find(holds).unwrap_or(taxonomy.height());
        TreeNode { level, index: taxonomy.level(level).node_of(first) }
    }

    /// The label of an extent: its range, or the smallest node that contains it.
    pub fn label(&self, extent: Extent) -> String {
        match self {
            Axis::Tree(taxonomy) => {
                let node = Axis::ancestor(taxonomy, extent);
                taxonomy.level(node.level).label(node.index).to_string()
            }
            Axis::Ordered(axis) if axis.is_missing(extent.first) => String::new(),
            Axis::Ordered(axis) if axis.is_missing(extent.last) => ROOT.to_string(),
            Axis::Ordered(axis) => {
                range_label(axis.kind, axis.number(extent.first), axis.number(extent.last))
            }
        }
    }

    /// The codes that the label of an extent covers, of an axis with `all` codes: a node may
    /// contain more than the extent.
    pub fn said_codes(&self, extent: Extent, all: u32) -> Range<u32> {
        match self {
            Axis::Tree(taxonomy) => {
                let node = Axis::ancestor(taxonomy, extent);
                taxonomy.level(node.level).range(node.index)
            }
            Axis::Ordered(axis) if extent.first < extent.last && axis.is_missing(extent.last) => {
                0..all
            }
            Axis::Ordered(_) => extent.first as u32..extent.last as u32 + 1,
        }
    }

    /// The share of detail that is lost when only the extent's label is released: 0 for a single
    /// value, 1 for everything.
    pub fn lost(&self, extent: Extent) -> f64 {
        match self {
            Axis::Tree(taxonomy) => {
                let node = Axis::ancestor(taxonomy, extent);
                let leaves = taxonomy.level(node.level).leaves(node.index);
                (leaves - 1) as f64 / (taxonomy.leaves() - 1).max(1) as f64
            }
            Axis::Ordered(axis) => match () {
                _ if extent.first == extent.last => 0.0,
                _ if axis.is_missing(extent.last) => 1.0,
                _ if axis.width() == 0.0 => 0.0,
                _ => (axis.number(extent.last) - axis.number(extent.first)) / axis.width(),
            },
        }
    }
}

/// Up to here, all whole numbers are told apart.
const EXACT: f64 = (1u64 << 53) as f64;

/// A number as it is written in a release. Numbers that are not all told apart by their digits have
/// an exponent: 300 digits would claim an exactness that nobody has, and would not be read as a
/// number.
pub fn number_label(kind: Type, number: f64) -> String {
    match kind {
        Type::Date => Day(number as i32).to_string(),
        Type::Timestamp => Moment(number as i64).to_string(),
        Type::Real if number.abs() > EXACT => format!("{number:e}"),
        _ => format!("{}", number + 0.0),
    }
}

/// The range between two numbers, both included: `20-24` for whole numbers (`-5 to -1` where a
/// minus sign would confuse, and for days), `[2.5, 3]` for real ones; a single number is written as
/// it is.
///
/// Ranges of timestamps are those of `moments`.
pub fn range_label(kind: Type, first: f64, last: f64) -> String {
    if kind == Type::Timestamp {
        return moments::range_label(Moment(first as i64), Moment(last as i64));
    }
    let (from, to) = (number_label(kind, first), number_label(kind, last));
    match kind {
        _ if first == last => from,
        Type::Integer if first >= 0.0 => format!("{from}-{to}"),
        Type::Integer | Type::Date | Type::Timestamp | Type::Text => format!("{from} to {to}"),
        Type::Real => format!("[{from}, {to}]"),
    }
}

/// The range above one number up to another, either of which may be open: the extent of a region of
/// a partition tree.
pub fn cover_label(kind: Type, above: Option<f64>, up_to: Option<f64>) -> String {
    let label = |number: f64| number_label(kind, number);
    match (kind, above, up_to) {
        (_, None, None) => ROOT.to_string(),
        (Type::Timestamp, None, Some(to)) => moments::up_to_label(Moment(to as i64)),
        (Type::Timestamp, Some(from), None) => moments::above_label(Moment(from as i64)),
        (_, None, Some(to)) => format!("up to {}", label(to)),
        (_, Some(from), None) => format!("above {}", label(from)),
        (kind, Some(from), Some(to)) if kind.is_stepped() => range_label(kind, from + 1.0, to),
        (_, Some(from), Some(to)) => format!("({}, {}]", label(from), label(to)),
    }
}

/// Whether a text is a label that one of the functions above writes for numbers of a type.
pub fn is_range_label(text: &str, kind: Type) -> bool {
    said_range(text, kind).is_some()
}

/// The range of numbers that a text denotes, if it is a label that one of the functions above
/// writes for numbers of a type.
pub fn said_range(text: &str, kind: Type) -> Option<(Bound<f64>, Bound<f64>)> {
    if text == ANY_NUMBER {
        return Some((Bound::Unbounded, Bound::Unbounded));
    }
    if kind == Type::Timestamp {
        let (first, last) = moments::said_range(text)?;
        let end = |end: Option<Moment>| match end {
            Some(moment) => Bound::Included(moment.0 as f64),
            None => Bound::Unbounded,
        };
        return Some((end(first), end(last)));
    }
    let number =
        |part: &str| kind.number(part).filter(|number| number_label(kind, *number) == part);
    let pair = |inner: &str, between: &str| {
        inner.match_indices(between).find_map(|(at, _)| {
            let (first, last) = (number(&inner[..at])?, number(&inner[at + between.len()..])?);
            (first < last).then_some((first, last))
        })
    };
    if let Some(rest) = text.strip_prefix("up to ") {
        return Some((Bound::Unbounded, Bound::Included(number(rest)?)));
    }
    if let Some(rest) = text.strip_prefix("above ") {
        return Some((Bound::Excluded(number(rest)?), Bound::Unbounded));
    }
    let (first, last) = match kind {
        Type::Integer => pair(text, "-").or_else(|| pair(text, " to "))?,
        Type::Date => pair(text, " to ")?,
        Type::Real => pair(text.strip_prefix(['[', '('])?.strip_suffix(']')?, ", ")?,
        Type::Timestamp | Type::Text => return None,
    };
    let from = if text.starts_with('(') { Bound::Excluded(first) } else { Bound::Included(first) };
    Some((from, Bound::Included(last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ordered(numbers: &[f64], missing: bool) -> Axis {
        Axis::Ordered(Ordered {
            kind: Type::Integer,
            numbers: AxisNumbers::Ranked(numbers.into()),
            missing: missing.then_some(numbers.len() as u64),
            least: numbers[0],
            greatest: numbers[numbers.len() - 1],
        })
    }

    #[test]
    fn a_range_with_a_missing_value_is_the_root() {
        let axis = ordered(&[1.0, 3.0, 5.0], true);
        let said =
            |first, last| (axis.label(Extent { first, last }), axis.lost(Extent { first, last }));
        assert_eq!(said(0, 1), ("1-3".into(), 0.5));
        assert_eq!(said(1, 1), ("3".into(), 0.0));
        assert_eq!(said(0, 2), ("1-5".into(), 1.0));
        assert_eq!(said(2, 3), ("*".into(), 1.0));
        assert_eq!(said(3, 3), ("".into(), 0.0));
    }

    proptest! {
        #[test]
        fn what_is_written_is_a_label(a in -1000i64..1000, b in -1000i64..1000) {
            let (first, last) = (a.min(b) as f64, a.max(b) as f64);
            for kind in [Type::Integer, Type::Real, Type::Date, Type::Timestamp] {
                let scale = if kind == Type::Real { 4.0 } else { 1.0 };
                let (first, last) = (first / scale, last / scale);
                let single = |text: &str| kind.number(text).is_some();
                let range = range_label(kind, first, last);
                prop_assert!(is_range_label(&range, kind) || single(&range), "{}", range);
                for (above, up_to) in [(Some(first), None), (None, Some(last)), (Some(first), Some(last + 1.0))] {
                    let label = cover_label(kind, above, up_to);
                    prop_assert!(is_range_label(&label, kind) || single(&label), "{}", label);
                }
            }
            prop_assert!(!is_range_label("old", Type::Integer) && !is_range_label("9-3", Type::Integer));
        }

        #[test]
        fn codes_keep_the_order_of_numbers(a in any::<i32>(), b in any::<i32>()) {
            let (a, b) = (f64::from(a) / 8.0, f64::from(b) / 8.0);
            prop_assert_eq!(a.partial_cmp(&b), Some(bits_of(a).cmp(&bits_of(b))));
            prop_assert_eq!(of_bits(bits_of(a)), a);
        }
    }
}
