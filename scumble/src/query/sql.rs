//! Parses the supported SQL and clearly refuses everything else.
//!
//! The parser is the crate sqlparser. A statement is rebuilt from the parts that are understood
//! here; if it differs from what was parsed, the query uses something that is not supported.

use super::condition::{ATTRIBUTE, Comparison, Condition, Literal, Piece};
use super::{Aggregate, Query};
use crate::error::{Error, Result, quoted};
use crate::table::{Notation, Type};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    Ident, SelectItem, SetExpr, Statement, TableFactor, UnaryOperator, Value,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use std::collections::BTreeMap;

/// Part of the message for every query that is refused.
const SUPPORTED: &str = "supported: SELECT [columns,] COUNT|SUM|AVG|MIN|MAX|MEDIAN(attribute), … FROM release \
                         [WHERE columns of the records with =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, ILIKE, IS NULL, AND, OR, NOT] \
                         [AND the same for the attribute] [GROUP BY columns]";

/// The maximum length of a query.
const MOST_BYTES: usize = 256 * 1024;

/// Stack size for parsing and for walking the syntax tree: a chain of ORs is as deep as it is long.
const STACK: usize = 256 << 20;

fn refused(problem: impl Into<String>) -> Error {
    Error::BadQuery { problem: problem.into(), supported: SUPPORTED }
}

/// The names that a query may use: the sensitive attribute, and the columns of the records with
/// their types.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The sensitive attribute.
    pub attribute: &'a str,
    /// Whether it is numeric.
    pub numeric: bool,
    /// The records' columns.
    pub columns: &'a [(String, Type)],
    /// How values are written, if not in the plain way.
    pub notations: &'a BTreeMap<String, Notation>,
}

/// Parses a query.
pub fn parse(sql: &str, names: Names<'_>) -> Result<Query> {
    if sql.len() > MOST_BYTES {
        return Err(refused(format!("longer than {MOST_BYTES} bytes")));
    }
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || read(sql, names));
        let thread = thread.map_err(Error::io("query".as_ref(), "start a thread"))?;
        thread.join().unwrap_or(Err(Error::Defect))
    })
}

fn read(sql: &str, names: Names<'_>) -> Result<Query> {
    let statements = Parser::parse_sql(&GenericDialect {}, sql).map_err(|error| {
        refused(error.to_string().trim_start_matches("sql parser error: ").to_string())
    })?;
    let [Statement::Query(query)] = &statements[..] else {
        return Err(refused("expected one SELECT statement"));
    };
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Err(refused("expected a plain SELECT"));
    };
    let [from] = &select.from[..] else {
        return Err(refused("expected one table, the release, in FROM"));
    };
    let TableFactor::Table { name: table, alias, .. } = &from.relation else {
        return Err(refused("expected one table, the release, in FROM"));
    };
    let plain_from = match alias {
        None => vec![table.to_string()],
        Some(alias) => vec![format!("{table} {alias}"), format!("{table} AS {alias}")],
    };
    let GroupByExpr::Expressions(by, modifiers) = &select.group_by else {
        return Err(refused("GROUP BY ALL is not supported"));
    };
    let list = |items: Vec<String>| items.join(", ");
    let plain = format!(
        "SELECT {} FROM {from}{}{}",
        list(select.projection.iter().map(ToString::to_string).collect()),
        select.selection.as_ref().map_or(String::new(), |condition| format!(" WHERE {condition}")),
        if by.is_empty() {
            String::new()
        } else {
            format!(" GROUP BY {}", list(by.iter().map(ToString::to_string).collect()))
        },
    );
    if query.to_string() != plain
        || !plain_from.contains(&from.to_string())
        || !modifiers.is_empty()
    {
        return Err(refused("a clause is not supported"));
    }
    let reader = Reader { names, used: std::cell::RefCell::new(Vec::new()) };
    let by: Vec<usize> =
        by.iter().map(|expression| reader.group_column(expression)).collect::<Result<_>>()?;
    let mut aggregates = Vec::new();
    for item in &select.projection {
        let (SelectItem::UnnamedExpr(expression)
        | SelectItem::ExprWithAlias { expr: expression, .. }) = item
        else {
            return Err(refused(format!("{item} is not an aggregate")));
        };
        match expression {
            Expr::Function(function) => {
                let name = match item {
                    SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
                    _ => function.to_string(),
                };
                aggregates.push((name, reader.aggregate(function)?));
            }
            other => {
                let column = reader.column(other)?;
                if !by.contains(&column) {
                    return Err(refused(format!("{other} must appear in GROUP BY")));
                }
            }
        }
    }
    if aggregates.is_empty() {
        return Err(refused("no aggregate"));
    }
    let condition =
        select.selection.as_ref().map(|condition| reader.condition(condition)).transpose()?;
    let condition = condition.unwrap_or(Condition::Constant(Some(true)));
    let (condition, value) = condition.split().ok_or_else(|| {
        refused(format!(
            "conditions on {} and on other columns can only be combined by AND",
            quoted(names.attribute)
        ))
    })?;
    Ok(Query { aggregates, condition, value, by, used: reader.used.into_inner() })
}

