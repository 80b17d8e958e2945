//! What a guarantee means, in plain language, and what it does not mean.

use crate::policy::{ClosenessAsked, DiversityAsked, Privacy, VarianceAsked};
use crate::portrait::counted;
use crate::privacy::Diversity;

/// A requirement in plain language.
pub(super) struct Meaning {
    /// Its name.
    pub(super) name: String,
    /// What it means.
    pub(super) means: String,
    /// What it does not protect from.
    pub(super) limits: String,
}

fn meaning(
    name: impl Into<String>,
    means: impl Into<String>,
    limits: impl Into<String>,
) -> Meaning {
    Meaning { name: name.into(), means: means.into(), limits: limits.into() }
}

/// Every requirement that is asked for.
pub(super) fn meanings(asked: &Privacy) -> Vec<Meaning> {
    let mut all = Vec::new();
    if let Some(k) = asked.k {
        all.push(meaning(
            format!("k-anonymity with k = {k}"),
            format!(
                "Every row looks the same as at least {} in all quasi-identifiers. Somebody \
                 who knows these attributes of a person finds at least {k} rows, and cannot tell \
                 which of them is the person's.",
                counted(k.saturating_sub(1), "other row", "other rows")
            ),
            "It does not hide what all rows of a class have in common. If everybody in a class has \
             the same diagnosis, the diagnosis is known without knowing the row. It does not hide \
             that a person is in the table.",
        ));
    }
    all.extend(asked.diversity.iter().map(diversity));
    all.extend(asked.closeness.iter().map(closeness));
    all.extend(asked.variance.iter().map(variance));
    if let Some(asked) = &asked.thresholds {
        all.push(meaning(
            format!("thresholds{}", of(asked.sensitive.as_deref())),
            "No class has more than a given share of rows with a given value. Somebody who knows a \
             person's class can be at most that sure of the value.",
            "Values without a cap of their own or a default cap are not limited.",
        ));
    }
    if let Some(asked) = &asked.presence {
        all.push(meaning(
            format!("delta-presence from {} to {}", asked.min, asked.max),
            "The probability that a person of the population is in the table stays within this \
             range for somebody who knows the whole population and its quasi-identifiers.",
            "It bounds a probability, it does not hide everything. It holds for the population that \
             the policy names, and says nothing about people outside of it.",
        ));
    }
    if let Some(asked) = &asked.distribution {
        all.push(meaning(
            format!("target distribution of {}", asked.attribute),
            "The sensitive values of each group are generalized and separated from the records, so \
             that any value of a person looks drawn from the target distribution.",
            "Quasi-identifiers are unchanged, so the release shows who is in it. Somebody who knows \
             the values of some people of a group can infer more about the others.",
        ));
    }
    all
}

fn closeness(asked: &ClosenessAsked) -> Meaning {
    meaning(
        format!("t-closeness{} with t = {}", of(asked.sensitive.as_deref()), asked.t),
        "In every class the sensitive values are distributed almost as in the whole table: the \
         distance between the two distributions is at most t. Knowing somebody's class hardly \
         changes what can be guessed about the person.",
        "It does not hide the distribution of the whole table. If most people of the table have a \
         value, that can be guessed of everybody in it.",
    )
}

fn variance(asked: &VarianceAsked) -> Meaning {
    meaning(
        format!("variance{} of at least {}", of(asked.sensitive.as_deref()), asked.at_least),
        "In every class the numbers differ enough that a person's number is not known closely.",
        "It does not bound the share of any single number: many people of a class may have the \
         same one.",
    )
}

fn diversity(asked: &DiversityAsked) -> Meaning {
    let of = of(asked.sensitive.as_deref());
    match &asked.form {
        Diversity::Distinct(l) => meaning(
            format!("distinct l-diversity{of} with l = {l}"),
            format!("Every class has at least {l} different sensitive values."),
            "It does not say how often each of them occurs. One value may still belong to nearly \
             everybody in a class.",
        ),
        Diversity::Frequency(l) => meaning(
            format!("l-diversity{of} with l = {l}"),
            format!(
                "In every class the most frequent sensitive value belongs to at most one row in \
                 {l}. Somebody who knows a person's class can be at most that sure of the value."
            ),
            "Somebody who can rule out some of the values by other knowledge can be more sure of \
             the rest.",
        ),
        Diversity::Entropy(l) => meaning(
            format!("entropy l-diversity{of} with l = {l}"),
            format!(
                "In every class the sensitive values are spread at least as evenly as {l} values \
                 that are equally frequent, measured by entropy."
            ),
            "The most frequent value of a class may still have a larger share than one in l.",
        ),
        Diversity::Recursive { c, l } => meaning(
            format!("recursive l-diversity{of} with c = {c} and l = {l}"),
            format!(
                "In every class the most frequent value occurs less than {c} times as often as all \
                 values together that are not among the {} most frequent ones. So no value \
                 dominates even if some are ruled out.",
                l.saturating_sub(1)
            ),
            "It does not bound the share of a single value directly.",
        ),
    }
}

fn of(sensitive: Option<&str>) -> String {
    sensitive.map_or(String::new(), |name| format!(" of {name}"))
}
