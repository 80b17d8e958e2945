//! SQL for queries with a condition on the sensitive attribute.
//!
//! The same bounds as in [`crate::query::filtered`], in SQL that SQLite, PostgreSQL and DuckDB
//! share. A query is a chain of common table expressions:
//!
//! | name | rows |
//! |---|---|
//! | `chosen` | groups with the number of records that satisfy the condition on the records |
//! | `leaf` | nodes with the values below them, and whether these satisfy the condition |
//! | `node` | nodes with the smallest and the largest value that does, and whether all do |
//! | `part` | the subdomains of the chosen groups as such nodes, with copies |

use super::scripts::name;

/// How the values below a node are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Numbers, each of which is a leaf.
    Numbers,
    /// Numbers, where a leaf may be a run of whole numbers.
    Runs,
    /// Categories.
    Categories,
}

/// Nodes without children.
const LEAVES: &str = "FROM hierarchy AS h LEFT JOIN (SELECT DISTINCT target, parent FROM hierarchy) AS p \
                      ON p.target = h.target AND p.parent = h.value WHERE p.parent IS NULL";

const CHOSEN: &str = "chosen AS (SELECT \"group\", count(*) AS selected FROM records WHERE 1 = 1 GROUP BY \"group\"),\n";

const PART: &str = "bucket AS (SELECT \"group\", value, count(*) AS copies FROM sensitive GROUP BY \"group\", value),\n\
    part AS (SELECT chosen.\"group\", chosen.selected, bucket.value, bucket.copies, node.low, node.high, node.always\n  \
    FROM chosen JOIN groups ON groups.\"group\" = chosen.\"group\" JOIN bucket ON bucket.\"group\" = chosen.\"group\"\n  \
    JOIN node ON node.of_target = groups.target AND node.value = bucket.value)";

const ROWS: &str = "(SELECT coalesce(sum(selected), 0) FROM chosen) AS rows";

/// The expressions up to `part`.
fn beginning(attribute: &str, values: Values) -> String {
    let attribute = name(attribute);
    let wanted = "CASE WHEN 2 = 2 THEN 1 ELSE 0 END AS is_wanted";
    let middle = "low + CAST((high - low - (high - low) % 2) / 2 AS BIGINT)";
    let used = "used AS (SELECT DISTINCT h.target, h.value, h.lower, h.upper FROM chosen \
                JOIN groups ON groups.\"group\" = chosen.\"group\" JOIN sensitive ON sensitive.\"group\" = chosen.\"group\"\n  \
                JOIN hierarchy AS h ON h.target = groups.target AND h.value = sensitive.value),\n";
    let of_leaves = format!(
        "node AS (SELECT used.target AS of_target, used.value, \
         min(CASE WHEN is_wanted = 1 THEN leaf.{attribute} END) AS low, \
         max(CASE WHEN is_wanted = 1 THEN leaf.{attribute} END) AS high, min(is_wanted) AS always\n  \
         FROM used JOIN leaf ON leaf.of_target = used.target AND leaf.{attribute} BETWEEN used.lower AND used.upper \
         GROUP BY used.target, used.value),\n"
    );
    let text = match values {
        Values::Numbers => format!(
            "WITH {CHOSEN}leaf AS (SELECT of_target, {attribute}, {wanted}\n  \
             FROM (SELECT target AS of_target, lower AS {attribute} FROM hierarchy WHERE lower = upper) AS leaves),\n\
             {used}{of_leaves}"
        ),
        Values::Runs => format!(
            "WITH RECURSIVE {CHOSEN}sides AS (SELECT 0 AS side UNION ALL SELECT 1),\n\
             run(target, low, high) AS (SELECT h.target, h.lower, h.upper {LEAVES}\n  \
             UNION ALL SELECT target, CASE side WHEN 0 THEN low ELSE {middle} + 1 END,\n  \
             CASE side WHEN 0 THEN {middle} ELSE high END FROM run CROSS JOIN sides WHERE low < high),\n\
             leaf AS (SELECT of_target, {attribute}, {wanted}\n  \
             FROM (SELECT target AS of_target, low AS {attribute} FROM run WHERE low = high) AS leaves),\n\
             {used}{of_leaves}"
        ),
        Values::Categories => format!(
            "WITH RECURSIVE {CHOSEN}above(target, leaf, node) AS (SELECT h.target, h.value, h.value {LEAVES}\n  \
             UNION ALL SELECT above.target, above.leaf, h.parent FROM above \
             JOIN hierarchy AS h ON h.target = above.target AND h.value = above.node WHERE h.parent <> ''),\n\
             leaf AS (SELECT of_target, of_node, {wanted}\n  \
             FROM (SELECT target AS of_target, node AS of_node, leaf AS {attribute} FROM above) AS leaves),\n\
             node AS (SELECT of_target, of_node AS value, max(CASE WHEN is_wanted = 1 THEN 0 END) AS low, \
             max(CASE WHEN is_wanted = 1 THEN 0 END) AS high, min(is_wanted) AS always FROM leaf GROUP BY of_target, of_node),\n"
        ),
    };
    text + PART
}