struct Reader<'a> {
    names: Names<'a>,
    /// The columns that the query names, in the order in which the condition numbers them.
    used: std::cell::RefCell<Vec<usize>>,
}

/// An identifier matches a name if they are equal, or differ only in case and the identifier was
/// not quoted.
fn is_meant(ident: &Ident, name: &str) -> bool {
    ident.value == name || (ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(name))
}

fn last_part(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Identifier(ident) => Some(ident),
        Expr::CompoundIdentifier(parts) => parts.last(),
        Expr::Nested(inner) => last_part(inner),
        _ => None,
    }
}

impl Reader<'_> {
    /// The position of a column in `used`.
    fn column(&self, expression: &Expr) -> Result<usize> {
        let Some(ident) = last_part(expression) else {
            return Err(refused(format!(
                "{expression} is not a column; put names with special characters in double quotes"
            )));
        };
        if is_meant(ident, self.names.attribute) {
            return Ok(ATTRIBUTE);
        }
        let columns = self.names.columns;
        let exact = columns.iter().position(|(name, _)| *name == ident.value);
        let found = exact.or_else(|| columns.iter().position(|(name, _)| is_meant(ident, name)));
        let column = found.ok_or_else(|| {
            let known: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            refused(format!(
                "no column {}; the columns are {}",
                quoted(&ident.value),
                known.join(", ")
            ))
        })?;
        let mut used = self.used.borrow_mut();
        Ok(used.iter().position(|known| *known == column).unwrap_or_else(|| {
            used.push(column);
            used.len() - 1
        }))
    }

    /// The position of a column in `used` that is not the sensitive attribute.
    fn group_column(&self, expression: &Expr) -> Result<usize> {
        match self.column(expression)? {
            ATTRIBUTE => Err(refused(format!(
                "{expression} is the sensitive attribute and cannot be in GROUP BY"
            ))),
            column => Ok(column),
        }
    }

    /// The name and the type of a column.
    fn described(&self, column: usize) -> (&str, Type) {
        if column == ATTRIBUTE {
            let kind = if self.names.numeric { Type::Real } else { Type::Text };
            return (self.names.attribute, kind);
        }
        let (name, kind) = &self.names.columns[self.used.borrow()[column]];
        (name, *kind)
    }

    fn aggregate(&self, function: &Function) -> Result<Aggregate> {
        let name = function.name.to_string().to_uppercase();
        let known = Aggregate::NAMES.iter().find(|(known, _)| *known == name);
        let aggregate =
            known.ok_or_else(|| refused(format!("unknown aggregate {}", function.name)))?.1;
        let only = match &function.args {
            FunctionArguments::List(list) => match &list.args[..] {
                [FunctionArg::Unnamed(argument)] => Some(argument),
                _ => None,
            },
            _ => None,
        };
        let argument = only.ok_or_else(|| refused(format!("{name} takes one argument")))?;
        if function.to_string() != format!("{}({argument})", function.name) {
            return Err(refused(format!("{function} is not supported; use a plain argument")));
        }
        match argument {
            FunctionArgExpr::Wildcard if aggregate == Aggregate::Count => Ok(aggregate),
            FunctionArgExpr::Expr(expression)
                if last_part(expression)
                    .is_some_and(|ident| is_meant(ident, self.names.attribute)) =>
            {
                if self.names.numeric || aggregate == Aggregate::Count {
                    Ok(aggregate)
                } else {
                    Err(refused(format!(
                        "{name} requires numbers, but {expression} is categorical"
                    )))
                }
            }
            other => {
                let name = quoted(self.names.attribute);
                Err(refused(format!("{other} is not the sensitive attribute {name}")))
            }
        }
    }

    fn condition(&self, expression: &Expr) -> Result<Condition> {
        let negate = |condition: Condition, negated: bool| {
            if negated { Condition::Not(Box::new(condition)) } else { condition }
        };
        Ok(match expression {
            Expr::Nested(inner) => self.condition(inner)?,
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                Condition::Not(Box::new(self.condition(expr)?))
            }
            Expr::Value(value) => match &value.value {
                Value::Boolean(known) => Condition::Constant(Some(*known)),
                Value::Null => Condition::Constant(None),
                other => return Err(refused(format!("{other} is not a condition"))),
            },
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                Condition::And(Box::new(self.condition(left)?), Box::new(self.condition(right)?))
            }
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                Condition::Or(Box::new(self.condition(left)?), Box::new(self.condition(right)?))
            }
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right)?,
            Expr::IsNull(inner) => Condition::IsNull(self.column(inner)?),
            Expr::IsNotNull(inner) => {
                Condition::Not(Box::new(Condition::IsNull(self.column(inner)?)))
            }
            Expr::Between { expr, negated, low, high } => {
                let column = self.column(expr)?;
                let end = |comparison, end: &Expr| -> Result<Box<Condition>> {
                    Ok(Box::new(Condition::Compare(column, comparison, self.literal(end, column)?)))
                };
                negate(
                    Condition::And(end(Comparison::AtLeast, low)?, end(Comparison::AtMost, high)?),
                    *negated,
                )
            }
            Expr::InList { expr, list, negated } => {
                let column = self.column(expr)?;
                let list =
                    list.iter().map(|item| self.literal(item, column)).collect::<Result<_>>()?;
                negate(Condition::In(column, list), *negated)
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                negate(self.like(expr, pattern, escape_char.as_deref(), true)?, *negated)
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                negate(self.like(expr, pattern, escape_char.as_deref(), false)?, *negated)
            }
            other => return Err(refused(format!("{other} is not a supported condition"))),
        })
    }

    fn comparison(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Condition> {
        let comparison = match op {
            BinaryOperator::Eq => Comparison::Equal,
            BinaryOperator::NotEq => Comparison::Different,
            BinaryOperator::Lt => Comparison::Less,
            BinaryOperator::LtEq => Comparison::AtMost,
            BinaryOperator::Gt => Comparison::Greater,
            BinaryOperator::GtEq => Comparison::AtLeast,
            other => {
                return Err(refused(format!(
                    "{left} {other} {right} is not a supported comparison"
                )));
            }
        };
        // Templates often contain comparisons of constants, such as 1 = 1.
        if let (Some(one), Some(other)) = (constant(left)?, constant(right)?) {
            return constants(one, comparison, other).map(Condition::Constant);
        }
        if constant(left)?.is_some() {
            let column = self.column(right)?;
            Ok(Condition::Compare(column, comparison.flipped(), self.literal(left, column)?))
        } else {
            let column = self.column(left)?;
            Ok(Condition::Compare(column, comparison, self.literal(right, column)?))
        }
    }

    /// A constant that a column can be compared with: a number for numeric columns, a text for all
    /// others.
    fn literal(&self, expression: &Expr, column: usize) -> Result<Literal> {
        let found = constant(expression)?
            .ok_or_else(|| refused(format!("{expression} is not a constant")))?;
        let (name, kind) = self.described(column);
        // A constant may be written as the release is, or in the plain way.
        let found = match (found, self.names.notations.get(name)) {
            (Literal::Text(text), Some(notation)) => {
                Literal::Text(notation.plain(&text).unwrap_or(text))
            }
            (found, _) => found,
        };
        let name = quoted(name);
        match (kind, found) {
            (_, Literal::Null) => Ok(Literal::Null),
            (Type::Integer | Type::Real, Literal::Number(number)) => Ok(Literal::Number(number)),
            (Type::Integer | Type::Real, Literal::Text(text)) => {
                let number = Type::Real.number(&text).ok_or_else(|| {
                    refused(format!(
                        "{name} is numeric and cannot be compared with {}",
                        quoted(&text)
                    ))
                })?;
                Ok(Literal::Number(number))
            }
            // However it is written: with a zone or without, with `T` or a space.
            (Type::Timestamp, Literal::Text(text)) => {
                let number = Type::Timestamp.number(&text);
                Ok(number.map_or(Literal::Text(text), Literal::Number))
            }
            (Type::Text | Type::Date, Literal::Text(text)) => Ok(Literal::Text(text)),
            (_, Literal::Number(number)) => {
                Err(refused(format!("{name} is text; write '{number}'")))
            }
        }
    }

    fn like(
        &self,
        expression: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        sensitive: bool,
    ) -> Result<Condition> {
        let column = self.column(expression)?;
        if column == ATTRIBUTE && self.names.numeric {
            let name = quoted(self.names.attribute);
            return Err(refused(format!("{name} is numeric and cannot be compared by LIKE")));
        }
        let (name, _) = self.described(column);
        if self.names.notations.contains_key(name) {
            let name = quoted(name);
            return Err(refused(format!("{name} has a notation and cannot be compared by LIKE")));
        }
        let text = |expression: &Expr| match constant(expression)? {
            Some(Literal::Text(text)) => Ok(text),
            _ => Err(refused(format!("{expression} is not a string"))),
        };
        let escape: Option<char> = match escape.map(text).transpose()? {
            None => None,
            Some(text) if text.chars().count() == 1 => text.chars().next(),
            Some(text) => {
                return Err(refused(format!("ESCAPE {} must be one character", quoted(&text))));
            }
        };
        let pattern = text(pattern)?;
        let pattern = if sensitive { pattern } else { pattern.to_lowercase() };
        let mut pieces = Vec::new();
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            pieces.push(match character {
                _ if Some(character) == escape => Piece::Character(
                    characters
                        .next()
                        .ok_or_else(|| refused("the pattern ends with its escape character"))?,
                ),
                '%' => Piece::Rest,
                '_' => Piece::Any,
                other => Piece::Character(other),
            });
        }
        Ok(Condition::Like(column, pieces, sensitive))
    }
}

