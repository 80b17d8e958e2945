//! How to search: the algorithm, what it minimises, and its parameters.

use super::Privacy;
use super::entry::{Entry, Section};
use crate::error::Result;
use crate::estimate::multinomial::Shortcuts as EstimateShortcuts;
use crate::loss::LossChoice;
use crate::privacy::Shortcuts as PresenceShortcuts;
use crate::ratio::Ratio;
use crate::recoding::Style;
use crate::search::cuts::Suppression;
use crate::search::lattice::incognito::Strategy;
use crate::search::regions::{Criterion, Partitioning};
use crate::summary::SummaryKind;
use crate::table::Type;
use std::time::Duration;

/// A search algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The one that suits the policy and the data.
    Auto,
    /// The optimal full-domain recoding.
    Incognito,
    /// A full-domain recoding, or cuts, found from a summary.
    SInstant,
    /// Greedy partitioning in memory.
    Mondrian,
    /// Partitioning that a summary decides.
    MInstant,
    /// Greedy partitioning on disk, by exact counts.
    RothkoT,
    /// Greedy partitioning on disk, by samples.
    RothkoS,
    /// The optimal full-subtree recoding.
    LPlusOptimize,
    /// Simulated annealing over full-subtree recodings.
    Annealing,
    /// The optimal full-domain recoding under a presence with a population.
    Spalm,
    /// Greedy partitioning under a presence.
    Mpalm,
    /// Local recoding: a class for each distinct tuple.
    Local,
    /// The best full-domain recoding under a presence with marginals.
    Sfalm,
    /// A bucket for each group of a distribution.
    SaOnly,
    /// A bucket for each part of equal quasi-identifiers.
    QiSa,
}

impl Algorithm {
    /// Every algorithm that exists, with its name and meaning.
    pub const NAMES: [(&'static str, Algorithm, &'static str); 15] = [
        (
            "auto",
            Algorithm::Auto,
            "the kind of recoding with the least loss; local if the input exceeds the memory",
        ),
        (
            "incognito",
            Algorithm::Incognito,
            "the provably best full-domain recoding: one level per attribute",
        ),
        (
            "s-instant",
            Algorithm::SInstant,
            "a full-domain recoding chosen from a summary of the table, checked against the rows",
        ),
        ("mondrian", Algorithm::Mondrian, "greedy partitioning into regions, in memory"),
        (
            "m-instant",
            Algorithm::MInstant,
            "partitioning chosen from a summary of the table, corrected against the rows",
        ),
        (
            "rothko-t",
            Algorithm::RothkoT,
            "the regions of mondrian for tables larger than memory, from exact counts",
        ),
        (
            "rothko-s",
            Algorithm::RothkoS,
            "partitioning for tables larger than memory, from samples",
        ),
        (
            "local",
            Algorithm::Local,
            "local recoding: classes with the least loss, found by ruin and recreate",
        ),
        (
            "l-plus-optimize",
            Algorithm::LPlusOptimize,
            "the provably best full-subtree recoding: one cut per attribute",
        ),
        (
            "annealing",
            Algorithm::Annealing,
            "simulated annealing over the same cuts, for comparison",
        ),
        (
            "spalm",
            Algorithm::Spalm,
            "for `presence` with a population: the provably best full-domain recoding",
        ),
        ("mpalm", Algorithm::Mpalm, "for `presence`: greedy partitioning into regions"),
        ("sfalm", Algorithm::Sfalm, "for `presence` with marginals: the best full-domain recoding"),
        ("sa-only", Algorithm::SaOnly, "for `distribution`: each group is one bucket"),
        (
            "qi-sa",
            Algorithm::QiSa,
            "for `distribution`: each group is split by equal quasi-identifiers",
        ),
    ];

