//! Agrawal's table: nine numeric attributes drawn independently or nearly so, and four targets
//! computed from them.
//!
//! LeFevre and DeWitt, "Scalable Anonymization Algorithms for Large Data Sets" (TR 1590, 2007),
//! figure 7, after the generator of Agrawal et al. (1993, its reference 4). The names are the
//! paper's: C2 and C7 are classes, R7 and R10 numeric.
//!
//! Departures: `hvalue` is a whole number, uniform from 0.5 to 1.5 times 100,000 times `zipcode`,
//! where the paper multiplies by a real `h`. The formulas are computed in hundredths, as whole
//! numbers, so the sign that decides C7 is exact and R7 and R10 print with at most two decimals.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::random::Random;

/// The quasi-identifiers of one row, in the order of figure 7.
struct Person {
    salary: i64,
    commission: i64,
    age: i64,
    elevel: i64,
    car: i64,
    zipcode: i64,
    hvalue: i64,
    hyears: i64,
    loan: i64,
}

impl Person {
    fn draw(random: &mut Random) -> Person {
        let salary = random.between(20_000, 150_000);
        let commission = if salary >= 75_000 { 0 } else { random.between(10_000, 75_000) };
        let age = random.between(20, 80);
        let elevel = random.between(0, 4);
        let car = random.between(1, 20);
        let zipcode = random.between(1, 9);
        let hvalue = random.between(zipcode * 50_000, zipcode * 150_000);
        let hyears = random.between(1, 30);
        let loan = random.between(0, 500_000);
        Person { salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan }
    }

    fn c2(&self) -> &'static str {
        let middle = match self.age {
            ..40 => 50_000..=100_000,
            40..60 => 75_000..=125_000,
            60.. => 25_000..=75_000,
        };
        if middle.contains(&self.salary) { "A" } else { "B" }
    }

    fn c7(&self) -> &'static str {
        if self.r7_hundredths() > 0 { "A" } else { "B" }
    }

    /// 0.67 (salary + commission) - 0.2 loan - 20K
    fn r7_hundredths(&self) -> i64 {
        67 * (self.salary + self.commission) - 20 * self.loan - 2_000_000
    }

    /// 0.67 (salary + commission) - 5000 elevel + 0.2 equity - 10K, where the equity is 0.1 hvalue
    /// (hyears - 20)
    fn r10_hundredths(&self) -> i64 {
        let equity_tenths = self.hvalue * (self.hyears - 20).max(0);
        67 * (self.salary + self.commission) - 500_000 * self.elevel + 2 * equity_tenths - 1_000_000
    }
}

/// The schema of the table.
pub(super) fn schema() -> SchemaRef {
    let numbers =
        ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan"];
    let targets = [
        ("c2", DataType::Utf8),
        ("c7", DataType::Utf8),
        ("r7", DataType::Float64),
        ("r10", DataType::Float64),
    ];
    let columns = numbers.map(|name| (name, DataType::Int64)).into_iter().chain(targets);
    let fields = columns.map(|(name, kind)| Field::new(name, kind, false));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The next rows of a random stream.
pub(super) fn batch(random: &mut Random, rows: usize) -> RecordBatch {
    let people: Vec<Person> = (0..rows).map(|_| Person::draw(random)).collect();
    let number = |get: fn(&Person) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(people.iter().map(get)))
    };
    let class = |get: fn(&Person) -> &'static str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(people.iter().map(get)))
    };
    // The quotient of two integers is rounded once, to the float that prints as the exact decimal.
    let hundredths = |get: fn(&Person) -> i64| -> ArrayRef {
        let values = people.iter().map(|person| get(person) as f64 / 100.0);
        Arc::new(Float64Array::from_iter_values(values))
    };
    let columns = vec![
        number(|person| person.salary),
        number(|person| person.commission),
        number(|person| person.age),
        number(|person| person.elevel),
        number(|person| person.car),
        number(|person| person.zipcode),
        number(|person| person.hvalue),
        number(|person| person.hyears),
        number(|person| person.loan),
        class(Person::c2),
        class(Person::c7),
        hundredths(Person::r7_hundredths),
        hundredths(Person::r10_hundredths),
    ];
    RecordBatch::try_new(schema(), columns).expect("the columns are those of the schema")
}

/// The policy of the table; `{data}` and `{policy}` are replaced by the names of the files.
pub(super) const POLICY: &str = r#"# Policy for {data}. To use it:
#   scumble anonymize {data} --policy {policy} -o release.csv
#
# The table is synthetic. See figure 7 of LeFevre and DeWitt, "Scalable Anonymization Algorithms for Large Data Sets".

# Quasi-identifiers: an outsider may know them. They have no hierarchies, as in the paper, so partitioning algorithms
# can split them anywhere. For full-domain algorithms, add hierarchies such as
#   hierarchy = { intervals = [5, 10, 20], from = 20, to = 80 }

[attributes.salary]
role = "quasi-identifier"
type = "integer"

[attributes.commission]
role = "quasi-identifier"
type = "integer"

[attributes.age]
role = "quasi-identifier"
type = "integer"

[attributes.elevel]
role = "quasi-identifier"
type = "integer"

[attributes.car]
role = "quasi-identifier"
type = "integer"

[attributes.zipcode]
role = "quasi-identifier"
type = "integer"

[attributes.hvalue]
role = "quasi-identifier"
type = "integer"

[attributes.hyears]
role = "quasi-identifier"
type = "integer"

