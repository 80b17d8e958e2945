//! A census of fictitious adults: correlated attributes, hierarchies of several shapes, some
//! missing values.
//!
//! Every number below was invented to look plausible; none comes from a census. Attributes are
//! drawn along the arrows, each from the row of a table that its causes select:
//!
//! ```text
//! age -> sex         age -> marital-status      race -> birthplace -> zip
//! age -> education, with sex -> occupation -> workclass
//! age, education, occupation -> salary-class
//! ```
//!
//! A weight table becomes one [`Urn`] per row, so a draw costs one random number and one byte
//! lookup.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::random::{Random, Urn};

const YOUNGEST: usize = 17;
const OLDEST: usize = 90;

const SEXES: [&str; 2] = ["Female", "Male"];

const RACES: [(&str, u32); 5] =
    [("White", 62), ("Black", 13), ("Asian", 8), ("Native", 3), ("Other", 14)];

/// Of 100 people, how many have no value.
const MISSING_WORKCLASS: u64 = 3;
const MISSING_BIRTHPLACE: u64 = 2;

/// The relative number of people of each age. Ages between two rows are interpolated linearly, here
/// and below.
const AGES: [(usize, [u32; 1]); 8] = [
    (17, [130]),
    (25, [150]),
    (35, [155]),
    (50, [150]),
    (60, [135]),
    (75, [75]),
    (85, [30]),
    (90, [10]),
];

/// Each status and its parent.
const MARITAL: [[&str; 2]; 7] = [
    ["Never married", "Single"],
    ["Married", "Couple"],
    ["Civil union", "Couple"],
    ["Spouse absent", "Formerly couple"],
    ["Separated", "Formerly couple"],
    ["Divorced", "Formerly couple"],
    ["Widowed", "Formerly couple"],
];

/// Of 1000 people of an age, how many have each status.
const MARITAL_BY_AGE: [(usize, [u32; 7]); 7] = [
    (17, [978, 12, 8, 1, 1, 0, 0]),
    (25, [700, 190, 70, 10, 15, 15, 0]),
    (35, [310, 500, 65, 15, 30, 77, 3]),
    (50, [150, 580, 35, 15, 35, 165, 20]),
    (65, [80, 590, 20, 12, 20, 168, 110]),
    (80, [50, 430, 10, 10, 10, 110, 380]),
    (90, [45, 240, 5, 10, 5, 75, 620]),
];

/// Each education, lowest first, with its parent and grandparent.
const EDUCATION: [[&str; 3]; 16] = [
    ["No schooling", "Elementary school", "No diploma"],
    ["Grades 1-4", "Elementary school", "No diploma"],
    ["Grades 5-6", "Elementary school", "No diploma"],
    ["Grades 7-8", "Elementary school", "No diploma"],
    ["Grade 9", "Some high school", "No diploma"],
    ["Grade 10", "Some high school", "No diploma"],
    ["Grade 11", "Some high school", "No diploma"],
    ["Grade 12", "Some high school", "No diploma"],
    ["High school diploma", "High school completed", "Diploma"],
    ["Some college", "High school completed", "Diploma"],
    ["Vocational degree", "Two-year degree", "Diploma"],
    ["Associate degree", "Two-year degree", "Diploma"],
    ["Bachelor", "Undergraduate degree", "University degree"],
    ["Master", "Graduate degree", "University degree"],
    ["Professional school", "Graduate degree", "University degree"],
    ["Doctorate", "Graduate degree", "University degree"],
];

/// Of 1000 people of an age, how many have each education.
const EDUCATION_BY_AGE: [(usize, [u32; 16]); 7] = [
    (17, [2, 2, 5, 21, 60, 330, 480, 70, 30, 0, 0, 0, 0, 0, 0, 0]),
    (20, [3, 3, 8, 16, 20, 30, 40, 30, 330, 480, 30, 10, 0, 0, 0, 0]),
    (23, [3, 4, 10, 18, 20, 25, 35, 15, 300, 270, 60, 70, 170, 0, 0, 0]),
    (28, [3, 5, 12, 20, 20, 25, 35, 15, 280, 180, 60, 75, 200, 50, 14, 6]),
    (45, [4, 6, 14, 22, 20, 22, 30, 12, 290, 190, 55, 75, 170, 62, 18, 10]),
    (65, [6, 12, 25, 50, 30, 40, 35, 12, 320, 170, 40, 45, 130, 55, 18, 12]),
    (90, [15, 35, 55, 170, 50, 55, 40, 10, 300, 120, 20, 20, 75, 22, 9, 4]),
];