    /// Its name in a policy.
    pub fn name(self) -> &'static str {
        Algorithm::NAMES.iter().find(|(_, known, _)| *known == self).map_or("", |(name, ..)| name)
    }

    /// Whether it partitions the space into regions.
    pub fn is_partitioning(self) -> bool {
        matches!(
            self,
            Algorithm::Mondrian
                | Algorithm::MInstant
                | Algorithm::RothkoT
                | Algorithm::RothkoS
                | Algorithm::Mpalm
        )
    }

    /// Whether it is decided from a summary.
    pub fn is_instant(self) -> bool {
        matches!(self, Algorithm::SInstant | Algorithm::MInstant)
    }

    /// Whether it leaves the kind of recoding open.
    pub(crate) fn is_open(self) -> bool {
        self == Algorithm::Auto
    }

    /// Whether it looks for cuts.
    pub fn is_on_cuts(self) -> bool {
        matches!(self, Algorithm::LPlusOptimize | Algorithm::Annealing)
    }
}

/// The kind of recoding that is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The one that loses the least.
    #[default]
    Any,
    /// One level per column.
    Levels,
    /// One cut per column.
    Cuts,
    /// Boxes of one partition.
    Regions,
    /// Classes whose labels may overlap.
    Local,
}

impl Kind {
    /// Every kind with its name in a policy.
    pub const NAMES: [(&'static str, Kind); 5] = [
        ("any", Kind::Any),
        ("levels", Kind::Levels),
        ("cuts", Kind::Cuts),
        ("regions", Kind::Regions),
        ("local", Kind::Local),
    ];

    /// Its name in a policy.
    pub fn name(self) -> &'static str {
        Kind::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// Whether another kind is wanted.
    pub fn allows(self, kind: Kind) -> bool {
        self == Kind::Any || self == kind
    }
}

impl Algorithm {
    /// The kind of recoding that it finds; `None` if it finds several kinds, or something else.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Algorithm::Incognito | Algorithm::Spalm | Algorithm::Sfalm => Some(Kind::Levels),
            Algorithm::LPlusOptimize | Algorithm::Annealing => Some(Kind::Cuts),
            Algorithm::Local => Some(Kind::Local),
            _ if self.is_partitioning() => Some(Kind::Regions),
            _ => None,
        }
    }
}

/// The kind of recoding, and the algorithm that finds it if the policy leaves that open.
fn recoding(section: &Section<'_>, privacy: &Privacy, search: &mut SearchAsked) -> Result<()> {
    let Some(entry) = section.get("recoding") else {
        // An order in which to visit levels asks for levels.
        let is_open = search.algorithm == Algorithm::Auto && privacy.presence.is_none();
        if is_open && section.get("strategy").is_some() {
            search.algorithm = Algorithm::Incognito;
        }
        return Ok(());
    };
    search.recoding = entry.choice(Kind::NAMES)?;
    let fits = |kind: Kind| search.recoding.allows(kind);
    let instant = match search.space {
        Space::FullDomain => Kind::Levels,
        Space::Subtree => Kind::Cuts,
    };
    let found = match search.algorithm {
        Algorithm::SInstant => Some(instant),
        algorithm => algorithm.kind(),
    };
    if let Some(found) = found.filter(|found| !fits(*found)) {
        return Err(entry.inapplicable(format!(
            "cannot be used with the algorithm {}, which finds {}",
            search.algorithm.name(),
            found.name()
        )));
    }
    if search.algorithm != Algorithm::Auto {
        return Ok(());
    }
    search.algorithm = match (search.recoding, &privacy.presence) {
        (Kind::Any, _) | (Kind::Levels, Some(_)) => Algorithm::Auto,
        (Kind::Regions, None) if privacy.distribution.is_some() => Algorithm::Mondrian,
        (Kind::Regions, None) => Algorithm::Auto,
        (Kind::Regions, Some(_)) => Algorithm::Mpalm,
        (Kind::Levels, None) => Algorithm::Incognito,
        (Kind::Cuts, _) => Algorithm::LPlusOptimize,
        (Kind::Local, _) => Algorithm::Local,
    };
    Ok(())
}

impl SearchAsked {
    /// Whether a release may lack rows or values of the input.
    pub fn may_suppress(&self) -> bool {
        self.suppression > Ratio::ZERO
            || self.scheme.is_some_and(|scheme| scheme != Suppression::None)
    }
}

