//! From acceptable misuse to parameters of delta-presence, with the formulas shown.

use crate::args::AdviseArgs;
use crate::failure::{Failure, Result};
use crate::show::{figure, thousands};
use scumble::{Stakes, Unadvisable};
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
        let (flag, value, expected) = match why {
            Unadvisable::Prior => ("--prior", args.prior, "a probability above 0 and below 1"),
            Unadvisable::Table => {
                ("--table", args.table, "a number above 0 and below the population")
            }
            Unadvisable::MoreThanPrior => (
                "--table",
                args.table,
                "at most prior x population, because everyone in the table has the condition",
            ),
            Unadvisable::Cost => (
                "--cost",
                args.cost,
                "a number above 0, and no negative --misuse or --misuse-below",
            ),
            Unadvisable::EmptyRange => (
                "--misuse",
                args.misuse,
                "more, or a larger --misuse-below: the minimum probability would exceed the maximum",
            ),
            Unadvisable::Confidence => ("--confidence", args.confidence, "a number from 0 to 1"),
        };
        Failure::invalid(flag, &value.to_string(), expected)
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
        None => "delta-min = 0, because --misuse-below is not given".to_string(),
        Some(below) => format!(
            "delta-min = (-a' P + (1 + a' - b) T) / ((1 - b) P) = {}   with a' = {below} / {} = {}",
            advice.min,
            args.cost,
            figure(below / args.cost)
        ),
    };
    let text = format!(
        "A person of the population has the condition with probability b = {}.\n\
         The population has P = {} people; T = {} of them are in the table, and all of these have\n\
         the condition. Somebody who is in the table with probability p has the condition with\n\
         probability p + (1 - p) (b P - T) / (P - T).\n\
         \x20 delta-max = (a P + (1 - a - b) T) / ((1 - b) P) = {}   with a = {} / {} = {}\n\
         \x20 {below}\n\
         The probability of the condition then stays between {:.4} and {:.4}.\n\
         With confidence c = {}, the range may fail with probability {}. The expected liability\n\
         is then (1 - c)(1 - b) d = {} for each person in the table, {} in total, in the unit of\n\
         the cost d.\n\n\
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