/// The value of an expression, if it is a constant.
fn constant(expression: &Expr) -> Result<Option<Literal>> {
    Ok(match expression {
        Expr::Nested(inner) => constant(inner)?,
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match constant(expr)? {
            Some(Literal::Number(number)) => Some(Literal::Number(-number)),
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(text, false) => {
                let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
                Some(Literal::Number(
                    number.ok_or_else(|| refused(format!("{text} is not a number")))?,
                ))
            }
            Value::SingleQuotedString(text) => Some(Literal::Text(text.clone())),
            Value::Null => Some(Literal::Null),
            _ => None,
        },
        _ => None,
    })
}

/// Compares two constants.
fn constants(one: Literal, comparison: Comparison, other: Literal) -> Result<Option<bool>> {
    let cell = |text| super::condition::Cell { text, kind: Type::Real };
    match (&one, &other) {
        (Literal::Null, _) | (_, Literal::Null) => Ok(None),
        (Literal::Number(number), Literal::Number(_)) => {
            let text = number.to_string();
            Ok(Condition::Compare(0, comparison, other).holds(&|_| cell(&text)))
        }
        (Literal::Text(text), Literal::Text(_)) if !text.is_empty() => {
            Ok(Condition::Compare(0, comparison, other.clone()).holds(&|_| cell(text)))
        }
        _ => Err(refused("cannot compare constants of different types")),
    }
}