/// How to search.
#[derive(Clone, Debug)]
pub struct SearchAsked {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The kind of recoding that is wanted.
    pub recoding: Kind,
    /// What is minimised.
    pub loss: LossChoice,
    /// The share of rows that may be left out.
    pub suppression: Ratio,
    /// What happens to classes that fail in a search for cuts; `None` if whole classes are left out
    /// up to the share.
    pub scheme: Option<Suppression>,
    /// What replaces a suppressed sensitive value.
    pub token: String,
    /// How partitioning algorithms split.
    pub partitioning: Partitioning,
    /// Which recodings s-instant goes through.
    pub space: Space,
    /// Which estimate instant algorithms go by; the algorithm's default if `None`.
    pub by: Option<ByAsked>,
    /// The threshold of the estimate; the algorithm's default if `None`.
    pub threshold: Option<Ratio>,
    limit: Option<Ratio>,
    strategy: Option<Strategy>,
    cuts: CutParameters,
    disk: DiskParameters,
    instant: InstantParameters,
    presence: PresenceShortcuts,
    without: Vec<String>,
}

impl SearchAsked {
    /// The limit on suppression, if it is given. Without one, rows are suppressed by a scheme for
    /// cuts only, and then there is no limit.
    pub fn limit(&self) -> Option<Ratio> {
        self.limit
    }

    /// The order in which full-domain recodings are visited, if it is given.
    pub fn strategy(&self) -> Option<Strategy> {
        self.strategy
    }

    /// Parameters of searches for cuts.
    pub fn cuts(&self) -> &CutParameters {
        &self.cuts
    }

    /// Parameters of partitioning on disk.
    pub fn disk(&self) -> &DiskParameters {
        &self.disk
    }

    /// Parameters of algorithms that are decided from a summary.
    pub fn instant(&self) -> &InstantParameters {
        &self.instant
    }

    /// How a presence with marginals is judged.
    pub fn shortcuts(&self) -> PresenceShortcuts {
        self.presence
    }

    /// The shortcuts that are switched off, by name.
    pub fn without(&self) -> &[String] {
        &self.without
    }
}

/// Parameters of searches for cuts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutParameters {
    /// The search ends after this time with the best so far.
    pub time_limit: Option<Duration>,
    /// A search for a local recoding ends if its loss is proven to be this close to the least, as a
    /// share of the loss.
    pub gap: Option<Ratio>,
    /// The release is drawn at random from this many of the best cuts.
    pub top: Option<u16>,
    /// The release is one random step more general than what was found.
    pub extra_generalization: bool,
    /// The share of rows, or of sensitive values, that is suppressed at random although no
    /// requirement forces it.
    pub extra_suppression: Option<Ratio>,
}

/// Parameters of partitioning on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskParameters {
    /// Rows of a sample, and of a partition that is finished in memory; by memory if `None`.
    pub sample_tuples: Option<u64>,
    /// Frequency groups in memory at a time; by memory if `None`.
    pub frequency_groups: Option<u32>,
    /// Partitions that are written at a time; by memory if `None`.
    pub fan_out: Option<u32>,
    /// The chance that a sample leads to a split that must be undone.
    pub alpha: Option<Ratio>,
    /// Whether a sample is believed without a test, for comparison.
    pub naive: bool,
}

/// Parameters of summaries, and of algorithms that are decided from one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstantParameters {
    /// The kind of summary.
    pub summary_kind: Option<SummaryKind>,
    /// How many parents an attribute may have in a network.
    pub max_parents: Option<u8>,
    /// How the structure of a network with two parents is searched.
    pub structure_search: Option<StructureSearch>,
    /// Rows of a sample.
    pub sample_rows: Option<u32>,
    /// The shortcuts of the estimators.
    pub shortcuts: EstimateShortcuts,
}

/// How the structure of a network with two parents is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StructureSearch {
    /// One best change after the other.
    #[default]
    Greedy,
    /// By simulated annealing.
    Annealed,
}

