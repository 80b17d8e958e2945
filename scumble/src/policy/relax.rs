//! Which numbers of a policy could be weaker, and in what steps?
//!
//! A [`Dial`] is one number of one requirement with all weaker values that a person would write: the
//! whole numbers below `k`, a `t` with three decimals, and so on, from the one next to what is asked
//! to the weakest that still asks for something: nobody is advised to give a requirement up. Every
//! requirement that is met with one value is met with all weaker ones.

use super::document::{Setting, Value};
use super::{Policy, PolicyBuilder};
use crate::error::Judged;
use crate::privacy::Diversity;
use crate::ratio::Ratio;

/// A number of a policy, and the weaker values that it could have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dial {
    /// The names that lead to it. Items of a list are named by number.
    pub(crate) path: Vec<String>,
    /// The requirement, as results of checks call it.
    requirement: &'static str,
    /// Its kind, if it has kinds.
    kind: Option<&'static str>,
    /// The sensitive attribute that it is about, if it is about one.
    pub(crate) sensitive: Option<String>,
    /// What is asked now.
    pub(crate) from: Ratio,
    scale: Scale,
    /// How many weaker values there are.
    pub(crate) steps: u64,
}

/// The values of a dial, by number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    /// The number of the value next to what is asked.
    first: u64,
    /// Whether weaker values have smaller numbers.
    is_falling: bool,
    form: Form,
}

/// What the number of a value means.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// So many units of the last of these decimals.
    Decimals(u32),
    /// Three significant digits, from 1.00e-9 on.
    Significant,
}

/// The largest number of a value with [three digits](Form::Significant): 9.99e15.
const LARGEST: u64 = 900 * 25 - 1;

impl Form {
    /// A value as it is written.
    fn text(self, number: u64) -> String {
        let (digits, shift) = match self {
            Form::Decimals(places) => (number, -(places as i32)),
            Form::Significant => (100 + number % 900, (number / 900) as i32 - 11),
        };
        let mut text = digits.to_string();
        if shift >= 0 {
            return text + &"0".repeat(shift as usize);
        }
        let places = shift.unsigned_abs() as usize;
        if text.len() <= places {
            text.insert_str(0, &"0".repeat(places + 1 - text.len()));
        }
        text.insert(text.len() - places, '.');
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    }

    fn ratio(self, number: u64) -> Ratio {
        self.text(number).parse().unwrap_or(Ratio::ZERO)
    }

    /// The smallest number in a range whose value is at least, or only above, a fraction; the end of
    /// the range if there is none.
    fn from(self, range: std::ops::Range<u64>, bound: Ratio, is_open: bool) -> u64 {
        let is_below = |number: u64| {
            let value = self.ratio(number);
            if is_open { value <= bound } else { value < bound }
        };
        let (mut start, mut end) = (range.start, range.end);
        while start < end {
            let middle = start + (end - start) / 2;
            if is_below(middle) { start = middle + 1 } else { end = middle }
        }
        start
    }
}

impl Scale {
    /// Values below what is asked, down to a number.
    fn falling(form: Form, least: u64, from: Ratio, most: u64) -> (Scale, u64) {
        let end = form.from(least..most.saturating_add(1).max(least), from, false);
        (Scale { first: end.saturating_sub(1), is_falling: true, form }, end.saturating_sub(least))
    }

    /// Values above what is asked, up to a number.
    fn rising(form: Form, from: Ratio, most: u64) -> (Scale, u64) {
        let first = form.from(0..most + 1, from, true);
        (Scale { first, is_falling: false, form }, most + 1 - first)
    }
}

impl Dial {
    fn new(path: &[&str], requirement: &'static str, from: Ratio, scale: (Scale, u64)) -> Dial {
        let path = path.iter().map(|name| name.to_string()).collect();
        let ((scale, steps), kind, sensitive) = (scale, None, None);
        Dial { path, requirement, kind, sensitive, from, scale, steps }
    }