/// Each class of worker and its parent.
const WORKCLASS: [[&str; 2]; 8] = [
    ["Private company", "Private sector"],
    ["Nonprofit", "Private sector"],
    ["Federal government", "Government"],
    ["State government", "Government"],
    ["Local government", "Government"],
    ["Freelance", "Own or family business"],
    ["Business owner", "Own or family business"],
    ["Family worker", "Own or family business"],
];

/// An occupation: who has it, in which class of work, and how well it is paid.
struct Occupation {
    name: &'static str,
    /// Its weight among the occupations for each parent in [`EDUCATION`], lowest first.
    by_education: [u32; 6],
    /// Its weight among women; among men it is 100 minus this.
    women: u32,
    /// Of 100 people, how many are in each class of [`WORKCLASS`].
    by_workclass: [u32; 8],
    /// Of 1000 people of middle age and education, how many earn more than 50K.
    well_paid: u64,
}

#[rustfmt::skip]
const OCCUPATIONS: [Occupation; 14] = {
    type Name = &'static str;
    const fn row(name: Name, by_education: [u32; 6], women: u32, by_workclass: [u32; 8], well_paid: u64) -> Occupation {
        Occupation { name, by_education, women, by_workclass, well_paid }
    }
    [
        row("Management",              [ 20,  40, 110, 130, 230, 220], 42, [62,  7,  4,  3,  4,  6, 14,  0], 480),
        row("Science and engineering", [  0,   5,  15,  50, 150, 190], 30, [68,  5,  8,  7,  3,  7,  2,  0], 520),
        row("Teaching",                [  0,   5,  20,  40, 120, 240], 72, [14, 12,  1, 27, 44,  2,  0,  0], 300),
        row("Health care",             [ 10,  20,  40, 140,  90, 170], 74, [58, 20,  3,  7,  5,  4,  3,  0], 330),
        row("Office support",          [ 25,  70, 170, 140, 110,  40], 76, [72,  7,  5,  6,  7,  1,  1,  1], 130),
        row("Sales",                   [ 50, 100, 120,  90, 110,  45], 50, [74,  1,  0,  0,  0, 12, 11,  2], 260),
        row("Technical support",       [  5,  10,  35,  90,  50,  25], 38, [74,  4,  8,  6,  4,  3,  1,  0], 330),
        row("Skilled trades",          [180, 160, 150, 110,  30,  10],  6, [70,  1,  2,  2,  4, 15,  6,  0], 240),
        row("Machine operation",       [210, 170, 100,  45,  15,   5], 32, [95,  0,  1,  0,  1,  2,  1,  0], 120),
        row("Transport",               [100, 110,  70,  40,  15,   5], 14, [76,  1,  2,  1,  6, 12,  2,  0], 190),
        row("Farming and fishing",     [130,  70,  30,  15,  10,   5], 22, [48,  1,  1,  1,  1, 26, 12, 10], 110),
        row("Protective services",     [ 10,  20,  35,  40,  25,  10], 22, [22,  1, 10, 20, 46,  1,  0,  0], 340),
        row("Personal services",       [120, 120,  70,  50,  30,  20], 66, [68,  7,  1,  3,  5, 12,  3,  1],  50),
        row("Cleaning and labor",      [140, 100,  35,  20,  15,  15], 44, [83,  3,  1,  3,  6,  3,  0,  1],  40),
    ]
};

/// The factors of [`Occupation::well_paid`] in hundredths: for each parent in [`EDUCATION`], and
/// for an age.
const WELL_PAID_BY_EDUCATION: [u64; 6] = [35, 45, 85, 105, 145, 180];
const WELL_PAID_BY_AGE: [(usize, [u32; 1]); 7] =
    [(17, [1]), (22, [20]), (30, [75]), (45, [115]), (58, [120]), (68, [70]), (90, [35])];

