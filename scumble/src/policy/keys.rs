//! All keys of a policy. Errors and the reference in `docs/policy.md` are generated from this list.

use strsim::levenshtein;

/// A key of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table that contains it; `attributes.*` for each attribute.
    pub section: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

const fn key(section: &'static str, name: &'static str, meaning: &'static str) -> Key {
    Key { section, name, meaning }
}

/// The list.
pub const KEYS: &[Key] = &[
    key("", "attributes", "a table for each column"),
    key("", "defaults", "defaults for all columns"),
    key("", "privacy", "requirements for every class of the release; all must hold"),
    key("", "search", "how to search for the release"),
    key("attributes.*", "role", "identifier, quasi-identifier, sensitive, target or insensitive"),
    key("attributes.*", "type", "integer, real, text or date (default: inferred from the values)"),
    key(
        "attributes.*",
        "hierarchy",
        "the path of a CSV file (leaf;parent;…;root), or a table with the keys below",
    ),
    key(
        "attributes.*",
        "missing",
        "a list of values that mean \"missing\" in this column, in addition to the empty value",
    ),
    key(
        "attributes.*",
        "format",
        "how dates are written, such as \"DD.MM.YYYY\" or \"M/D/YYYY\" (default: YYYY-MM-DD)",
    ),
    key(
        "attributes.*",
        "decimal",
        "\",\" or \".\": what separates the decimals of numbers (default: `.`)",
    ),
    key(
        "attributes.*",
        "thousands",
        "what may separate groups of three digits: a point, a comma, a space or an apostrophe (default: nothing)",
    ),
    key(
        "attributes.*",
        "weight",
        "how much the detail of a quasi-identifier matters to LM, relative to others, above 0 (default: 1)",
    ),
    key(
        "attributes.*",
        "sets",
        "true: in local recodings, a class of texts without a hierarchy is labeled by the set of its values, such as {cold, flu} (default: false)",
    ),
    key(
        "attributes.*.hierarchy",
        "intervals",
        "a list of widths, each a multiple of the previous one",
    ),
    key(
        "attributes.*.hierarchy",
        "from",
        "the minimum of the domain, a number or a date in quotes; with `intervals`",
    ),
    key(
        "attributes.*.hierarchy",
        "to",
        "the maximum of the domain, inside the last interval; with `intervals`",
    ),
    key(
        "attributes.*.hierarchy",
        "mask",
        "\"right\" or \"left\": the side from which characters are masked",
    ),
    key("attributes.*.hierarchy", "char", "the masking character (default: `*`)"),
    key(
        "attributes.*.hierarchy",
        "dates",
        "a list of steps, from fine to coarse: month, quarter, year, decade",
    ),
    key(
        "attributes.*.hierarchy",
        "tree",
        "a list with a row of labels for each leaf, from the leaf to the root",
    ),
    key("defaults", "role", "the role of columns that have none"),
    key("defaults", "missing", "a list of values that mean \"missing\" in every column"),
    key("privacy", "k", "k-anonymity: the minimum number of rows in a class"),
    key("privacy", "l-diversity", "a table (or a list of tables) with `kind` and `l`"),
    key(
        "privacy",
        "t-closeness",
        "the maximum distance t, or a table (or a list of tables) with `t`",
    ),
    key(
        "privacy",
        "variance",
        "the minimum variance of numbers, or a table (or a list of tables) with `at-least`",
    ),
    key(
        "privacy",
        "distribution",
        "the target distribution of a sensitive attribute: a table with `attribute` and `target`",
    ),
    key(
        "privacy",
        "presence",
        "delta-presence: a table with `min`, `max`, and `population` or `marginals`",
    ),
    key("privacy.l-diversity", "kind", "frequency, distinct, entropy or recursive"),
    key("privacy.l-diversity", "l", "the minimum diversity of a class, at least 1"),
    key("privacy.l-diversity", "c", "the factor of recursive (c, l)-diversity, above 0"),
    key("privacy.l-diversity", "sensitive", "the sensitive attribute it applies to (default: all)"),
    key("privacy.t-closeness", "t", "the maximum distance between a class and the table, 0 to 1"),
    key(
        "privacy.t-closeness",
        "distance",
        "fitting, equal, ordered or hierarchical (default: fitting)",
    ),
    key("privacy.t-closeness", "sensitive", "the sensitive attribute it applies to (default: all)"),
    key("privacy.variance", "at-least", "the minimum variance of a class, above 0"),
    key(
        "privacy.variance",
        "sensitive",
        "the sensitive attribute it applies to (default: all numeric ones)",
    ),
    key(
        "privacy",
        "thresholds",
        "l+-diversity: the maximum share of a class that each sensitive value may have",
    ),
    key(
        "privacy.thresholds",
        "default",
        "the cap of values without a cap of their own (default: no cap)",
    ),
    key(
        "privacy.thresholds",
        "from-frequency",
        "the cap of values rarer than average; caps of other values are proportional to their frequency",
    ),
    key(
        "privacy.thresholds",
        "values",
        "a table from values to caps; caps may also be given next to these keys",
    ),
    key(
        "privacy.thresholds",
        "values-known",
        "a list of values that may have a cap although the table does not have them; leaves of the attribute's hierarchy always may",
    ),
    key("privacy.thresholds", "sensitive", "the sensitive attribute it applies to (default: all)"),
    key(
        "privacy.presence",
        "min",
        "the minimum probability that a known person is in the table (default: 0)",
    ),
    key("privacy.presence", "max", "the maximum probability (default: 1)"),
    key(
        "privacy.presence",
        "population",
        "the path of a table of the whole population, including the people in the table",
    ),
    key(
        "privacy.presence",
        "marginals",
        "instead of `population`, the path of a CSV `attribute,value,count` over leaf values",
    ),
    key(
        "privacy.presence",
        "marginals-of",
        "population or others: whether the table is counted in the marginals (default: population)",
    ),
    key(
        "privacy.presence",
        "confidence",
        "the minimum confidence that the range is kept; required with `marginals`",
    ),
    key(
        "privacy.presence",
        "confidence-column",
        "a column with a confidence for each row; empty fields use `confidence`",
    ),
    key(
        "privacy.presence",
        "cover",
        "table or all: all requires a class for every tuple that the marginals allow (default: table)",
    ),
    key(
        "privacy.distribution",
        "attribute",
        "the sensitive attribute: numbers, or categories with a hierarchy",
    ),
    key(
        "privacy.distribution",
        "target",
        "uniform, source, normal, zipf, the path of a CSV `value,weight`, or a table",
    ),
    key("privacy.distribution", "targets", "a table from group names to targets"),
    key(
        "privacy.distribution",
        "groups",
        "a list of columns, or a table from columns to levels (default: one group)",
    ),
    key(
        "privacy.distribution",
        "fakes",
        "the maximum number of fake values per group: a number, or a share such as \"5%\" (default: 0)",
    ),
    key(
        "privacy.distribution",
        "algorithm",
        "sa-only or qi-sa (default: as in [search], else sa-only)",
    ),
    key(
        "privacy.distribution",
        "arity",
        "the number of children of a node if the attribute has no hierarchy (default: 2)",
    ),
    key(
        "privacy.distribution",
        "domain",
        "[from, to]: every whole number in this range is a value, even if it does not occur",
    ),
    key(
        "privacy.distribution",
        "rounding",
        "the maximum difference between the share of a node and its target, which allows smaller weights; or exact (default: \"1%\" at nodes where a group has few units of the weights, and for normal and zipf)",
    ),
    key("privacy.distribution.target", "kind", "uniform, source, normal or zipf"),
    key(
        "privacy.distribution.target",
        "of",
        "table or group: whose values and range define the target (default: table)",
    ),
    key(
        "privacy.distribution.target",
        "mean",
        "the mean of a normal target (default: that of the values)",
    ),
    key(
        "privacy.distribution.target",
        "deviation",
        "the standard deviation of a normal target (default: that of the values)",
    ),
    key(
        "privacy.distribution.target",
        "s",
        "the exponent of a zipf target: the value of rank k has weight 1 / k^s (default: 1)",
    ),
    key(
        "search",
        "recoding",
        "any, levels, cuts, regions or local: the kind of recoding; auto takes the one with the least loss (default: any)",
    ),
    key(
        "search",
        "algorithm",
        "auto, incognito, s-instant, mondrian, m-instant, rothko-t, rothko-s, local, l-plus-optimize or annealing; spalm, mpalm or sfalm for a presence; sa-only or qi-sa for a distribution (default: auto)",
    ),
    key("search", "loss", "lm, dm or cm: the loss to minimize (default: lm)"),
    key(
        "search",
        "split",
        "loss, median, info-gain or regression: how partitioning algorithms choose a split (default: loss)",
    ),
    key(
        "search",
        "least-gain",
        "the minimum gain; below it, partitioning algorithms split at the median (default: 0.01)",
    ),
    key(
        "search",
        "pooling",
        "true or false: whether partitioning algorithms split a node of a hierarchy although some children are too rare, which then stay together (default: true)",
    ),
    key(
        "search",
        "regions",
        "tight or cover: how partitioning algorithms label regions (default: cover)",
    ),
    key(
        "search",
        "space",
        "full-domain or subtree: the recodings that s-instant considers (default: full-domain)",
    ),
    key(
        "search",
        "by",
        "probability or expectation: which estimate instant algorithms use (default: expectation if rows may be suppressed, else probability)",
    ),
    key(
        "search",
        "threshold",
        "the minimum probability, or the maximum number of rows expected to fail (default: 0.8, for m-instant 0.95; the rows that may be suppressed, at least 1)",
    ),
    key(
        "search",
        "strategy",
        "best-first, top-down or bottom-up: the order in which to visit full-domain recodings (default: best-first)",
    ),
    key(
        "search",
        "time-limit",
        "the time limit of a search for cuts or a local recoding, such as \"10s\" (default: none)",
    ),
    key(
        "search",
        "gap",
        "end the search for a local recoding as soon as at most this share of its LM is avoidable, such as \"5%\" (default: none)",
    ),
    key(
        "search",
        "top",
        "the number of best cuts or local recodings to choose from at random (default: 1)",
    ),
    key(
        "search",
        "extra-generalization",
        "true: generalize the cut by one random step (default: false)",
    ),
    key(
        "search",
        "extra-suppression",
        "the maximum share of rows (or sensitive values) to suppress at random although no requirement forces it, such as \"1%\" (default: 0)",
    ),
    key(
        "search",
        "sample-tuples",
        "rows in a sample of rothko-s, and in a partition finished in memory (default: depends on the memory limit)",
    ),
    key(
        "search",
        "frequency-groups",
        "frequency groups that rothko-t keeps in memory (default: depends on the memory limit)",
    ),
    key(
        "search",
        "fan-out",
        "partitions written at a time, 2 to 65536 (default: depends on the memory limit)",
    ),
    key(
        "search",
        "alpha",
        "the probability that a sample leads to a split that must be undone, at most 0.5 (default: 0.05)",
    ),
    key("search", "naive", "true: trust samples without a test, for comparison (default: false)"),
    key(
        "search",
        "summary-kind",
        "histogram, bayes or sample: the kind of summary (default: histogram)",
    ),
    key(
        "search",
        "max-parents",
        "the maximum number of parents of an attribute in a Bayesian network, 1 or 2 (default: 1)",
    ),
    key(
        "search",
        "structure-search",
        "greedy or annealed: how to search for a network with two parents (default: greedy)",
    ),
    key("search", "sample-rows", "rows in a summary of kind sample (default: 20000)"),
    key(
        "search",
        "sigmas",
        "1 to 9: ignore densities more than this many standard deviations from the mean; with `marginals` (default: 2)",
    ),
    key(
        "search",
        "bucket",
        "the size of buckets of counts, at least 2; with `marginals` (default: 4)",
    ),
    key(
        "search",
        "without",
        "a list of shortcuts to switch off: hybrid, expo, sd-cut, limit, max; with `marginals` pa, sd, dm, dc, moments, refinement, sharing",
    ),
    key("search", "suppression", "a table with `scheme` and `limit`"),
    key(
        "search.suppression",
        "scheme",
        "records or none; for cuts none, all-records, violating-records, all-values or violating-values (default: records)",
    ),
    key(
        "search.suppression",
        "limit",
        "the maximum share of rows to suppress, or of sensitive values if the scheme suppresses values (default: 0; no limit with a scheme for cuts)",
    ),
    key(
        "search.suppression",
        "token",
        "the string that replaces a suppressed sensitive value (default: `*`)",
    ),
];

/// The keys of a section.
pub(super) fn of(section: &str) -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(move |key| key.section == section).map(|key| key.name)
}

/// The name nearest to what was typed, if it is near enough to be meant.
pub fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let typed_lower = typed.to_lowercase();
    let ranked = names.map(|name| (levenshtein(&typed_lower, &name.to_lowercase()), name));
    let best = ranked.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= 1 + typed.chars().count().max(best.1.chars().count()) / 3)
        .then(|| best.1.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        assert_eq!(nearest("heirarchy", of("attributes.*")), Some("hierarchy".into()));
        assert_eq!(nearest("l-diversty", of("privacy")), Some("l-diversity".into()));
        assert_eq!(nearest("xyzzyplugh", of("privacy")), None);
    }
}