    fn of(self, kind: Option<&'static str>, sensitive: &Option<String>) -> Dial {
        Dial { kind, sensitive: sensitive.clone(), ..self }
    }

    /// The value after so many steps, from 1 on; each is weaker than the one before.
    pub(crate) fn value(&self, step: u64) -> String {
        let Scale { first, is_falling, form } = self.scale;
        let steps = step.saturating_sub(1);
        form.text(if is_falling { first.saturating_sub(steps) } else { first + steps })
    }

    /// The first step at which the whole table would meet what is asked, judged by its figure: a
    /// guess, since the figure is a float.
    pub(crate) fn guess(&self, judged: &[Judged]) -> Option<u64> {
        let asked = self.from.to_f64();
        let is_it = |one: &&Judged| {
            one.requirement == self.requirement
                && self.kind.is_none_or(|kind| one.kind.as_deref() == Some(kind))
                && (self.sensitive.is_none() || one.sensitive == self.sensitive)
                && one.required.0 == asked
        };
        let figures = judged.iter().filter(is_it).filter_map(|one| one.achieved);
        figures.map(|figure| self.met_by(figure.0)).max().filter(|step| *step <= self.steps)
    }

    fn met_by(&self, figure: f64) -> u64 {
        let is_met = |step: u64| {
            let value = self.value(step).parse::<f64>().unwrap_or(0.0);
            if self.scale.is_falling { value <= figure } else { value >= figure }
        };
        let (mut start, mut end) = (1, self.steps + 1);
        while start < end {
            let middle = start + (end - start) / 2;
            if is_met(middle) { end = middle } else { start = middle + 1 }
        }
        start
    }
}

impl Policy {
    /// All numbers that a requirement could do with less of.
    pub(crate) fn dials(&self) -> Vec<Dial> {
        let privacy = &self.privacy;
        let mut dials = Vec::new();
        if let Some(k) = privacy.k {
            let (asked, form) = (Ratio::whole(k), Form::Decimals(0));
            let scale = Scale::falling(form, 2, asked, k);
            dials.push(Dial::new(&["privacy", "k"], "k-anonymity", asked, scale));
        }
        for (at, asked) in privacy.diversity.iter().enumerate() {
            let path = self.item("l-diversity", at);
            dials.extend(
                diversity(&path, asked.form)
                    .into_iter()
                    .map(|(kind, dial)| dial.of(Some(kind), &asked.sensitive)),
            );
        }
        for (at, asked) in privacy.closeness.iter().enumerate() {
            let path = self.number_at(self.item("t-closeness", at), "t");
            let scale = Scale::rising(Form::Decimals(3), asked.t, 999);
            let dial = Dial::new(&names(&path), "t-closeness", asked.t, scale);
            dials.push(dial.of(None, &asked.sensitive));
        }
        for (at, asked) in privacy.variance.iter().enumerate() {
            let path = self.number_at(self.item("variance", at), "at-least");
            let scale = Scale::falling(Form::Significant, 0, asked.at_least, LARGEST);
            let dial = Dial::new(&names(&path), "variance-diversity", asked.at_least, scale);
            dials.push(dial.of(None, &asked.sensitive));
        }
        dials.extend(self.caps());
        dials.extend(self.presence());
        dials.retain(|dial| dial.steps > 0);
        dials
    }

    /// Caps of sensitive values.
    fn caps(&self) -> Vec<Dial> {
        let Some(asked) = &self.privacy.thresholds else { return Vec::new() };
        let dial = |path: &[&str], cap: Ratio| {
            let scale = Scale::rising(Form::Decimals(3), cap, 999);
            let path = [&["privacy", "thresholds"], path].concat();
            Dial::new(&path, "thresholds", cap, scale).of(None, &asked.sensitive)
        };
        let general = [("default", asked.default), ("from-frequency", asked.from_frequency)];
        let general = general.into_iter().filter_map(|(name, cap)| Some((name, cap?)));
        let mut dials: Vec<Dial> = general.map(|(name, cap)| dial(&[name], cap)).collect();
        for (value, cap, _) in &asked.values {
            let own = ["privacy", "thresholds", "values", value.as_str()];
            let is_inside = self.document.at(&own).is_some();
            dials.push(if is_inside {
                dial(&own[2..], *cap)
            } else {
                dial(&[value.as_str()], *cap)
            });
        }
        dials
    }

