//! From acceptable misuse to parameters of delta-presence, with the formulas shown.

use crate::args::AdviseArgs;
use crate::show::{figure, thousands};
use scumble::{Error, Result, Stakes, Unadvisable};
use serde_json::{Value, json};

/// The advice as JSON and for people.
pub fn advise(args: &AdviseArgs) -> Result<(Value, String)> {
    let stakes = Stakes {
        prior: args.prior,
        population: args.population,
        table: args.table,
        cost: args.cost,
        misuse: args.misuse,
        misuse_below: args.misuse_below,
        confidence: args.confidence,
    };
    let advice = stakes.advice().map_err(|why| {
        let (key, value, expected) = match why {
            Unadvisable::Prior => ("--prior", args.prior, "a probability above 0 and below 1"),
            Unadvisable::Table => {
                ("--table", args.table, "a number above 0 and below the population")
            }
            Unadvisable::MoreThanPrior => (
                "--table",
                args.table,
                "at most prior x population: all of the table have the condition",
            ),
            Unadvisable::Cost => ("--cost", args.cost, "a cost above 0, with misuse from 0"),
            Unadvisable::Confidence => ("--confidence", args.confidence, "a number from 0 to 1"),
        };
        Error::BadParameter {
            place: None,
            key: key.into(),
            value: value.to_string(),
            expected: expected.into(),
        }
    })?;
    let whole = advice.liability * args.table;
    let json = json!({
        "delta-min": advice.min,
        "delta-max": advice.max,
        "acceptable": {"above": args.misuse / args.cost, "below": args.misuse_below.map(|below| below / args.cost)},
        "belief": {"prior": args.prior, "least": stakes.belief(advice.min), "greatest": stakes.belief(advice.max)},
        "confidence": args.confidence,
        "liability": {"person": advice.liability, "table": whole},
    });
    let a = args.misuse / args.cost;
    let below = match args.misuse_below {
        None => "delta-min = 0: belief may fall as far as it likes (--misuse-below)".to_string(),
        Some(below) => format!(
            "delta-min = (-a' P + (1 + a' - b) T) / ((1 - b) P) = {}   with a' = {below} / {} = {}",
            advice.min,
            args.cost,
            figure(below / args.cost)
        ),
    };
    let text = format!(
        "A person of the population has the condition with b = {}; P = {} people, T = {} of them in the table.\n\
         Whoever believes p that a person is in the table believes p + (1 - p) (b P - T) / (P - T) that the person has it.\n\
         \x20 delta-max = (a P + (1 - a - b) T) / ((1 - b) P) = {}   with a = {} / {} = {}\n\
         \x20 {below}\n\
         Belief then stays from {:.4} to {:.4}.\n\
         With a confidence of {} a rest of {} may be exposed altogether: an expected liability of (1 - c)(1 - b) d = {} for each\n\
         person of the table, {} in all, in the unit of the cost.\n\n\
         [privacy]\npresence = {{ min = {}, max = {}, population = \"population.csv\" }}\n\
         # presence = {{ min = {}, max = {}, confidence = {}, marginals = \"marginals.csv\" }}\n",
        args.prior,
        thousands(args.population as u128),
        thousands(args.table as u128),
        advice.max,
        args.misuse,
        args.cost,
        figure(a),
        stakes.belief(advice.min),
        stakes.belief(advice.max),
        args.confidence,
        figure(1.0 - args.confidence),
        figure(advice.liability),
        figure(whole),
        advice.min,
        advice.max,
        advice.min,
        advice.max,
        args.confidence
    );
    Ok((json, text))
}