/// Each country, its parent, and roughly how many of 1000 people of each race were born there.
#[rustfmt::skip]
const BIRTHPLACES: [(&str, &str, [u32; 5]); 40] = [
    ("United States",      "Northern America",   [930, 870, 330, 985, 560]),
    ("Canada",             "Northern America",   [  8,   1,   1,   4,   1]),
    ("Mexico",             "Central America",    [  3,   0,   0,   5, 190]),
    ("Guatemala",          "Central America",    [  1,   0,   0,   2,  35]),
    ("El Salvador",        "Central America",    [  1,   0,   0,   1,  45]),
    ("Honduras",           "Central America",    [  1,   1,   0,   1,  25]),
    ("Cuba",               "Caribbean",          [  4,   4,   0,   0,  30]),
    ("Dominican Republic", "Caribbean",          [  1,   6,   0,   0,  35]),
    ("Haiti",              "Caribbean",          [  0,  25,   0,   0,   1]),
    ("Jamaica",            "Caribbean",          [  0,  28,   1,   0,   2]),
    ("Colombia",           "South America",      [  2,   1,   0,   0,  20]),
    ("Ecuador",            "South America",      [  1,   0,   0,   0,  14]),
    ("Peru",               "South America",      [  1,   0,   1,   1,  13]),
    ("Brazil",             "South America",      [  4,   2,   0,   0,  10]),
    ("Venezuela",          "South America",      [  1,   0,   0,   0,   8]),
    ("United Kingdom",     "Western Europe",     [  8,   3,   1,   0,   1]),
    ("Ireland",            "Western Europe",     [  3,   0,   0,   0,   0]),
    ("France",             "Western Europe",     [  2,   1,   0,   0,   0]),
    ("Germany",            "Western Europe",     [  7,   1,   0,   1,   1]),
    ("Italy",              "Western Europe",     [  5,   0,   0,   0,   1]),
    ("Poland",             "Eastern Europe",     [  6,   0,   0,   0,   0]),
    ("Ukraine",            "Eastern Europe",     [  4,   0,   0,   0,   0]),
    ("Russia",             "Eastern Europe",     [  5,   0,   1,   0,   0]),
    ("Romania",            "Eastern Europe",     [  2,   0,   0,   0,   0]),
    ("Nigeria",            "Africa",             [  0,  18,   0,   0,   0]),
    ("Ethiopia",           "Africa",             [  0,  14,   0,   0,   0]),
    ("Kenya",              "Africa",             [  0,   8,   1,   0,   0]),
    ("Egypt",              "Africa",             [  2,   2,   0,   0,   2]),
    ("Iran",               "Western Asia",       [  3,   0,   2,   0,   1]),
    ("Iraq",               "Western Asia",       [  2,   0,   1,   0,   1]),
    ("India",              "Southern Asia",      [  0,   0, 190,   0,   1]),
    ("Pakistan",           "Southern Asia",      [  0,   0,  30,   0,   1]),
    ("Bangladesh",         "Southern Asia",      [  0,   0,  18,   0,   0]),
    ("China",              "Eastern Asia",       [  0,   0, 160,   0,   0]),
    ("Japan",              "Eastern Asia",       [  0,   0,  30,   0,   0]),
    ("South Korea",        "Eastern Asia",       [  0,   0,  65,   0,   0]),
    ("Taiwan",             "Eastern Asia",       [  0,   0,  25,   0,   0]),
    ("Philippines",        "South-eastern Asia", [  1,   0, 110,   0,   1]),
    ("Vietnam",            "South-eastern Asia", [  0,   0,  85,   0,   0]),
    ("Thailand",           "South-eastern Asia", [  0,   0,  15,   0,   0]),
];

