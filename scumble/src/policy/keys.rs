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
    /// What it takes, such as a list of texts.
    pub kind: &'static str,
    /// The value that it has if it is not given; empty if it must be given.
    pub default: &'static str,
    /// A line for the section, or for the section that contains its table, and what it requires.
    pub example: &'static str,
}

const fn key(section: &'static str, name: &'static str, meaning: &'static str) -> Key {
    Key { section, name, meaning, kind: "", default: "", example: "" }
}

impl Key {
    const fn takes(
        mut self,
        kind: &'static str,
        default: &'static str,
        example: &'static str,
    ) -> Key {
        (self.kind, self.default, self.example) = (kind, default, example);
        self
    }
}

/// The list.
pub const KEYS: &[Key] = &[
    key("", "attributes", "a table for each column")
        .takes("tables", "", "attributes.age = { role = \"quasi-identifier\" }"),
    key("", "defaults", "defaults for all columns")
        .takes("table", "", "defaults = { role = \"insensitive\" }"),
    key("", "privacy", "requirements for every class of the release; all must hold")
        .takes("table", "", "privacy = { k = 10 }"),
    key("", "search", "how to search for the release")
        .takes("table", "", "search = { loss = \"dm\" }"),
    key("attributes.*", "role", "identifier, quasi-identifier, sensitive, target or insensitive")
        .takes("text", "", "role = \"quasi-identifier\""),
    key("attributes.*", "type", "integer, real, date, timestamp or text")
        .takes("text", "inferred", "type = \"integer\""),
    key(
        "attributes.*",
        "hierarchy",
        "the path of a CSV file (leaf;parent;…;root), or a table with the keys below",
    )
        .takes("path or table", "none; dates: the calendar", "hierarchy = \"education.csv\""),
    key(
        "attributes.*",
        "missing",
        "a list of values that mean \"missing\" in this column, in addition to the empty value",
    )
        .takes("list of texts", "none", "missing = [\"n/a\", \"?\"]"),
    key("attributes.*", "format", "how dates or timestamps are written, such as \"DD.MM.YYYY\" or \"M/D/YYYY hh:mm\"")
        .takes("text", "YYYY-MM-DD", "format = \"DD.MM.YYYY\""),
    key("attributes.*", "decimal", "\",\" or \".\": what separates the decimals of numbers")
        .takes("text", ".", "decimal = \",\""),
    key(
        "attributes.*",
        "thousands",
        "what may separate groups of three digits: a point, a comma, a space or an apostrophe",
    )
        .takes("text", "none", "thousands = \".\"\ndecimal = \",\""),
    key(
        "attributes.*",
        "weight",
        "how much the detail of a quasi-identifier matters to LM, relative to others, above 0",
    )
        .takes("number", "1", "weight = 3"),
    key(
        "attributes.*",
        "sets",
        "true: in local recodings, a class of texts without a hierarchy is labeled by the set of its values, such as {cold, flu}",
    )
        .takes("boolean", "false", "sets = true"),
    key(
        "attributes.*.hierarchy",
        "intervals",
        "a list of widths, each a multiple of the previous one",
    )
        .takes("list of numbers", "", "hierarchy = { intervals = [5, 10, 20] }"),
    key(
        "attributes.*.hierarchy",
        "from",
        "the minimum of the domain, a number or a date in quotes; with `intervals`",
    )
        .takes(
            "number or date",
            "a multiple of the widest interval",
            "hierarchy = { intervals = [5, 10], from = 0 }",
        ),
    key(
        "attributes.*.hierarchy",
        "to",
        "the maximum of the domain, inside the last interval; with `intervals`",
    )
        .takes(
            "number or date",
            "a multiple of the widest interval",
            "hierarchy = { intervals = [5, 10], to = 100 }",
        ),
    key(
        "attributes.*.hierarchy",
        "mask",
        "\"right\" or \"left\": the side from which characters are masked",
    )
        .takes("text", "", "hierarchy = { mask = \"right\" }"),
    key("attributes.*.hierarchy", "char", "the masking character")
        .takes("character", "*", "hierarchy = { mask = \"right\", char = \"#\" }"),
    key(
        "attributes.*.hierarchy",
        "dates",
        "a list of steps, from fine to coarse: month, quarter, year, decade; for timestamps also hour, day",
    )
        .takes("list of texts", "all", "hierarchy = { dates = [\"month\", \"year\"] }"),
    key(
        "attributes.*.hierarchy",
        "tree",
        "a list with a row of labels for each leaf, from the leaf to the root",
    )
        .takes(
            "list of lists",
            "",
            "hierarchy = { tree = [[\"Rome\", \"Italy\", \"*\"], [\"Oslo\", \"Norway\", \"*\"]] }",
        ),
    key("defaults", "role", "the role of columns that have none")
        .takes("text", "none", "role = \"insensitive\""),
    key("defaults", "missing", "a list of values that mean \"missing\" in every column")
        .takes("list of texts", "none", "missing = [\"n/a\"]"),
    key("privacy", "k", "k-anonymity: the minimum number of rows in a class")
        .takes("integer", "none", "k = 10"),
    key("privacy", "l-diversity", "a table (or a list of tables) with `kind` and `l`")
        .takes("table or list of tables", "none", "l-diversity = { kind = \"distinct\", l = 3 }"),
    key(
        "privacy",
        "t-closeness",
        "the maximum distance t, or a table (or a list of tables) with `t`",
    )
        .takes("number or table or list of tables", "none", "t-closeness = 0.2"),
    key(
        "privacy",
        "variance",
        "the minimum variance of numbers, or a table (or a list of tables) with `at-least`",
    )
        .takes("number or table or list of tables", "none", "variance = 1e6"),
    key(
        "privacy",
        "distribution",
        "the target distribution of a sensitive attribute: a table with `attribute` and `target`",
    )
        .takes("table", "none", "distribution = { attribute = \"salary\", target = \"uniform\" }"),
    key(
        "privacy",
        "presence",
        "delta-presence: a table with `min`, `max`, and `population` or `marginals`",
    )
        .takes("table", "none", "presence = { max = \"1/10\", population = \"population.csv\" }"),
    key("privacy.l-diversity", "kind", "frequency, distinct, entropy or recursive")
        .takes("text", "", "l-diversity = { kind = \"frequency\", l = 4 }"),
    key("privacy.l-diversity", "l", "the minimum diversity of a class, at least 1")
        .takes("number", "", "l-diversity = { kind = \"entropy\", l = 2.5 }"),
    key("privacy.l-diversity", "c", "the factor of recursive (c, l)-diversity, above 0")
        .takes("number", "", "l-diversity = { kind = \"recursive\", c = 3, l = 4 }"),
    key("privacy.l-diversity", "sensitive", "the sensitive attribute it applies to")
        .takes(
            "text",
            "all",
            "l-diversity = { kind = \"distinct\", l = 3, sensitive = \"diagnosis\" }",
        ),
    key("privacy.t-closeness", "t", "the maximum distance between a class and the table, 0 to 1")
        .takes("fraction", "", "t-closeness = { t = 0.2 }"),
    key("privacy.t-closeness", "distance", "fitting, equal, ordered or hierarchical")
        .takes("text", "fitting", "t-closeness = { t = 0.2, distance = \"equal\" }"),
    key("privacy.t-closeness", "sensitive", "the sensitive attribute it applies to")
        .takes("text", "all", "t-closeness = { t = 0.2, sensitive = \"diagnosis\" }"),
    key("privacy.variance", "at-least", "the minimum variance of a class, above 0")
        .takes("number", "", "variance = { at-least = 1e6 }"),
    key("privacy.variance", "sensitive", "the sensitive attribute it applies to")
        .takes("text", "all numeric ones", "variance = { at-least = 1e6, sensitive = \"salary\" }"),
    key(
        "privacy",
        "thresholds",
        "l+-diversity: the maximum share of a class that each sensitive value may have",
    )
        .takes(
            "table or list of tables",
            "none",
            "thresholds = { default = \"1/4\", HIV = \"1/20\" }",
        ),
    key("privacy.thresholds", "default", "the cap of values without a cap of their own")
        .takes("fraction", "no cap", "thresholds = { default = \"1/4\" }"),
    key(
        "privacy.thresholds",
        "from-frequency",
        "the cap of values rarer than average; caps of other values are proportional to their frequency",
    )
        .takes("fraction", "none", "thresholds = { from-frequency = \"1/4\" }"),
    key(
        "privacy.thresholds",
        "values",
        "a table from values to caps; caps may also be given next to these keys",
    )
        .takes("table", "none", "thresholds = { values = { HIV = \"1/20\" } }"),
    key(
        "privacy.thresholds",
        "values-known",
        "a list of values that may have a cap although the table does not have them; leaves of the attribute's hierarchy always may",
    )
        .takes(
            "list of texts",
            "none",
            "thresholds = { HIV = \"1/20\", values-known = [\"HIV\"] }",
        ),
    key("privacy.thresholds", "sensitive", "the sensitive attribute it applies to")
        .takes("text", "all", "thresholds = { default = \"1/4\", sensitive = \"diagnosis\" }"),
    key("privacy.presence", "min", "the minimum probability that a known person is in the table")
        .takes(
            "fraction",
            "0",
            "presence = { min = 0.01, max = 0.1, population = \"population.csv\" }",
        ),
    key("privacy.presence", "max", "the maximum probability")
        .takes("fraction", "1", "presence = { max = 0.1, population = \"population.csv\" }"),
    key(
        "privacy.presence",
        "population",
        "the path of a table of the whole population, including the people in the table",
    )
        .takes("path", "", "presence = { max = 0.1, population = \"population.csv\" }"),
    key(
        "privacy.presence",
        "marginals",
        "instead of `population`, the path of a CSV `attribute,value,count` over leaf values",
    )
        .takes(
            "path",
            "",
            "presence = { max = 0.1, marginals = \"marginals.csv\", confidence = 0.95 }",
        ),
    key(
        "privacy.presence",
        "marginals-of",
        "population or others: whether the table is counted in the marginals",
    )
        .takes(
            "text",
            "population",
            "presence = { max = 0.1, marginals = \"marginals.csv\", confidence = 0.95, marginals-of = \"others\" }",
        ),
    key(
        "privacy.presence",
        "confidence",
        "the minimum confidence that the range is kept; required with `marginals`",
    )
        .takes(
            "fraction",
            "",
            "presence = { max = 0.1, marginals = \"marginals.csv\", confidence = 0.95 }",
        ),
    key(
        "privacy.presence",
        "confidence-column",
        "a column with a confidence for each row; empty fields use `confidence`",
    )
        .takes(
            "text",
            "none",
            "presence = { max = 0.1, marginals = \"marginals.csv\", confidence = 0.95, confidence-column = \"care\" }",
        ),
    key(
        "privacy.presence",
        "cover",
        "table or all: all requires a class for every tuple that the marginals allow",
    )
        .takes(
            "text",
            "table",
            "presence = { max = 0.1, marginals = \"marginals.csv\", confidence = 0.95, cover = \"all\" }",
        ),
    key(
        "privacy.distribution",
        "attribute",
        "the sensitive attribute: numbers, or categories with a hierarchy",
    )
        .takes("text", "", "distribution = { attribute = \"salary\", target = \"uniform\" }"),
    key(
        "privacy.distribution",
        "target",
        "uniform, source, normal, zipf, the path of a CSV `value,weight`, or a table",
    )
        .takes(
            "text, path or table",
            "",
            "distribution = { attribute = \"salary\", target = \"source\" }",
        ),
    key("privacy.distribution", "targets", "a table from group names to targets")
        .takes(
            "table",
            "none",
            "distribution = { attribute = \"salary\", target = \"uniform\", groups = [\"region\"], targets = { North = \"normal\" } }",
        ),
    key("privacy.distribution", "groups", "a list of columns, or a table from columns to levels")
        .takes(
            "list of texts or table",
            "one group",
            "distribution = { attribute = \"salary\", target = \"uniform\", groups = [\"region\"] }",
        ),
    key(
        "privacy.distribution",
        "fakes",
        "the maximum number of fake values per group: a number, or a share such as \"5%\"",
    )
        .takes(
            "integer or share",
            "0",
            "distribution = { attribute = \"salary\", target = \"uniform\", fakes = \"5%\" }",
        ),
    key("privacy.distribution", "algorithm", "sa-only or qi-sa")
        .takes(
            "text",
            "as in [search], else sa-only",
            "distribution = { attribute = \"salary\", target = \"uniform\", algorithm = \"qi-sa\" }",
        ),
    key(
        "privacy.distribution",
        "arity",
        "the number of children of a node if the attribute has no hierarchy",
    )
        .takes(
            "integer",
            "2",
            "distribution = { attribute = \"salary\", target = \"uniform\", arity = 4 }",
        ),
    key(
        "privacy.distribution",
        "domain",
        "[from, to]: every whole number in this range is a value, even if it does not occur",
    )
        .takes(
            "list of two integers",
            "the values that occur",
            "distribution = { attribute = \"salary\", target = \"uniform\", domain = [0, 9999] }",
        ),
    key(
        "privacy.distribution",
        "rounding",
        "the maximum difference between the share of a node and its target, which allows smaller weights; or exact (default: \"1%\" at nodes where a group has few units of the weights, and for normal and zipf)",
    )
        .takes(
            "share or text",
            "1% where needed",
            "distribution = { attribute = \"salary\", target = \"uniform\", rounding = \"exact\" }",
        ),
    key("privacy.distribution.target", "kind", "uniform, source, normal or zipf")
        .takes(
            "text",
            "",
            "distribution = { attribute = \"salary\", target = { kind = \"uniform\" } }",
        ),
    key(
        "privacy.distribution.target",
        "of",
        "table or group: whose values and range define the target",
    )
        .takes(
            "text",
            "table",
            "distribution = { attribute = \"salary\", target = { kind = \"uniform\", of = \"group\" } }",
        ),
    key("privacy.distribution.target", "mean", "the mean of a normal target")
        .takes(
            "number",
            "that of the values",
            "distribution = { attribute = \"salary\", target = { kind = \"normal\", mean = 3000 } }",
        ),
    key("privacy.distribution.target", "deviation", "the standard deviation of a normal target")
        .takes(
            "number",
            "that of the values",
            "distribution = { attribute = \"salary\", target = { kind = \"normal\", deviation = 500 } }",
        ),
    key(
        "privacy.distribution.target",
        "s",
        "the exponent of a zipf target: the value of rank k has weight 1 / k^s",
    )
        .takes(
            "number",
            "1",
            "distribution = { attribute = \"salary\", target = { kind = \"zipf\", s = 0.5 } }",
        ),
    key(
        "search",
        "recoding",
        "any, levels, cuts, regions or local: the kind of recoding; auto takes the one with the least loss",
    )
        .takes("text", "any", "recoding = \"levels\""),
    key(
        "search",
        "algorithm",
        "auto, incognito, s-instant, mondrian, m-instant, rothko-t, rothko-s, local, l-plus-optimize or annealing; spalm, mpalm or sfalm for a presence; sa-only or qi-sa for a distribution",
    )
        .takes("text", "auto", "algorithm = \"mondrian\""),
    key("search", "loss", "lm, dm or cm: the loss to minimize")
        .takes("text", "lm", "loss = \"dm\""),
    key(
        "search",
        "split",
        "loss, median, info-gain or regression: how partitioning algorithms choose a split",
    )
        .takes("text", "loss", "split = \"median\""),
    key(
        "search",
        "least-gain",
        "the minimum gain; below it, partitioning algorithms split at the median",
    )
        .takes("number", "0.01", "least-gain = 0.05"),
    key(
        "search",
        "pooling",
        "true or false: whether partitioning algorithms split a node of a hierarchy although some children are too rare, which then stay together",
    )
        .takes("boolean", "true", "pooling = false"),
    key("search", "regions", "tight or cover: how partitioning algorithms label regions")
        .takes("text", "cover", "regions = \"tight\""),
    key("search", "space", "full-domain or subtree: the recodings that s-instant considers")
        .takes("text", "full-domain", "space = \"subtree\""),
    key(
        "search",
        "by",
        "probability or expectation: which estimate instant algorithms use (default: expectation if rows may be suppressed, else probability)",
    )
        .takes("text", "depends on suppression", "by = \"expectation\""),
    key(
        "search",
        "threshold",
        "the minimum probability, or the maximum number of rows expected to fail (default: 0.8, for m-instant 0.95; the rows that may be suppressed, at least 1)",
    )
        .takes("number", "see meaning", "threshold = 0.9"),
    key(
        "search",
        "strategy",
        "best-first, top-down or bottom-up: the order in which to visit full-domain recodings",
    )
        .takes("text", "best-first", "strategy = \"top-down\""),
    key(
        "search",
        "time-limit",
        "the time limit of a search for cuts or a local recoding, such as \"10s\"",
    )
        .takes("time", "none", "time-limit = \"10s\""),
    key(
        "search",
        "gap",
        "end the search for a local recoding as soon as at most this share of its LM is avoidable, such as \"5%\"",
    )
        .takes("share", "none", "gap = \"5%\""),
    key("search", "top", "the number of best cuts or local recodings to choose from at random")
        .takes("integer", "1", "top = 5\nalgorithm = \"local\""),
    key("search", "extra-generalization", "true: generalize the cut by one random step")
        .takes("boolean", "false", "extra-generalization = true\nalgorithm = \"l-plus-optimize\""),
    key(
        "search",
        "extra-suppression",
        "the maximum share of rows (or sensitive values) to suppress at random although no requirement forces it, such as \"1%\"",
    )
        .takes(
            "share",
            "0",
            "extra-suppression = \"1%\"\nalgorithm = \"l-plus-optimize\"\nsuppression = { scheme = \"all-records\" }",
        ),
    key(
        "search",
        "sample-tuples",
        "rows in a sample of rothko-s, and in a partition finished in memory",
    )
        .takes("integer", "depends on the memory limit", "sample-tuples = 50000"),
    key("search", "frequency-groups", "frequency groups that rothko-t keeps in memory")
        .takes("integer", "depends on the memory limit", "frequency-groups = 100000"),
    key("search", "fan-out", "partitions written at a time, 2 to 65536")
        .takes("integer", "depends on the memory limit", "fan-out = 64"),
    key(
        "search",
        "alpha",
        "the probability that a sample leads to a split that must be undone, at most 0.5",
    )
        .takes("number", "0.05", "alpha = 0.01"),
    key("search", "naive", "true: trust samples without a test, for comparison")
        .takes("boolean", "false", "naive = true"),
    key("search", "summary-kind", "histogram, bayes or sample: the kind of summary")
        .takes("text", "histogram", "summary-kind = \"bayes\""),
    key(
        "search",
        "max-parents",
        "the maximum number of parents of an attribute in a Bayesian network, 1 or 2",
    )
        .takes("integer", "1", "max-parents = 2\nsummary-kind = \"bayes\""),
    key(
        "search",
        "structure-search",
        "greedy or annealed: how to search for a network with two parents",
    )
        .takes("text", "greedy", "structure-search = \"annealed\""),
    key("search", "sample-rows", "rows in a summary of kind sample")
        .takes("integer", "20000", "sample-rows = 5000\nsummary-kind = \"sample\""),
    key(
        "search",
        "sigmas",
        "1 to 9: ignore densities more than this many standard deviations from the mean; with `marginals`",
    )
        .takes("integer", "2", "sigmas = 4"),
    key("search", "bucket", "the size of buckets of counts, at least 2; with `marginals`")
        .takes("integer", "4", "bucket = 8"),
    key(
        "search",
        "without",
        "a list of shortcuts to switch off: hybrid, expo, sd-cut, limit, max; with `marginals` pa, sd, dm, dc, moments, refinement, sharing",
    )
        .takes("list of texts", "none", "without = [\"sd-cut\"]"),
    key("search", "suppression", "a table with `scheme` and `limit`")
        .takes("table", "none", "suppression = { limit = \"5%\" }"),
    key(
        "search.suppression",
        "scheme",
        "records or none; for cuts none, all-records, violating-records, all-values or violating-values",
    )
        .takes("text", "records", "suppression = { scheme = \"all-records\" }"),
    key(
        "search.suppression",
        "limit",
        "the maximum share of rows to suppress, or of sensitive values if the scheme suppresses values",
    )
        .takes("share", "0; none with a scheme for cuts", "suppression = { limit = 0.05 }"),
    key("search.suppression", "token", "the string that replaces a suppressed sensitive value")
        .takes("text", "*", "suppression = { scheme = \"all-values\", token = \"?\" }"),
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