    /// Both ends of a presence, and how sure one must be.
    fn presence(&self) -> Vec<Dial> {
        let Some(asked) = &self.privacy.presence else { return Vec::new() };
        let form = Form::Decimals(3);
        let dial = |name: &str, from: Ratio, scale: (Scale, u64)| {
            Dial::new(&["privacy", "presence", name], "delta-presence", from, scale)
        };
        let min = dial("min", asked.min, Scale::falling(form, 1, asked.min, 1000));
        let max = dial("max", asked.max, Scale::rising(form, asked.max, 999));
        let confidence = asked
            .marginals()
            .map(|asked| asked.confidence)
            .map(|asked| dial("confidence", asked, Scale::falling(form, 500, asked, 1000)));
        [min.of(Some("min"), &None), max.of(Some("max"), &None)]
            .into_iter()
            .chain(confidence)
            .collect()
    }

    /// The path of one of the requirements of a kind, which may be in a list or alone.
    fn item(&self, key: &str, at: usize) -> Vec<String> {
        let path = vec!["privacy".to_string(), key.to_string()];
        match self.document.at(&path).map(|setting| &setting.value) {
            Some(Value::List(_)) => [path, vec![at.to_string()]].concat(),
            _ => path,
        }
    }

    /// The path of a number that may be written without its name.
    fn number_at(&self, path: Vec<String>, name: &str) -> Vec<String> {
        match self.document.at(&path).map(|setting| &setting.value) {
            Some(Value::Table(_)) => [path, vec![name.to_string()]].concat(),
            _ => path,
        }
    }

    /// A key as it is written, if it is a number or a text.
    pub(crate) fn written(&self, path: &[&str]) -> Option<&str> {
        match &self.document.at(path)?.value {
            Value::Text(text) | Value::Number(text) => Some(text),
            _ => None,
        }
    }
}