impl StructureSearch {
    /// Every choice with its name in a policy.
    pub const NAMES: [(&'static str, StructureSearch); 2] =
        [("greedy", StructureSearch::Greedy), ("annealed", StructureSearch::Annealed)];
}

/// Which recodings are gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Space {
    /// One level for each attribute.
    #[default]
    FullDomain,
    /// One cut for each attribute.
    Subtree,
}

impl Space {
    /// Every space with its name in a policy.
    pub const NAMES: [(&'static str, Space); 2] =
        [("full-domain", Space::FullDomain), ("subtree", Space::Subtree)];
}

/// By which estimate a recoding is believed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByAsked {
    /// The probability that all classes meet the requirements.
    Probability,
    /// The expected number of rows in classes that do not.
    Expectation,
}

impl ByAsked {
    /// Every choice with its name in a policy.
    pub const NAMES: [(&'static str, ByAsked); 2] =
        [("probability", ByAsked::Probability), ("expectation", ByAsked::Expectation)];
}

pub(super) fn read(entry: Option<&Entry<'_>>, privacy: &Privacy) -> Result<SearchAsked> {
    let mut search = SearchAsked {
        algorithm: Algorithm::Auto,
        recoding: Kind::Any,
        loss: LossChoice::Lm,
        suppression: Ratio::ZERO,
        scheme: None,
        token: "*".into(),
        partitioning: Partitioning::default(),
        space: Space::default(),
        by: None,
        threshold: None,
        limit: None,
        strategy: None,
        cuts: CutParameters::default(),
        disk: DiskParameters::default(),
        instant: InstantParameters::default(),
        presence: PresenceShortcuts::default(),
        without: Vec::new(),
    };
    let Some(entry) = entry else { return Ok(search) };
    let section = entry.table(Some("search"))?;
    let algorithms = Algorithm::NAMES.map(|(name, value, _)| (name, value));
    search.algorithm = section.choice("algorithm", algorithms)?.unwrap_or(Algorithm::Auto);
    let losses = LossChoice::NAMES.into_iter().map(|(name, value, _)| (name, value));
    search.loss = section.choice("loss", losses)?.unwrap_or(LossChoice::Lm);
    partitioning(&section, &mut search.partitioning)?;
    search.space = section.choice("space", Space::NAMES)?.unwrap_or_default();
    recoding(&section, privacy, &mut search)?;
    search.by = section.choice("by", ByAsked::NAMES)?;
    search.threshold =
        section.get("threshold").map(|entry| entry.ratio("a number of at least 0")).transpose()?;
    if let Some(entry) = section.get("suppression") {
        suppression(entry, &mut search)?;
    }
    search.strategy = section.choice("strategy", Strategy::NAMES)?;
    search.cuts = cuts(&section, &search)?;
    search.disk = disk(&section)?;
    search.instant = instant(&section)?;
    let is_confident = privacy.presence.as_ref().is_some_and(|asked| asked.marginals().is_some());
    search.presence = shortcuts(&section, is_confident)?;
    if let Some(entry) = section.get("without") {
        without(entry, is_confident, &mut search)?;
    }
    Ok(search)
}

fn partitioning(section: &Section<'_>, partitioning: &mut Partitioning) -> Result<()> {
    if let Some(criterion) = section.choice("split", Criterion::NAMES)? {
        partitioning.criterion = criterion;
    }
    if let Some(entry) = section.get("least-gain") {
        let gain = entry.number()?;
        if gain.is_nan() || gain < 0.0 {
            return Err(entry.wrong("a number of at least 0"));
        }
        partitioning.least_gain = gain;
    }
    if section.get("pooling").is_some() {
        partitioning.pooling = section.boolean("pooling")?;
    }
    if let Some(style) = section.choice("regions", Style::NAMES)? {
        partitioning.style = style;
    }
    Ok(())
}

fn suppression(entry: &Entry<'_>, search: &mut SearchAsked) -> Result<()> {
    let section = entry.table(Some("search.suppression"))?;
    let schemes = Suppression::NAMES.into_iter().map(|(name, scheme)| (name, Some(scheme)));
    let schemes = [("records", None)].into_iter().chain(schemes);
    search.scheme = section.choice("scheme", schemes)?.flatten();
    if let Some(token) = section.get("token") {
        search.token = token.str()?.to_string();
        if search.token.is_empty() || Type::Real.number(&search.token).is_some() {
            return Err(token.wrong("a string that is neither empty nor a number"));
        }
    }
    if let Some(limit) = section.get("limit") {
        search.suppression = limit.share("a share from 0 to 1")?;
        if search.scheme == Some(Suppression::None) && search.suppression > Ratio::ZERO {
            return Err(limit.inapplicable("cannot be used with the scheme `none`; remove one"));
        }
        search.limit = Some(search.suppression);
    }
    Ok(())
}

/// Local recodings that are kept to draw one of them, at most: each takes as much memory as the
/// classes of all rows.
const LOCAL_TOP: u16 = 64;

/// Parameters of searches for cuts and local recodings. With another algorithm they would have no
/// effect, and some of them are there to protect people, so that is an error.
fn cuts(section: &Section<'_>, search: &SearchAsked) -> Result<CutParameters> {
    let algorithm = search.algorithm;
    let time_limit = section.get("time-limit").map(duration).transpose()?;
    let parameters = CutParameters {
        time_limit,
        gap: section.get("gap").map(|entry| entry.share("a share from 0 to 1")).transpose()?,
        top: section.whole("top", 1..=u64::from(u16::MAX))?.map(|top| top as u16),
        extra_generalization: section.boolean("extra-generalization")?,
        extra_suppression: section
            .get("extra-suppression")
            .map(|entry| entry.share("a share from 0 to 1"))
            .transpose()?,
    };
    if let Some(entry) = section.get("top").filter(|_| algorithm == Algorithm::Annealing) {
        return Err(entry.inapplicable(
            "requires the algorithm l-plus-optimize, because annealing finds one cut only",
        ));
    }
    let limits_time =
        algorithm.is_on_cuts() || matches!(algorithm, Algorithm::Local | Algorithm::Auto);
    if let Some(entry) = section.get("time-limit").filter(|_| !limits_time) {
        return Err(
            entry.inapplicable("requires the algorithm auto, local, l-plus-optimize or annealing")
        );
    }
    let is_local = matches!(algorithm, Algorithm::Local | Algorithm::Auto);
    if let Some(entry) = section.get("gap").filter(|_| !is_local) {
        return Err(entry.inapplicable("requires the algorithm auto or local"));
    }
    if let Some(entry) = section.get("gap").filter(|_| search.loss != LossChoice::Lm) {
        return Err(entry.inapplicable("requires the loss lm, because only its bound is computed"));
    }
    if let Some(entry) = section.get("top") {
        if !algorithm.is_on_cuts() && algorithm != Algorithm::Local {
            return Err(entry.inapplicable("requires the algorithm l-plus-optimize or local"));
        }
        if algorithm == Algorithm::Local && parameters.top > Some(LOCAL_TOP) {
            let problem = format!("must be at most {LOCAL_TOP} with the algorithm local");
            return Err(entry.inapplicable(problem));
        }
    }
    let has_extra = parameters.extra_generalization || parameters.extra_suppression.is_some();
    if !algorithm.is_on_cuts() && has_extra {
        let given = ["extra-generalization", "extra-suppression"];
        if let Some(entry) = given.into_iter().find_map(|name| section.get(name)) {
            return Err(entry.inapplicable("requires the algorithm l-plus-optimize or annealing"));
        }
    }
    let extra = parameters.extra_suppression.unwrap_or(Ratio::ZERO);
    match section.get("extra-suppression").filter(|_| extra > Ratio::ZERO) {
        Some(entry) if !search.may_suppress() => Err(entry.inapplicable(
            "requires a suppression scheme such as all-records, because nothing is suppressed \
             without one",
        )),
        Some(entry) if search.limit.is_some_and(|limit| limit < extra) => Err(entry.inapplicable(
            "must not be above the limit on suppression, which applies to both together",
        )),
        _ => Ok(parameters),
    }
}

/// A time such as 10s, 500ms, 2m or 1h.
fn duration(entry: &Entry<'_>) -> Result<Duration> {
    let expected = "a time such as 10s, 500ms or 2m";
    let text = entry.str().map_err(|_| entry.wrong(expected))?;
    let digits = text
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(text.len());
    let unit = match text[digits..].trim() {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(entry.wrong(expected)),
    };
    let number: f64 = text[..digits].parse().map_err(|_| entry.wrong(expected))?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| entry.wrong(expected))
}

fn disk(section: &Section<'_>) -> Result<DiskParameters> {
    let most = u64::from(u32::MAX);
    let alpha = |entry: &Entry<'_>| {
        let expected = "a number above 0 and at most 0.5";
        let alpha = entry.ratio(expected)?;
        let allowed = alpha > Ratio::ZERO && alpha.to_f64() <= 0.5;
        if allowed { Ok(alpha) } else { Err(entry.wrong(expected)) }
    };
    Ok(DiskParameters {
        sample_tuples: section.whole("sample-tuples", 1..=most)?,
        frequency_groups: section.whole("frequency-groups", 1..=most)?.map(|groups| groups as u32),
        fan_out: section.whole("fan-out", 2..=65_536)?.map(|fan_out| fan_out as u32),
        alpha: section.get("alpha").map(alpha).transpose()?,
        naive: section.boolean("naive")?,
    })
}

fn instant(section: &Section<'_>) -> Result<InstantParameters> {
    let parameters = InstantParameters {
        summary_kind: section.choice("summary-kind", SummaryKind::NAMES)?,
        max_parents: section.whole("max-parents", 1..=2)?.map(|parents| parents as u8),
        structure_search: section.choice("structure-search", StructureSearch::NAMES)?,
        sample_rows: section.whole("sample-rows", 1..=u64::from(u32::MAX))?.map(|rows| rows as u32),
        shortcuts: EstimateShortcuts::default(),
    };
    let kind = parameters.summary_kind.unwrap_or_default();
    match (section.get("sample-rows"), section.get("max-parents")) {
        (Some(entry), _) if kind != SummaryKind::Sample => {
            Err(entry.inapplicable("requires the summary kind `sample`"))
        }
        (_, Some(entry)) if parameters.max_parents > Some(1) && kind != SummaryKind::Bayes => {
            Err(entry.inapplicable("requires the summary kind `bayes`"))
        }
        _ => Ok(parameters),
    }
}

/// How a presence with marginals is judged.
fn shortcuts(section: &Section<'_>, is_confident: bool) -> Result<PresenceShortcuts> {
    let mut shortcuts = PresenceShortcuts::default();
    let given = ["sigmas", "bucket"].into_iter().find_map(|name| section.get(name));
    if let Some(entry) = given.filter(|_| !is_confident) {
        return Err(entry.inapplicable("requires `presence` with `marginals`"));
    }
    if let Some(sigmas) = section.whole("sigmas", 1..=9)? {
        shortcuts.sigmas = Some(sigmas as f64);
    }
    if let Some(bucket) = section.whole("bucket", 2..=u64::from(u16::MAX))? {
        shortcuts.bucket = bucket;
    }
    Ok(shortcuts)
}

/// Shortcuts that are switched off: those of a presence with marginals if the policy has one, else
/// those of estimates.
fn without(entry: &Entry<'_>, is_confident: bool, search: &mut SearchAsked) -> Result<()> {
    for item in entry.items()? {
        let name = item.str()?;
        if is_confident {
            item.choice(PresenceShortcuts::NAMES)?(&mut search.presence);
        } else {
            let names = EstimateShortcuts::NAMES.join(", ");
            let expected = if search.algorithm.is_instant() {
                format!("one of {names}")
            } else {
                format!("one of {names}; other names require `presence` with `marginals`")
            };
            search.instant.shortcuts =
                search.instant.shortcuts.without(name).ok_or_else(|| item.wrong(expected))?;
        }
        search.without.push(name.to_string());
    }
    Ok(())
}