/// One end of the bounds: the smallest answer from the low values, or the largest from the high.
struct Side {
    /// The values.
    column: &'static str,
    /// The aggregate that finds the best of them, and the one that finds the worst.
    best: &'static str,
    worst: &'static str,
    /// A better value comes first in this order.
    order: &'static str,
    /// Is at least as good as.
    as_good: &'static str,
    /// Is worse than.
    worse: &'static str,
}

const LOW: Side =
    Side { column: "low", best: "min", worst: "max", order: "", as_good: "<=", worse: ">" };
const HIGH: Side =
    Side { column: "high", best: "max", worst: "min", order: " DESC", as_good: ">=", worse: "<" };

/// How many copies are taken, where `upto` counts the copies so far.
const TAKEN: &str = "CASE WHEN upto <= selected THEN copies WHEN upto - copies < selected THEN selected - upto + copies ELSE 0 END";

fn count() -> String {
    format!(
        "SELECT {ROWS}, coalesce(sum(CASE WHEN selected > rejected THEN selected - rejected ELSE 0 END), 0) AS lower,\n  \
         coalesce(sum(CASE WHEN selected < possible THEN selected ELSE possible END), 0) AS upper\n\
         FROM (SELECT selected, sum(CASE WHEN always = 0 THEN copies ELSE 0 END) AS rejected,\n  \
         sum(CASE WHEN low IS NULL THEN 0 ELSE copies END) AS possible FROM part GROUP BY \"group\", selected) AS counted;\n"
    )
}

/// The bound of a sum: the best contributions of each group, or one value if all are rejected.
fn sum(side: &Side) -> String {
    let Side { column, best, order, worse, .. } = side;
    format!(
        "(SELECT CASE WHEN sum(taken * is_taken) = 0 THEN (SELECT {best}({column}) FROM part) ELSE sum(taken * cost) END\n  \
         FROM (SELECT cost, is_taken, {TAKEN} AS taken\n  \
         FROM (SELECT selected, copies, cost, is_taken, \
         sum(copies) OVER (PARTITION BY \"group\" ORDER BY cost{order}, value ROWS UNBOUNDED PRECEDING) AS upto\n  \
         FROM (SELECT \"group\", selected, value, copies,\n  \
         CASE WHEN {column} IS NULL OR (always = 0 AND {column} {worse} 0) THEN 0 ELSE {column} END AS cost,\n  \
         CASE WHEN {column} IS NULL OR (always = 0 AND {column} {worse} 0) THEN 0 ELSE 1 END AS is_taken\n  \
         FROM part) AS offer) AS ranked) AS taken_parts)"
    )
}

/// The bound of a mean: of the worlds that are best for each value as the mean, the best.
fn mean(side: &Side) -> String {
    let Side { column, best, order, worse, .. } = side;
    format!(
        "(SELECT {best}(total * 1.0 / number)\n  \
         FROM (SELECT mean, sum(taken * is_taken * coalesce({column}, 0)) AS total, sum(taken * is_taken) AS number\n  \
         FROM (SELECT mean, {column}, is_taken, {TAKEN} AS taken\n  \
         FROM (SELECT mean, selected, copies, {column}, is_taken, \
         sum(copies) OVER (PARTITION BY mean, \"group\" ORDER BY cost{order}, is_taken DESC, value ROWS UNBOUNDED PRECEDING) AS upto\n  \
         FROM (SELECT mean, \"group\", selected, value, copies, {column},\n  \
         CASE WHEN {column} IS NULL OR (always = 0 AND {column} {worse} mean) THEN 0 ELSE {column} - mean END AS cost,\n  \
         CASE WHEN {column} IS NULL OR (always = 0 AND {column} {worse} mean) THEN 0 ELSE 1 END AS is_taken\n  \
         FROM part CROSS JOIN (SELECT DISTINCT {column} AS mean FROM part WHERE {column} IS NOT NULL) AS means) AS offer) AS ranked) AS taken_parts\n  \
         GROUP BY mean) AS worlds WHERE number > 0)"
    )
}