fn names(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// The numbers of a diversity, each with the kind.
fn diversity(path: &[String], form: Diversity) -> Vec<(&'static str, Dial)> {
    let dial = |name: &str, from: Ratio, scale: (Scale, u64)| {
        let path: Vec<&str> = path.iter().map(String::as_str).chain([name]).collect();
        Dial::new(&path, "l-diversity", from, scale)
    };
    let whole = |l: u64| {
        let l = Ratio::whole(l);
        dial("l", l, Scale::falling(Form::Decimals(0), 2, l, l.numerator()))
    };
    let real = |l: Ratio| {
        let most = l.floor_of(100).saturating_add(1);
        dial("l", l, Scale::falling(Form::Decimals(2), 101, l, most))
    };
    match form {
        Diversity::Frequency(l) => vec![("frequency", real(l))],
        Diversity::Entropy(l) => vec![("entropy", real(l))],
        Diversity::Distinct(l) => vec![("distinct", whole(l))],
        Diversity::Recursive { c, l } => {
            let factor = dial("c", c, Scale::rising(Form::Significant, c, LARGEST));
            vec![("recursive", whole(l)), ("recursive", factor)]
        }
    }
}

impl PolicyBuilder {
    /// Sets a number, as it is written.
    pub(crate) fn number(self, path: &[String], text: &str) -> PolicyBuilder {
        let value: Setting = Value::Number(text.into()).into();
        self.set_at(path, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(privacy: &str) -> Policy {
        let text = format!("[attributes.s]\nrole = \"sensitive\"\n[privacy]\n{privacy}");
        Policy::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn values(dial: &Dial) -> Vec<String> {
        (1..=dial.steps).map(|step| dial.value(step)).collect()
    }

    #[test]
    fn every_weaker_value_comes_in_order_and_is_accepted() {
        let text = "k = 4\nl-diversity = [{ kind = \"distinct\", l = 3 }, { kind = \"frequency\", \
                    l = \"4/3\" }, { kind = \"recursive\", c = 2.5, l = 2 }]\n\
                    t-closeness = 0.9955\nvariance = { at-least = 1.1e9 }\n\
                    thresholds = { default = \"1/4\", flu = \"99.8%\", values = { gout = 0.998 } }";
        let policy = policy(text);
        let dials = policy.dials();
        let of = |key: &str| {
            let found = dials.iter().find(|dial| dial.path.join(".") == key);
            found.unwrap_or_else(|| panic!("{key}: {dials:#?}"))
        };
        assert_eq!(values(of("privacy.k")), ["3", "2"]);
        assert_eq!(values(of("privacy.l-diversity.0.l")), ["2"]);
        let frequency = values(of("privacy.l-diversity.1.l"));
        assert_eq!(frequency[..4], ["1.33", "1.32", "1.31", "1.3"]);
        assert_eq!(frequency.last().unwrap(), "1.01");
        assert_eq!(values(of("privacy.l-diversity.2.c"))[..2], ["2.51", "2.52"]);
        assert_eq!(values(of("privacy.t-closeness")), ["0.996", "0.997", "0.998", "0.999"]);
        assert_eq!(values(of("privacy.variance.at-least"))[..2], ["1090000000", "1080000000"]);
        assert_eq!(values(of("privacy.thresholds.default"))[..2], ["0.251", "0.252"]);
        assert_eq!(values(of("privacy.thresholds.flu")), ["0.999"]);
        assert_eq!(values(of("privacy.thresholds.values.gout")), ["0.999"]);
        assert_eq!(dials.len(), 9);
        for dial in &dials {
            let mut before = dial.from;
            for step in (1..=dial.steps).filter(|step| *step < 50 || *step + 50 > dial.steps) {
                let text = dial.value(step);
                let value: Ratio = text.parse().unwrap();
                let is_weaker = if dial.scale.is_falling { value < before } else { value > before };
                assert!(is_weaker, "{dial:?} {text}");
                before = value;
                let changed = policy.edit().number(&dial.path, &text).build();
                let changed = changed.unwrap_or_else(|error| panic!("{error}"));
                let again = changed.dials();
                let same = again.iter().find(|other| other.path == dial.path);
                assert_eq!(same.map_or(value, |other| other.from), value);
                assert_eq!(same.map_or(0, |other| other.steps), dial.steps - step);
            }
        }
    }

    #[test]
    fn the_weakest_values_have_no_dial() {
        let text = "k = 2\nl-diversity = { kind = \"distinct\", l = 2 }\nt-closeness = 0.999";
        assert_eq!(policy(text).dials(), []);
    }

    #[test]
    fn the_figure_of_the_whole_table_is_a_first_guess() {
        let dials = policy("k = 100\nl-diversity = { kind = \"entropy\", l = 4 }").dials();
        let judged = |requirement: &str, kind: Option<&str>, required: f64, achieved: f64| {
            serde_json::from_value::<Judged>(serde_json::json!({
                "requirement": requirement, "kind": kind, "required": required,
                "achieved": achieved, "satisfied": false,
            }))
            .unwrap()
        };
        let judged = [
            judged("k-anonymity", None, 100.0, 40.0),
            judged("l-diversity", Some("entropy"), 4.0, std::f64::consts::E),
        ];
        let guessed: Vec<String> =
            dials.iter().map(|dial| dial.value(dial.guess(&judged).unwrap())).collect();
        assert_eq!(guessed, ["40", "2.71"]);
        assert_eq!(dials[0].guess(&judged[1..]), None);
    }
}