/// Of 100 people born in each parent of [`BIRTHPLACES`], how many live in a zip that begins with 0,
/// 1, ... 9.
#[rustfmt::skip]
const ZIP_DIGIT_BY_REGION: [(&str, [u32; 10]); 11] = [
    ("Northern America",   [ 8, 12, 11, 13, 10,  6,  8, 11,  7, 14]),
    ("Central America",    [ 2,  4,  4,  8,  2,  1,  5, 30,  8, 36]),
    ("Caribbean",          [10, 34,  5, 40,  2,  1,  2,  3,  1,  2]),
    ("South America",      [14, 24,  7, 30,  2,  1,  3,  8,  2,  9]),
    ("Western Europe",     [14, 18, 10, 15,  8,  4,  7,  8,  6, 10]),
    ("Eastern Europe",     [16, 22, 10,  6, 14,  4, 16,  3,  2,  7]),
    ("Africa",             [ 8, 16, 24, 10,  8, 12,  5, 12,  2,  3]),
    ("Western Asia",       [ 5, 10,  9,  5, 16,  3,  6,  8,  3, 35]),
    ("Southern Asia",      [12, 16,  9,  6,  5,  2,  9, 15,  2, 24]),
    ("Eastern Asia",       [ 6, 18,  6,  4,  3,  2,  6,  8,  3, 44]),
    ("South-eastern Asia", [ 3,  6,  7,  6,  3,  5,  5, 12,  6, 47]),
];

/// A zip is a first digit, one of eight areas (two digits) and one of five places (two digits),
/// with these weights.
const ZIP_AREAS: [(&str, u32); 8] =
    [("01", 40), ("10", 20), ("17", 14), ("22", 10), ("35", 7), ("48", 4), ("60", 3), ("93", 2)];
const ZIP_PLACES: [(&str, u32); 5] = [("01", 10), ("02", 5), ("08", 3), ("15", 1), ("40", 1)];

/// The weight tables, prepared for drawing. Tables by age begin with the youngest.
#[derive(Debug)]
pub(super) struct Urns {
    age: Urn,
    race: Urn,
    marital_by_age: Vec<Urn>,
    education_by_age: Vec<Urn>,
    /// By the group of the education, and by sex.
    occupation: Vec<[Urn; 2]>,
    workclass_by_occupation: Vec<Urn>,
    birthplace_by_race: Vec<Urn>,
    zip_digit_by_birthplace: Vec<Urn>,
    zip_area: Urn,
    zip_place: Urn,
    well_paid_by_age: Vec<u64>,
    /// The parent of each education, counted from the lowest.
    education_group: Vec<usize>,
    /// Every zip, by first digit, area and place.
    zips: Vec<String>,
}

impl Urns {
    /// Fills the urns.
    pub(super) fn new() -> Urns {
        let ages = || YOUNGEST..=OLDEST;
        let age_weights: Vec<u32> = ages().map(|age| at_age(&AGES, age)[0]).collect();
        let occupation = |group: usize, women: bool| {
            let weight = |occupation: &Occupation| {
                let of_sex = if women { occupation.women } else { 100 - occupation.women };
                occupation.by_education[group] * of_sex
            };
            Urn::new(&OCCUPATIONS.each_ref().map(weight))
        };
        let zip_digit = |&(_, parent, _): &(&str, &str, [u32; 5])| {
            let row = ZIP_DIGIT_BY_REGION.iter().find(|(region, _)| *region == parent);
            Urn::new(&row.expect("the table has a row for each region").1)
        };
        let zip = |digit: usize, area: usize, place: usize| {
            format!("{digit}{}{}", ZIP_AREAS[area].0, ZIP_PLACES[place].0)
        };
        let areas = |digit| (0..ZIP_AREAS.len()).map(move |area| (digit, area));
        let places =
            |(digit, area)| (0..ZIP_PLACES.len()).map(move |place| zip(digit, area, place));
        Urns {
            age: Urn::new(&age_weights),
            race: Urn::new(&RACES.map(|(_, weight)| weight)),
            marital_by_age: ages().map(|age| Urn::new(&at_age(&MARITAL_BY_AGE, age))).collect(),
            education_by_age: ages().map(|age| Urn::new(&at_age(&EDUCATION_BY_AGE, age))).collect(),
            occupation: (0..6)
                .map(|group| [occupation(group, true), occupation(group, false)])
                .collect(),
            workclass_by_occupation: OCCUPATIONS
                .iter()
                .map(|row| Urn::new(&row.by_workclass))
                .collect(),
            birthplace_by_race: (0..RACES.len())
                .map(|race| Urn::new(&BIRTHPLACES.map(|(_, _, by_race)| by_race[race])))
                .collect(),
            zip_digit_by_birthplace: BIRTHPLACES.iter().map(zip_digit).collect(),
            zip_area: Urn::new(&ZIP_AREAS.map(|(_, weight)| weight)),
            zip_place: Urn::new(&ZIP_PLACES.map(|(_, weight)| weight)),
            well_paid_by_age: ages()
                .map(|age| u64::from(at_age(&WELL_PAID_BY_AGE, age)[0]))
                .collect(),
            education_group: education_groups(),
            zips: (0..10).flat_map(areas).flat_map(places).collect(),
        }
    }
}

