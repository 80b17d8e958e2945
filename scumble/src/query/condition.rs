//! Which records does a condition select?
//!
//! SQL's three-valued logic over the columns of the records: an empty field is NULL, and a
//! comparison with NULL is neither true nor false. Numbers compare as numbers, everything else as
//! text, byte by byte (dates are written so that this is also their order). LIKE is case-sensitive,
//! ILIKE is not.

use crate::table::Type;
use std::cmp::Ordering;

/// A constant in a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// NULL.
    Null,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// =
    Equal,
    /// <>
    Different,
    /// <
    Less,
    /// <=
    AtMost,
    /// >
    Greater,
    /// >=
    AtLeast,
}

impl Comparison {
    /// The same comparison with its sides exchanged.
    pub fn flipped(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::AtMost => Comparison::AtLeast,
            Comparison::Greater => Comparison::Less,
            Comparison::AtLeast => Comparison::AtMost,
            same => same,
        }
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::Different => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::AtMost => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::AtLeast => order.is_ge(),
        }
    }
}

/// A piece of a LIKE pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// This character.
    Character(char),
    /// Any one character: `_`.
    Any,
    /// Any number of characters: `%`.
    Rest,
}

/// A condition on records; columns are numbered.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The same for every record.
    Constant(Option<bool>),
    /// A column compared with a constant.
    Compare(usize, Comparison, Literal),
    /// A column that equals one of several constants.
    In(usize, Vec<Literal>),
    /// A column that matches a pattern; the flag says whether case matters.
    Like(usize, Vec<Piece>, bool),
    /// A column without a value.
    IsNull(usize),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// At least one holds.
    Or(Box<Condition>, Box<Condition>),
    /// The negation.
    Not(Box<Condition>),
}

/// A value of a record as it is written, with its column's type.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// The text; empty for NULL.
    pub text: &'a str,
    /// The type.
    pub kind: Type,
}

impl Cell<'_> {
    fn compare(self, literal: &Literal) -> Option<Ordering> {
        match (self.text, literal) {
            ("", _) | (_, Literal::Null) => None,
            (text, Literal::Number(number)) => self.kind.number(text)?.partial_cmp(number),
            (text, Literal::Text(other)) => Some(text.cmp(other)),
        }
    }
}

/// The column that stands for the sensitive attribute, which is not a column of the records.
pub const ATTRIBUTE: usize = usize::MAX;

impl Condition {
    /// The numbers that columns are compared with.
    pub fn numbers(&self) -> Vec<f64> {
        let number = |literal: &Literal| match literal {
            Literal::Number(number) => Some(*number),
            _ => None,
        };
        let mut found = Vec::new();
        self.each(&mut |part| match part {
            Condition::Compare(_, _, literal) => found.extend(number(literal)),
            Condition::In(_, literals) => found.extend(literals.iter().filter_map(number)),
            _ => {}
        });
        found
    }

    /// Whether the condition uses columns of the records, and whether it uses the attribute.
    fn uses(&self) -> (bool, bool) {
        let mut uses = (false, false);
        self.each(&mut |part| {
            if let Condition::Compare(column, ..)
            | Condition::In(column, _)
            | Condition::Like(column, ..)
            | Condition::IsNull(column) = part
            {
                uses.0 |= *column != ATTRIBUTE;
                uses.1 |= *column == ATTRIBUTE;
            }
        });
        uses
    }

    /// Visits the condition and all its parts.
    fn each(&self, visit: &mut impl FnMut(&Condition)) {
        let mut open = vec![self];
        while let Some(condition) = open.pop() {
            visit(condition);
            match condition {
                Condition::And(one, other) | Condition::Or(one, other) => {
                    open.extend([one.as_ref(), other.as_ref()]);
                }
                Condition::Not(inner) => open.push(inner),
                _ => {}
            }
        }
    }

    /// The condition as a condition on the records and one on the attribute, if both must hold;
    /// `None` if they are mixed in another way.
    pub fn split(self) -> Option<(Condition, Option<Condition>)> {
        let (mut records, mut attribute) = (None, None);
        let mut open = vec![self];
        while let Some(condition) = open.pop() {
            let side = match condition.uses() {
                (_, false) => &mut records,
                (false, true) => &mut attribute,
                (true, true) => match condition {
                    Condition::And(one, other) => {
                        open.extend([*one, *other]);
                        continue;
                    }
                    _ => return None,
                },
            };
            *side = Some(match side.take() {
                None => condition,
                Some(before) => Condition::And(Box::new(before), Box::new(condition)),
            });
        }
        Some((records.unwrap_or(Condition::Constant(Some(true))), attribute))
    }