/// The best value.
fn best(side: &Side) -> String {
    format!("(SELECT {}({}) FROM part)", side.best, side.column)
}

/// The value that no group can avoid, or the best one if all can.
fn forced(side: &Side) -> String {
    let Side { column, best, worst, order, as_good, .. } = side;
    format!(
        "(SELECT CASE WHEN forced {as_good} best OR forced IS NULL THEN best ELSE forced END\n  \
         FROM (SELECT (SELECT {best}({column}) FROM part) AS best, (SELECT {worst}(forced)\n  \
         FROM (SELECT {best}({column}) AS forced FROM (SELECT \"group\", selected - rejected AS needed, {column}, \
         sum(copies) OVER (PARTITION BY \"group\" ORDER BY {column}{order}, value ROWS UNBOUNDED PRECEDING) AS upto\n  \
         FROM (SELECT \"group\", selected, value, copies, {column}, always, \
         sum(CASE WHEN always = 0 THEN copies ELSE 0 END) OVER (PARTITION BY \"group\") AS rejected FROM part) AS counted\n  \
         WHERE always = 1) AS ranked WHERE needed > 0 AND upto >= needed GROUP BY \"group\") AS groups_forced) AS forced) AS ends)"
    )
}

/// The bound of a median: the best value at which the balance is above 0, or the mean of one at
/// which it is 0 and the next that a group cannot avoid.
fn median(side: &Side) -> String {
    let Side { column, best, as_good, worse, .. } = side;
    let must = "selected > better + rejected";
    format!(
        "(SELECT {best}(CASE WHEN balance > 0 THEN middle * 1.0 WHEN balance = 0 THEN (middle + other) * 1.0 / 2 END)\n  \
         FROM (SELECT middle, sum(CASE WHEN better < selected THEN better ELSE selected END\n  \
         - CASE WHEN {must} THEN selected - better - rejected ELSE 0 END) AS balance, {best}(CASE WHEN {must} THEN other END) AS other\n  \
         FROM (SELECT middle, selected, sum(CASE WHEN {column} {as_good} middle THEN copies ELSE 0 END) AS better,\n  \
         sum(CASE WHEN always = 0 AND ({column} IS NULL OR {column} {worse} middle) THEN copies ELSE 0 END) AS rejected,\n  \
         {best}(CASE WHEN always = 1 AND {column} {worse} middle THEN {column} END) AS other\n  \
         FROM part CROSS JOIN (SELECT DISTINCT {column} AS middle FROM part WHERE {column} IS NOT NULL) AS middles\n  \
         GROUP BY middle, \"group\", selected) AS counted GROUP BY middle) AS balances)"
    )
}

/// The queries with a condition on the attribute: COUNT for categories, all for numbers.
pub(super) fn queries(attribute: &str, values: Values) -> String {
    let beginning = beginning(attribute, values);
    let shown = attribute.replace('\n', " ");
    let mut text = format!(
        "\n-- Replace 1 = 1 by any condition on the records, and 2 = 2 by any condition on {shown}.\n\
         -- rows is the number of records that satisfy the first; the bounds are about those that satisfy both.\n\
         \n-- COUNT with a condition on {shown}\n{beginning}\n{}",
        count()
    );
    if values == Values::Categories {
        return text;
    }
    for (aggregate, lower, upper) in [
        ("SUM", sum(&LOW), sum(&HIGH)),
        ("AVG", mean(&LOW), mean(&HIGH)),
        ("MIN", best(&LOW), forced(&HIGH)),
        ("MAX", forced(&LOW), best(&HIGH)),
        ("MEDIAN", median(&LOW), median(&HIGH)),
    ] {
        text += &format!(
            "\n-- {aggregate} with a condition on {shown}\n{beginning}\nSELECT {ROWS},\n  {lower} AS lower,\n  {upper} AS upper;\n"
        );
    }
    text
}