/// The weights for an age: those of a row of the table, or interpolated linearly between two rows,
/// rounded down.
fn at_age<const N: usize>(table: &[(usize, [u32; N])], age: usize) -> [u32; N] {
    let after = table.iter().position(|row| row.0 >= age).expect("the table ends with the oldest");
    let (upper_age, upper) = table[after];
    let (lower_age, lower) = table[after.saturating_sub(1)];
    let (rise, run) = ((age - lower_age) as u32, (upper_age - lower_age).max(1) as u32);
    std::array::from_fn(|index| (lower[index] * (run - rise) + upper[index] * rise) / run)
}

/// For each education, the number of parents in the hierarchy before its own.
fn education_groups() -> Vec<usize> {
    let changes = EDUCATION.windows(2).map(|pair| usize::from(pair[0][1] != pair[1][1]));
    let later = changes.scan(0, |group, change| {
        *group += change;
        Some(*group)
    });
    std::iter::once(0).chain(later).collect()
}

/// One row, as positions in the tables.
struct Person {
    sex: usize,
    age: usize,
    race: usize,
    marital: usize,
    education: usize,
    birthplace: Option<usize>,
    workclass: Option<usize>,
    zip: usize,
    occupation: usize,
    well_paid: bool,
}

impl Person {
    fn draw(urns: &Urns, random: &mut Random) -> Person {
        let years = urns.age.draw(random);
        let age = YOUNGEST + years;
        // Women live longer: from age 50 on their share grows by four in a thousand each year.
        let women = 500 + 4 * age.saturating_sub(50) as u64;
        let sex = usize::from(random.below(1000) >= women);
        let race = urns.race.draw(random);
        let marital = urns.marital_by_age[years].draw(random);
        let education = urns.education_by_age[years].draw(random);
        let group = urns.education_group[education];
        let occupation = urns.occupation[group][sex].draw(random);
        let workclass = urns.workclass_by_occupation[occupation].draw(random);
        let birthplace = urns.birthplace_by_race[race].draw(random);
        let digit = urns.zip_digit_by_birthplace[birthplace].draw(random);
        // Rotated by the digit, so that the most populous area is not the same everywhere.
        let area = (urns.zip_area.draw(random) + 3 * digit) % ZIP_AREAS.len();
        let place = urns.zip_place.draw(random);
        let well_paid = OCCUPATIONS[occupation].well_paid
            * WELL_PAID_BY_EDUCATION[group]
            * urns.well_paid_by_age[years]
            / 10_000;
        Person {
            sex,
            age,
            race,
            marital,
            education,
            birthplace: (random.below(100) >= MISSING_BIRTHPLACE).then_some(birthplace),
            workclass: (random.below(100) >= MISSING_WORKCLASS).then_some(workclass),
            zip: (digit * ZIP_AREAS.len() + area) * ZIP_PLACES.len() + place,
            occupation,
            well_paid: random.below(1000) < well_paid.min(950),
        }
    }
}

/// The schema of the table.
pub(super) fn schema() -> SchemaRef {
    let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
    Arc::new(Schema::new(vec![
        text("id", false),
        text("sex", false),
        Field::new("age", DataType::Int64, false),
        text("race", false),
        text("marital-status", false),
        text("education", false),
        text("birthplace", true),
        text("workclass", true),
        text("zip", false),
        text("occupation", false),
        text("salary-class", false),
    ]))
}