    /// Whether the condition holds for a record, whose columns `cell` returns; `None` is SQL's
    /// unknown.
    pub fn holds<'a>(&self, cell: &impl Fn(usize) -> Cell<'a>) -> Option<bool> {
        match self {
            Condition::Constant(known) => *known,
            Condition::Compare(column, comparison, literal) => {
                cell(*column).compare(literal).map(|order| comparison.holds(order))
            }
            Condition::In(column, literals) => {
                let cell = cell(*column);
                let found =
                    literals.iter().map(|literal| cell.compare(literal).map(Ordering::is_eq));
                found.fold(Some(false), or)
            }
            Condition::Like(column, pieces, sensitive) => match cell(*column).text {
                "" => None,
                text if *sensitive => Some(is_like(&text.chars().collect::<Vec<_>>(), pieces)),
                text => Some(is_like(&text.to_lowercase().chars().collect::<Vec<_>>(), pieces)),
            },
            Condition::IsNull(column) => Some(cell(*column).text.is_empty()),
            Condition::And(one, other) => not(or(not(one.holds(cell)), not(other.holds(cell)))),
            Condition::Or(one, other) => or(one.holds(cell), other.holds(cell)),
            Condition::Not(inner) => not(inner.holds(cell)),
        }
    }
}

fn or(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

fn not(known: Option<bool>) -> Option<bool> {
    known.map(|known| !known)
}

/// Whether a text matches a pattern. On a mismatch the last `%` takes one more character, so the
/// work is at most the product of the lengths.
fn is_like(text: &[char], pieces: &[Piece]) -> bool {
    let (mut at, mut piece) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    loop {
        match pieces.get(piece) {
            Some(Piece::Rest) => {
                last = Some((piece, at));
                piece += 1;
            }
            Some(Piece::Any) if at < text.len() => {
                at += 1;
                piece += 1;
            }
            Some(Piece::Character(wanted)) if text.get(at) == Some(wanted) => {
                at += 1;
                piece += 1;
            }
            None if at == text.len() => return true,
            _ => match &mut last {
                Some((rest, from)) if *from < text.len() => {
                    *from += 1;
                    at = *from;
                    piece = *rest + 1;
                }
                _ => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(pattern: &str) -> Vec<Piece> {
        let piece = |character| match character {
            '%' => Piece::Rest,
            '_' => Piece::Any,
            other => Piece::Character(other),
        };
        pattern.chars().map(piece).collect()
    }

    /// The plain definition.
    fn textbook(text: &[char], pieces: &[Piece]) -> bool {
        match pieces.split_first() {
            None => text.is_empty(),
            Some((Piece::Rest, rest)) => (0..=text.len()).any(|skip| textbook(&text[skip..], rest)),
            Some((Piece::Any, rest)) => !text.is_empty() && textbook(&text[1..], rest),
            Some((Piece::Character(wanted), rest)) => {
                text.first() == Some(wanted) && textbook(&text[1..], rest)
            }
        }
    }

    proptest! {
        #[test]
        fn patterns_match_as_they_should(text in "[ab]{0,7}", pattern in "[ab%_]{0,6}") {
            let text: Vec<char> = text.chars().collect();
            prop_assert_eq!(is_like(&text, &pieces(&pattern)), textbook(&text, &pieces(&pattern)));
        }
    }

    #[test]
    fn unknown_is_neither_true_nor_false() {
        let null = |_: usize| Cell { text: "", kind: Type::Integer };
        let five = |_: usize| Cell { text: "5", kind: Type::Integer };
        let less = Condition::Compare(0, Comparison::Less, Literal::Number(7.0));
        assert_eq!((less.holds(&null), less.holds(&five)), (None, Some(true)));
        let not = Condition::Not(Box::new(less.clone()));
        assert_eq!((not.holds(&null), not.holds(&five)), (None, Some(false)));
        let either = Condition::Or(Box::new(Condition::IsNull(0)), Box::new(less.clone()));
        assert_eq!((either.holds(&null), either.holds(&five)), (Some(true), Some(true)));
        let both = Condition::And(Box::new(Condition::IsNull(0)), Box::new(less));
        assert_eq!((both.holds(&null), both.holds(&five)), (None, Some(false)));
        let among = |literals| Condition::In(0, literals);
        assert_eq!(among(vec![Literal::Number(4.0), Literal::Null]).holds(&five), None);
        assert_eq!(among(vec![Literal::Number(5.0), Literal::Null]).holds(&five), Some(true));
        assert_eq!(among(vec![Literal::Number(4.0)]).holds(&five), Some(false));
    }
}
