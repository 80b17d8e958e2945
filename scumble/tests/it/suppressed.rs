//! Do rows that are left out change how the others are judged, written or ordered? A release must
//! be what it would be for whoever has never seen them, and `verify`, which has not, must agree
//! with `anonymize`.

use crate::fixture::{Folder, anonymize, run, verify};
use scumble::error::Error;
use scumble::job::Job;
use scumble::policy::Policy;
use serde_json::Value;
use std::path::PathBuf;

struct Case {
    folder: Folder,
    input: PathBuf,
}

impl Case {
    fn new(name: &str, csv: &str) -> Case {
        let folder = Folder::new(name);
        let input = folder.write("in.csv", csv);
        Case { folder, input }
    }

    /// Releases ages as they are, and verifies what comes out. `None` where the requirement cannot
    /// be met; any other failure, and any disagreement, is a failure of the test. The release, and
    /// the kinds of its requirements as both sides see them.
    fn release(&self, policy: &str) -> Option<String> {
        let policy = Policy::parse(policy, &self.folder.path("policy.toml")).unwrap();
        let output = self.folder.path("out.csv");
        let job = Job::new(policy.clone()).levels(vec![("age".into(), 0)]);
        let report = match run(&job, &self.input, &output) {
            Ok(report) => report,
            Err(error) => {
                assert!(matches!(error, Error::CannotBeMet { .. }), "{error}");
                return None;
            }
        };
        let verified = verify(&output, &policy);
        verified.check().unwrap();
        let kinds = |json: &Value| -> Vec<Value> {
            json["privacy"].as_array().unwrap().iter().map(|one| one["kind"].clone()).collect()
        };
        assert_eq!(kinds(&report.to_json()), kinds(&verified.to_json()));
        Some(std::fs::read_to_string(output).unwrap())
    }
}

fn policy(sensitive: &str, privacy: &str) -> String {
    format!(
        "[defaults]\nrole = \"sensitive\"\n[attributes.age]\nrole = \"quasi-identifier\"\n[attributes.code]\n\
         role = \"sensitive\"\n{sensitive}\n[privacy]\nk = 2\n{privacy}\n[search]\nsuppression = {{ limit = 0.2 }}\n"
    )
}

/// The height of a mask's tree is the length of the longest value, here that of the suppressed row.
#[test]
fn closeness_of_a_masked_attribute_does_not_depend_on_suppressed_values() {
    let case = Case::new(
        "masked",
        "age,code\n1,aa\n1,aa\n1,aa\n1,ab\n2,ab\n2,ab\n2,ab\n2,aa\n3,zzzzzzzzzzzzzzzzzzzz\n",
    );
    let released: Vec<bool> = (1..20)
        .map(|t| {
            let closeness = format!("t-closeness = {}", f64::from(t) / 20.0);
            case.release(&policy("hierarchy = { mask = \"right\" }", &closeness)).is_some()
        })
        .collect();
    assert!(released.contains(&true) && released.contains(&false), "{released:?}");
    let asked = policy(
        "hierarchy = { mask = \"right\" }",
        "t-closeness = { t = 0.5, distance = \"hierarchical\" }",
    );
    let asked = Policy::parse(&asked, &case.folder.path("policy.toml")).unwrap();
    let error = anonymize(&case.input, &asked, &case.folder.path("out.csv")).unwrap_err();
    assert!(error.to_string().contains("mask"), "{error}");
}

/// Intervals whose ends are not given are laid over other values in the release.
#[test]
fn closeness_over_open_intervals_does_not_depend_on_suppressed_values() {
    let case = Case::new("open", "age,code\n1,1\n1,2\n1,7\n1,9\n2,11\n2,12\n2,2\n2,14\n3,4000\n");
    let released: Vec<bool> = (1..20)
        .map(|t| {
            let closeness = format!("t-closeness = {}", f64::from(t) / 20.0);
            case.release(&policy("hierarchy = { intervals = [1, 5, 10] }", &closeness)).is_some()
        })
        .collect();
    assert!(released.contains(&true) && released.contains(&false), "{released:?}");
}

/// A column is text only because of a suppressed value: 7 and 007 are one number in the release.
#[test]
fn numbers_written_differently_are_one_value_also_beside_text() {
    let diverse = "l-diversity = { kind = \"distinct\", l = 2 }";
    let odd = "age,code\n1,7\n1,007\n1,7\n1,7.0\n2,7\n2,007\n2,7\n2,7\n3,unknown\n";
    assert_eq!(Case::new("spelling", odd).release(&policy("", diverse)), None);
    let sound = "age,code\n1,7\n1,008\n1,7\n1,7.0\n2,7\n2,008\n2,7\n2,7\n3,unknown\n";
    assert!(Case::new("spelling", sound).release(&policy("", diverse)).is_some());
    assert!(
        Case::new("declared", odd).release(&policy("type = \"text\"", diverse)).is_some(),
        "text is what it says"
    );
}

/// Without its suppressed value the column would be numeric, and its distance the ordered one.
#[test]
fn an_undeclared_type_does_not_choose_the_distance() {
    let text =
        Case::new("distance", "age,code\n1,1\n1,2\n1,3\n1,4\n2,2\n2,3\n2,4\n2,5\n3,unknown\n");
    let numbers = Case::new("ordered", "age,code\n1,1\n1,2\n1,3\n1,4\n2,2\n2,3\n2,4\n2,5\n3,9\n");
    for t in 1..10 {
        let closeness = format!("t-closeness = {}", f64::from(t) / 10.0);
        text.release(&policy("", &closeness));
        numbers.release(&policy("", &closeness));
        numbers.release(&policy("type = \"integer\"", &closeness));
    }
}

/// Rows are sorted by numbers that as many columns are packed into as fit. How many fit depends on
/// all values, those of suppressed rows among them; the order must not.
#[test]
fn the_order_of_rows_does_not_depend_on_suppressed_values() {
    let names: Vec<String> = (0..30).map(|column| format!("s{column:02}")).collect();
    let head = format!("age,{}\n", names.join(","));
    let row = |age: u32, last: [&str; 2]| {
        let others: Vec<&str> =
            (0..28).map(|column| ["p", "q"][(column + age as usize) % 2]).collect();
        format!("{age},{},{}\n", others.join(","), last.join(","))
    };
    let released =
        row(1, ["a", "y"]) + &row(1, ["b", "x"]) + &row(2, ["a", "y"]) + &row(2, ["b", "x"]);
    let left_out: String =
        (0..40).map(|number| row(100 + number, [&format!("c{number}"), "x"])).collect();
    let policy = "[defaults]\nrole = \"sensitive\"\n[attributes.age]\nrole = \"quasi-identifier\"\n\
        [privacy]\nk = 2\nl-diversity = { kind = \"distinct\", l = 1 }\n[search]\nsuppression = { limit = 0.95 }\n";
    let alone = Case::new("alone", &(head.clone() + &released)).release(policy).unwrap();
    let among = Case::new("among", &(head + &released + &left_out)).release(policy).unwrap();
    assert_eq!(alone, among);
    assert_eq!(alone.lines().count(), 5);
}