/// The next rows of a random stream; `first_row` rows came before them.
pub(super) fn batch(urns: &Urns, random: &mut Random, first_row: u64, rows: usize) -> RecordBatch {
    let people: Vec<Person> = (0..rows).map(|_| Person::draw(urns, random)).collect();
    let mut ids = StringBuilder::with_capacity(rows, rows * 8);
    for number in first_row + 1..=first_row + rows as u64 {
        write!(ids, "P{number:07}").expect("a builder in memory takes any text");
        ids.append_value(""); // ends the value that was written
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(ids.finish()),
        text(&people, |person| SEXES[person.sex]),
        Arc::new(Int64Array::from_iter_values(people.iter().map(|person| person.age as i64))),
        text(&people, |person| RACES[person.race].0),
        text(&people, |person| MARITAL[person.marital][0]),
        text(&people, |person| EDUCATION[person.education][0]),
        text_or_missing(&people, |person| Some(BIRTHPLACES[person.birthplace?].0)),
        text_or_missing(&people, |person| Some(WORKCLASS[person.workclass?][0])),
        text(&people, |person| &urns.zips[person.zip]),
        text(&people, |person| OCCUPATIONS[person.occupation].name),
        text(&people, |person| if person.well_paid { ">50K" } else { "<=50K" }),
    ];
    RecordBatch::try_new(schema(), columns).expect("the columns are those of the schema")
}

fn text<'a>(people: &[Person], get: impl Fn(&Person) -> &'a str) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(people.iter().map(get)))
}

fn text_or_missing(people: &[Person], get: impl Fn(&Person) -> Option<&'static str>) -> ArrayRef {
    Arc::new(StringArray::from_iter(people.iter().map(get)))
}