[attributes.loan]
role = "quasi-identifier"
type = "integer"

# Target: the release is used to predict c2. To predict another column, give it the role "target" instead.

[attributes.c2]
role = "target"

[attributes.c7]
role = "insensitive"

[attributes.r7]
role = "insensitive"
type = "real"

[attributes.r10]
role = "insensitive"
type = "real"

[privacy]
k = 100                  # every class has at least 100 rows

[search]
algorithm = "rothko-s"   # partitions tables of any size
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};

    fn sample() -> RecordBatch {
        batch(&mut Random::new(11), 60_000)
    }

    fn numbers<'a>(table: &'a RecordBatch, name: &str) -> &'a [i64] {
        table[name].as_primitive::<Int64Type>().values()
    }

    /// Figure 7's second half in plain floating-point arithmetic, word for word, against every row.
    #[test]
    fn targets_follow_figure_7() {
        let table = sample();
        let column = |name| numbers(&table, name);
        let (mut class_a, mut near_zero) = ([0, 0], 0);
        for row in 0..table.num_rows() {
            let at = |name| column(name)[row] as f64;
            let (age, salary) = (at("age"), at("salary"));
            let in_group_a = (age < 40.0 && (50e3..=100e3).contains(&salary))
                || ((40.0..60.0).contains(&age) && (75e3..=125e3).contains(&salary))
                || (age >= 60.0 && (25e3..=75e3).contains(&salary));
            let c2 = table["c2"].as_string::<i32>().value(row);
            assert_eq!(c2, if in_group_a { "A" } else { "B" }, "row {row}");

            let disposable = 0.67 * (salary + at("commission")) - 0.2 * at("loan") - 20e3;
            let c7 = table["c7"].as_string::<i32>().value(row);
            if disposable.abs() > 1e-6 {
                assert_eq!(c7, if disposable > 0.0 { "A" } else { "B" }, "row {row}");
            } else {
                near_zero += 1;
            }
            let r7 = table["r7"].as_primitive::<Float64Type>().value(row);
            assert!((r7 - disposable).abs() < 1e-6, "row {row}");

            let years = at("hyears");
            let equity = if years < 20.0 { 0.0 } else { 0.1 * at("hvalue") * (years - 20.0) };
            let t =
                0.67 * (salary + at("commission")) - 5000.0 * at("elevel") + 0.2 * equity - 10e3;
            let r10 = table["r10"].as_primitive::<Float64Type>().value(row);
            assert!((r10 - t).abs() < 1e-6, "row {row}");
            class_a[0] += usize::from(c2 == "A");
            class_a[1] += usize::from(c7 == "A");
        }
        assert!(near_zero < 5);
        assert!(class_a.iter().all(|count| (6_000..54_000).contains(count)), "{class_a:?}");
    }

    #[test]
    fn a_disposable_income_of_exactly_zero_is_class_b() {
        let mut person = Person::draw(&mut Random::new(1));
        (person.salary, person.commission, person.loan) = (100_000, 0, 235_000);
        assert_eq!((person.r7_hundredths(), person.c7()), (0, "B"));
        person.loan -= 1;
        assert_eq!((person.r7_hundredths(), person.c7()), (20, "A"));
    }

    #[test]
    fn targets_print_with_at_most_two_decimals() {
        let table = sample();
        for name in ["r7", "r10"] {
            let values = table[name].as_primitive::<Float64Type>().values();
            let decimals =
                |value: &f64| value.to_string().split_once('.').map_or(0, |parts| parts.1.len());
            assert_eq!(values.iter().map(decimals).max(), Some(2), "{name}");
        }
    }

    #[test]
    fn quasi_identifiers_fill_their_ranges_evenly() {
        let table = sample();
        let ranges = [
            ("salary", 20_000, 150_000),
            ("age", 20, 80),
            ("elevel", 0, 4),
            ("car", 1, 20),
            ("zipcode", 1, 9),
            ("hyears", 1, 30),
            ("loan", 0, 500_000),
        ];
        for (name, low, high) in ranges {
            let values = numbers(&table, name);
            assert!(values.iter().all(|value| (low..=high).contains(value)), "{name}");
            let width = (high - low) as f64;
            let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
            assert!((mean - (low + high) as f64 / 2.0).abs() < width / 100.0, "{name}: {mean}");
            let lowest = values.iter().filter(|&&value| value - low <= (high - low) / 4).count();
            let due = ((high - low) / 4 + 1) as f64 / (width + 1.0) * values.len() as f64;
            assert!((lowest as f64 - due).abs() < due / 20.0, "{name}: {lowest} of {due}");
        }
    }

    #[test]
    fn commission_and_house_value_depend_on_salary_and_zipcode() {
        let table = sample();
        for (&salary, &commission) in
            numbers(&table, "salary").iter().zip(numbers(&table, "commission"))
        {
            let range = if salary >= 75_000 { 0..=0 } else { 10_000..=75_000 };
            assert!(range.contains(&commission), "{salary} {commission}");
        }
        let mut sum_of_h = 0.0;
        for (&zipcode, &value) in numbers(&table, "zipcode").iter().zip(numbers(&table, "hvalue")) {
            let h = value as f64 / (zipcode * 100_000) as f64;
            assert!((0.5..=1.5).contains(&h), "{zipcode} {value}");
            sum_of_h += h;
        }
        assert!((sum_of_h / 60_000.0 - 1.0).abs() < 0.01);
    }
}