/// The hierarchy files: name and text, one line per leaf with its ancestors up to the root `*`.
pub(super) fn hierarchies() -> Vec<(&'static str, String)> {
    fn file<const N: usize>(paths: impl IntoIterator<Item = [&'static str; N]>) -> String {
        paths.into_iter().map(|path| path.join(";") + ";*\n").collect()
    }
    vec![
        ("sex.csv", file(SEXES.map(|sex| [sex]))),
        ("race.csv", file(RACES.map(|(race, _)| [race]))),
        ("marital-status.csv", file(MARITAL)),
        ("education.csv", file(EDUCATION)),
        ("birthplace.csv", file(BIRTHPLACES.map(|(country, region, _)| [country, region]))),
        ("workclass.csv", file(WORKCLASS)),
    ]
}

/// The policy of the table; `{data}` and `{policy}` are replaced by the names of the files,
/// `{folder}` by that of the hierarchies' folder.
pub(super) const POLICY: &str = r#"# Policy for {data}. To use it:
#   scumble anonymize {data} --policy {policy} -o release.csv
#
# The table is synthetic: none of these people exist.

# --- Roles -------------------------------------------------------------------------------------------------------

[attributes.id]
role = "identifier"              # identifies a person directly: dropped

# Quasi-identifiers: an outsider may know them, and together they may identify a person. They are generalized along
# their hierarchies until enough people share them.

[attributes.sex]
role = "quasi-identifier"
hierarchy = "{folder}sex.csv"    # one line per value, from the value to the root: value;...;*

[attributes.age]
role = "quasi-identifier"
type = "integer"
hierarchy = { intervals = [5, 10, 20, 40], from = 0, to = 100 }      # 5 years wide, then 10, 20, 40, then any age

[attributes.race]
role = "quasi-identifier"
hierarchy = "{folder}race.csv"

[attributes.marital-status]
role = "quasi-identifier"
hierarchy = "{folder}marital-status.csv"

[attributes.education]
role = "quasi-identifier"
hierarchy = "{folder}education.csv"

[attributes.birthplace]          # some values are missing; they need no line in the hierarchy
role = "quasi-identifier"
hierarchy = "{folder}birthplace.csv"

[attributes.workclass]
role = "quasi-identifier"
hierarchy = "{folder}workclass.csv"

[attributes.zip]
role = "quasi-identifier"
type = "text"                    # not a number: 00101 keeps its zeros
hierarchy = { mask = "right", char = "*" }                           # 12345, 1234*, 123**, ...

# Sensitive: nobody should learn this about a person.

[attributes.occupation]
role = "sensitive"

# Target: the release is used to predict it. It is released unchanged.

[attributes.salary-class]
role = "target"

# --- Privacy: the release must meet all of these requirements ----------------------------------------------------

[privacy]
k = 5                                            # every class has at least 5 rows
l-diversity = { kind = "distinct", l = 3 }       # and at least 3 different occupations

# --- Search ------------------------------------------------------------------------------------------------------

[search]
algorithm = "auto"
loss = "lm"                                          # minimize the mean loss of detail
suppression = { scheme = "records", limit = 0.05 }   # suppress at most 5 % of the rows
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use std::collections::{HashMap, HashSet};

    const ROWS: usize = 200_000;

    fn people() -> Vec<Person> {
        let (urns, mut random) = (Urns::new(), Random::new(17));
        (0..ROWS).map(|_| Person::draw(&urns, &mut random)).collect()
    }

    /// The share of a choice among the selected people, of whom there must be enough for a stable
    /// estimate.
    fn share(
        people: &[Person],
        among: impl Fn(&Person) -> bool,
        chosen: impl Fn(&Person) -> bool,
    ) -> f64 {
        let among: Vec<&Person> = people.iter().filter(|person| among(person)).collect();
        assert!(among.len() > 300, "only {} people", among.len());
        among.iter().filter(|person| chosen(person)).count() as f64 / among.len() as f64
    }

    /// Checks that the values of the selected people are distributed according to the weights,
    /// within four standard deviations.
    fn check_spread(
        people: &[Person],
        weights: &[u32],
        among: impl Fn(&Person) -> bool,
        value: impl Fn(&Person) -> usize,
    ) {
        let total = f64::from(weights.iter().sum::<u32>());
        let count = people.iter().filter(|person| among(person)).count() as f64;
        for (index, &weight) in weights.iter().enumerate() {
            let due = f64::from(weight) / total;
            let found = share(people, &among, |person| value(person) == index);
            let deviation = (due * (1.0 - due) / count).sqrt();
            assert!((found - due).abs() <= 4.0 * deviation, "value {index}: {found}, not {due}");
        }
    }

    #[test]
    fn values_are_spread_as_the_tables_say() {
        let people = people();
        let age_weights: Vec<u32> = (YOUNGEST..=OLDEST).map(|age| at_age(&AGES, age)[0]).collect();
        check_spread(&people, &age_weights, |_| true, |person| person.age - YOUNGEST);
        check_spread(&people, &RACES.map(|race| race.1), |_| true, |person| person.race);
        check_spread(
            &people,
            &MARITAL_BY_AGE[2].1,
            |person| person.age == 35,
            |person| person.marital,
        );
        check_spread(
            &people,
            &EDUCATION_BY_AGE[4].1,
            |person| person.age == 45,
            |person| person.education,
        );
        for (index, row) in OCCUPATIONS.iter().enumerate() {
            let there = |person: &Person| person.occupation == index && person.workclass.is_some();
            check_spread(&people, &row.by_workclass, there, |person| person.workclass.unwrap());
        }
        for race in 0..RACES.len() {
            let weights = BIRTHPLACES.map(|row| row.2[race]);
            let born = |person: &Person| person.race == race && person.birthplace.is_some();
            check_spread(&people, &weights, born, |person| person.birthplace.unwrap());
        }
        let polish = |person: &Person| {
            person.birthplace.is_some_and(|place| BIRTHPLACES[place].0 == "Poland")
        };
        check_spread(&people, &ZIP_DIGIT_BY_REGION[5].1, polish, |person| person.zip / 40);
        let women_with_bachelor = |person: &Person| person.education == 12 && person.sex == 0;
        let weights = OCCUPATIONS.each_ref().map(|row| row.by_education[4] * row.women);
        check_spread(&people, &weights, women_with_bachelor, |person| person.occupation);
        check_spread(
            &people,
            &[2, 98],
            |_| true,
            |person| usize::from(person.birthplace.is_some()),
        );
        check_spread(&people, &[3, 97], |_| true, |person| usize::from(person.workclass.is_some()));
    }

    #[test]
    fn attributes_depend_on_each_other() {
        let people = people();
        let ages = |from: usize| move |person: &Person| (from..from + 10).contains(&person.age);
        let single: Vec<f64> = (17..87)
            .step_by(10)
            .map(|from| share(&people, ages(from), |person| person.marital == 0))
            .collect();
        assert!(single.windows(2).all(|pair| pair[0] > pair[1]), "{single:?}");
        let widowed = |from| share(&people, ages(from), |person| person.marital == 6);
        assert!(widowed(75) > 5.0 * widowed(50));
        let well_paid = |low, high| {
            share(
                &people,
                |person| (low..=high).contains(&person.education),
                |person| person.well_paid,
            )
        };
        assert!(well_paid(0, 7) < 0.1 && well_paid(8, 9) < 0.3 && well_paid(13, 15) > 0.45);
        let rich = share(&people, |_| true, |person| person.well_paid);
        assert!((0.18..0.32).contains(&rich), "{rich}");
        let women = |name| {
            share(
                &people,
                |person| OCCUPATIONS[person.occupation].name == name,
                |person| person.sex == 0,
            )
        };
        assert!(women("Skilled trades") < 0.15 && women("Teaching") > 0.65);
        let elders = share(&people, ages(80), |person| person.sex == 0);
        assert!(elders > 0.6, "{elders}");
        assert!(people.iter().all(|person| person.age >= 24 || person.education < 13));
    }

    #[test]
    fn zips_are_many_and_skewed() {
        let (urns, people) = (Urns::new(), people());
        let distinct: HashSet<&String> = urns.zips.iter().collect();
        assert_eq!(distinct.len(), 400);
        assert!(
            urns.zips
                .iter()
                .all(|zip| zip.len() == 5 && zip.bytes().all(|byte| byte.is_ascii_digit()))
        );
        let mut counts = vec![0; 400];
        people.iter().for_each(|person| counts[person.zip] += 1);
        counts.sort_unstable();
        let (lowest, highest) =
            (counts[..200].iter().sum::<usize>(), counts[390..].iter().sum::<usize>());
        assert!(counts[0] > 0 && highest > 2 * lowest, "{lowest} {highest}");
    }

    #[test]
    fn every_value_has_a_line_in_its_hierarchy() {
        let table = batch(&Urns::new(), &mut Random::new(2), 0, 100_000);
        for (file, text) in hierarchies() {
            let leaves: HashSet<&str> =
                text.lines().filter_map(|line| line.split(';').next()).collect();
            let column = table[file.strip_suffix(".csv").unwrap()].as_string::<i32>();
            let values: HashSet<&str> = column.iter().flatten().collect();
            assert!(values.is_subset(&leaves), "{file}");
            assert!(leaves.is_subset(&values), "{file} has values that never occur");
        }
        let ages = table["age"].as_primitive::<Int64Type>().values();
        assert_eq!((ages.iter().min(), ages.iter().max()), (Some(&17), Some(&90)));
        assert!(table["workclass"].null_count() > 0 && table["birthplace"].null_count() > 0);
        let ids = table["id"].as_string::<i32>();
        assert_eq!((ids.value(0), ids.value(99_999)), ("P0000001", "P0100000"));
    }

    #[test]
    fn hierarchies_are_trees() {
        for (file, text) in hierarchies() {
            let paths: Vec<Vec<&str>> =
                text.lines().map(|line| line.split(';').collect()).collect();
            let leaves: HashSet<&str> = paths.iter().map(|path| path[0]).collect();
            assert_eq!(leaves.len(), paths.len(), "{file} repeats a leaf");
            let mut place: HashMap<&str, (usize, Option<&str>)> = HashMap::new();
            for path in &paths {
                assert_eq!((path.len(), path.last()), (paths[0].len(), Some(&"*")), "{file}");
                for (level, label) in path.iter().enumerate() {
                    let here = (level, path.get(level + 1).copied());
                    assert_eq!(*place.entry(label).or_insert(here), here, "{file}: {label}");
                    assert!(
                        !label.is_empty() && *label == label.trim() && !label.contains([',', '"']),
                        "{file}: {label}"
                    );
                }
            }
        }
    }

    #[test]
    fn tables_are_whole() {
        assert!(MARITAL_BY_AGE.iter().all(|row| row.1.iter().sum::<u32>() == 1000));
        assert!(EDUCATION_BY_AGE.iter().all(|row| row.1.iter().sum::<u32>() == 1000));
        assert!(OCCUPATIONS.iter().all(|row| row.by_workclass.iter().sum::<u32>() == 100));
        assert!(ZIP_DIGIT_BY_REGION.iter().all(|row| row.1.iter().sum::<u32>() == 100));
        assert_eq!(education_groups(), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5]);
        assert_eq!(at_age(&AGES, 17), [130]);
        assert_eq!(at_age(&AGES, 21), [140]);
        assert_eq!(at_age(&AGES, 90), [10]);
    }
}
