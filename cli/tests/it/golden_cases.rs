//! The commands whose output is in the golden files.

use crate::bed::{Bed, PEOPLE};
use crate::golden::Case;
use std::path::Path;

/// Errors that no case provokes, and why.
pub const UNREACHABLE: &[(&str, &str)] = &[
    ("TooManyRows", "needs four billion rows"),
    ("ChangedMeanwhile", "needs a file that changes between two scans; see faults.rs"),
    ("TooManyThreads", "the command limits threads to 1024"),
    ("NoRandomness", "needs a system without random numbers"),
    ("Busy", "needs another run that does not end; see outputs.rs"),
    ("SpillFull", "needs a full disk; see faults.rs"),
    ("ReleaseFull", "needs a full disk; see faults.rs"),
    ("SpillDamaged", "needs a disk that fails; see faults.rs"),
    ("StreamFailed", "a stream is given to the library, not to the command"),
    ("WrongSeal", "a sink is given to the library, not to the command"),
    ("Defect", "a bug"),
    ("Interrupted", "needs a signal; see killed.rs"),
];

const fn case(about: &'static str, prepare: fn() -> Bed, command: &'static str) -> Case {
    Case { about, prepare, command }
}

const ANONYMIZE: &str = "anonymize table.csv -p policy.toml -o out.csv";

fn people() -> Bed {
    Bed::people()
}

/// The people with a piece of their table changed.
fn table(from: &str, to: &str) -> Bed {
    let bed = Bed::people();
    bed.edit("table.csv", from, to);
    bed
}

/// The people with a piece of their policy changed.
fn policy(from: &str, to: &str) -> Bed {
    let bed = Bed::people();
    bed.edit("policy.toml", from, to);
    bed
}

fn file(name: &str, content: impl AsRef<[u8]>) -> Bed {
    let bed = Bed::people();
    bed.file(name, content);
    bed
}

/// The people with requirements in place of `k = 2`.
fn asked(requirements: &str) -> Bed {
    policy("k = 2", requirements)
}

/// The employees of the example, with something in the place of its groups.
fn employees(groups: &str) -> Bed {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/salaries");
    let bed = Bed::new();
    bed.file("table.csv", std::fs::read(folder.join("employees.csv")).unwrap());
    let policy = std::fs::read_to_string(folder.join("policy.toml")).unwrap();
    bed.file("policy.toml", policy.replace("groups = { zipcode = 2 }", groups));
    bed
}

fn distributed() -> Bed {
    let bed = employees("groups = { zipcode = 2 }");
    bed.run(&["anonymize", "table.csv", "-p", "policy.toml", "-o", "out"]).ok();
    bed
}

/// The people, released.
fn released() -> Bed {
    let bed = Bed::people();
    bed.anonymize(&["--save-recoding", "saved.json"]).ok();
    bed
}

fn census() -> Bed {
    let bed = Bed::new();
    let more = ["--rows", "400", "--seed", "1", "-o", "table.csv", "--policy", "policy.toml"];
    bed.run(&[&["generate", "census"], &more[..]].concat()).ok();
    bed
}

fn summarized() -> Bed {
    let bed = Bed::people();
    bed.run(&["summarize", "table.csv", "-p", "policy.toml", "-o", "summary.json"]).ok();
    bed
}

/// A population of 24 with marginals, from which the table is drawn.
fn present(presence: &str) -> Bed {
    let bed = asked(&format!("presence = {{ {presence} }}"));
    let world: String = (0..4).map(|_| PEOPLE.split_once('\n').unwrap().1).collect();
    bed.file("world.csv", format!("name,age,city,ill\n{world}"));
    let ages: String = [34, 36, 51, 55, 38, 57].map(|age| format!("age,{age},4\n")).concat();
    let cities = "city,Bern,8\ncity,Thun,12\ncity,Biel,4\n";
    bed.file("marginals.csv", format!("attribute,value,count\n{ages}{cities}"));
    bed
}

/// The errors, by their variants.
pub const ERRORS: &[Case] = &[
    // Usage.
    case("no command", people, ""),
    case("a command that does not exist", people, "anonymise table.csv"),
    case(
        "a flag that does not exist",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --kk 3",
    ),
    case("no output", people, "anonymize table.csv -p policy.toml"),
    case(
        "a value that is no number",
        people,
        "anonymize table.csv -p policy.toml -o out.csv -k many",
    ),
    case("a size", people, "anonymize table.csv -p policy.toml -o out.csv --memory 1KB"),
    case("levels", people, "anonymize table.csv -p policy.toml -o out.csv --levels age"),
    case("a delimiter", people, "anonymize table.csv -p policy.toml -o out.csv --delimiter ab"),
    case("a choice", people, "generate cats --rows 3 -o cats.csv"),
    case("an experiment", people, "bench rothko"),
    case("a flag without effect", people, "query out 'SELECT 1' --memory 1GB"),
    case("a flag for roles", people, "risk table.csv -p policy.toml -k 3"),
    case("a flag of verify", released, "verify out.csv -p policy.toml --algorithm mondrian"),
    case("standard input", people, "anonymize - -p policy.toml -o out.csv"),
    case("a format", people, "anonymize table.csv -p policy.toml -o out.csv --format csv"),
    case("JSON and a release", people, "anonymize table.csv -p policy.toml -o - --json"),
    case(
        "a saved recoding and a release",
        people,
        "anonymize table.csv -p policy.toml -o - --save-recoding saved.json",
    ),
    case(
        "a distribution on standard output",
        || employees("groups = []"),
        "anonymize table.csv -p policy.toml -o -",
    ),
    case(
        "a flag of instant algorithms",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --summary-kind bayes",
    ),
    case(
        "a flag of summaries",
        people,
        "summarize table.csv -p policy.toml -o s.json --max-parents 2",
    ),
    case(
        "stakes",
        people,
        "advise --prior 2 --population 1000 --table 100 --cost 1000 --misuse 150",
    ),
    case(
        "stakes: a cost",
        people,
        "advise --prior 0.1 --population 1000 --table 100 --cost 0 --misuse 150",
    ),
    case("a selection", people, "generate census --rows 5 --selection biased -o x.csv"),
    // Files and tables.
    case("Io: no input", people, "anonymize tabel.csv -p policy.toml -o out.csv"),
    case("Io: no policy", people, "anonymize table.csv -p policies.toml -o out.csv"),
    case("Io: no folder", people, "anonymize table.csv -p policy.toml -o nowhere/out.csv"),
    case(
        "Columnar",
        || file("bad.parquet", "PAR1 and no more PAR1"),
        "anonymize bad.parquet -p policy.toml -o out.csv",
    ),
    case("UnknownFormat", people, "anonymize table.csv -p policy.toml -o out.doc"),
    case("NoHeader", || file("table.csv", ""), ANONYMIZE),
    case("EmptyTable", || file("table.csv", "name,age,city,ill\n"), ANONYMIZE),
    case("RepeatedColumn", || table("name,age,city,ill", "name,age,city,age"), ANONYMIZE),
    case("NamelessColumn", || table("name,age,city,ill", "name,,city,ill"), ANONYMIZE),
    case("RaggedRow", || table("Bob,36,Bern,gout", "Bob,36,Bern"), ANONYMIZE),
    case("UnclosedQuote", || table("Cid", "\"Cid"), ANONYMIZE),
    case(
        "InvalidUtf8",
        || file("table.csv", [b"name,age,city,ill\nAnn,34,B", &[0xFF][..], b"rn,flu\n"].concat()),
        "anonymize table.csv -p policy.toml -o out.csv --encoding utf-8",
    ),
    case("WrongType: an integer", || table("36", "3x"), ANONYMIZE),
    case(
        "WrongType: a date",
        || {
            policy(
                "type = \"integer\"\nhierarchy = { intervals = [10, 20], from = 0, to = 100 }",
                "type = \"date\"",
            )
        },
        ANONYMIZE,
    ),
    case(
        "LongRecord",
        || file("table.csv", format!("{PEOPLE}Gus,34,{},flu\n", "x".repeat(3 << 20))),
        "anonymize table.csv -p policy.toml -o out.csv --memory 16MiB",
    ),
    case(
        "BadRecord: JSON lines",
        || file("table.jsonl", "{\"name\": \"Ann\", \"age\": 34,\n"),
        "anonymize table.jsonl -p policy.toml -o out.csv",
    ),
    case("UnsupportedColumn", nested, "anonymize nested.parquet -p policy.toml -o out.csv"),
    // Hierarchies.
    case("NotInHierarchy: a file", || table("Biel", "Genf"), ANONYMIZE),
    case("NotInHierarchy: intervals", || table("57", "157"), ANONYMIZE),
    case(
        "RepeatedLeaf",
        || file("city.csv", "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nBern;plain;CH\n"),
        ANONYMIZE,
    ),
    case(
        "TwoParents",
        || file("city.csv", "Bern;plain;inland;CH\nBiel;plain;shore;CH\nThun;lake;shore;CH\n"),
        ANONYMIZE,
    ),
    case(
        "UnevenHierarchy",
        || file("city.csv", "Bern;plain;CH\nBiel;CH\nThun;lake;CH\n"),
        ANONYMIZE,
    ),
    case(
        "AmbiguousLabel: in a file",
        || file("city.csv", "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nlake;plain;CH\n"),
        ANONYMIZE,
    ),
    case(
        "AmbiguousLabel: of a mask",
        || {
            let bed = policy("\"city.csv\"", "{ mask = \"right\" }");
            bed.edit("table.csv", "Biel", "Ber*");
            bed
        },
        ANONYMIZE,
    ),
    case("EmptyHierarchy", || file("city.csv", "Bern\nBiel\nThun\n"), ANONYMIZE),
    case(
        "DeepHierarchy",
        || {
            file(
                "deep.csv",
                (0..3000).map(|level| format!("l{level};")).collect::<String>() + "all\n",
            )
        },
        "hierarchy check deep.csv",
    ),
    // The policy.
    case("NoRole", || policy("[attributes.ill]\nrole = \"sensitive\"\n", ""), ANONYMIZE),
    case("NoSuchColumn", || policy("attributes.ill", "attributes.il"), ANONYMIZE),
    case(
        "UnknownKey: in a table",
        || policy("hierarchy = \"city.csv\"", "heirarchy = \"city.csv\""),
        ANONYMIZE,
    ),
    case("UnknownKey: far from all", || asked("k = 2\nxyzzyplugh = 3"), ANONYMIZE),
    case("BadParameter: a role", || policy("\"identifier\"", "\"name\""), ANONYMIZE),
    case("BadParameter: k", || asked("k = 0"), ANONYMIZE),
    case(
        "BadParameter: a flag",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm best",
    ),
    case(
        "BadParameter: a share",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --suppression 120%",
    ),
    case("BadParameter: intervals", || policy("[10, 20]", "[10, 25]"), ANONYMIZE),
    case(
        "BadParameter: a weight",
        || policy("hierarchy = \"city.csv\"", "hierarchy = \"city.csv\"\nweight = 1e300"),
        ANONYMIZE,
    ),
    case(
        "BadParameter: levels",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --levels age=9,city=0",
    ),
    case("BadParameter: a threshold", || asked("thresholds = { default = \"1/0\" }"), ANONYMIZE),
    case(
        "Inapplicable: with an algorithm",
        || asked("k = 2\n[search]\nalgorithm = \"mpalm\""),
        ANONYMIZE,
    ),
    case(
        "Inapplicable: with suppression",
        || {
            let bed = present("min = 0, max = 0.3, population = \"world.csv\"");
            let text = bed.read("policy.toml") + "[search]\nsuppression = { limit = 0.1 }\n";
            bed.file("policy.toml", text);
            bed
        },
        ANONYMIZE,
    ),
    case(
        "Inapplicable: sets",
        || policy("hierarchy = \"city.csv\"", "sets = true\n[search]\nalgorithm = \"incognito\""),
        ANONYMIZE,
    ),
    case("PolicySyntax", || policy("[privacy]", "[privacy"), ANONYMIZE),
    case(
        "Incomplete: no sensitive attribute",
        || {
            let bed = asked("l-diversity = { kind = \"distinct\", l = 2 }");
            bed.edit("policy.toml", "\"sensitive\"", "\"insensitive\"");
            bed
        },
        ANONYMIZE,
    ),
    case("Incomplete: no requirement", || asked(""), ANONYMIZE),
    case("SpaceTooLarge", wide, "anonymize wide.csv -p wide.toml -o out.csv --algorithm incognito"),
    // Outputs.
    case("OutputIsInput", people, "anonymize table.csv -p policy.toml -o table.csv"),
    case("Exists", people, "init table.csv -o policy.toml"),
    case(
        "NotAFile",
        || {
            let bed = Bed::people();
            std::os::unix::fs::symlink("elsewhere.csv", bed.path("link.csv")).unwrap();
            bed
        },
        "anonymize table.csv -p policy.toml -o link.csv",
    ),
    case(
        "NoFolder",
        people,
        "anonymize - -p policy.toml -o out.csv --format csv --spill-dir nowhere",
    ),
    case(
        "NotSaveable",
        || asked("k = 2\n[search]\nalgorithm = \"mondrian\"\nregions = \"tight\""),
        "anonymize table.csv -p policy.toml -o out.csv --save-recoding saved.json",
    ),
    case(
        "TooLittleMemory",
        many_employees,
        "anonymize table.csv -p policy.toml -o out --memory 16MiB",
    ),
    // Distributions, summaries, saved recodings, queries.
    case(
        "Unfit: no value",
        || {
            let bed = employees("groups = []");
            bed.edit("table.csv", "30000", "");
            bed
        },
        "anonymize table.csv -p policy.toml -o out",
    ),
    case(
        "Unsuitable: a file of a distribution",
        || {
            let bed = distributed();
            bed.file("records.csv", bed.bytes("out/records.csv"));
            bed
        },
        "verify records.csv -p policy.toml",
    ),
    case(
        "Mismatch: a recoding",
        || {
            let bed = released();
            bed.edit("policy.toml", "[attributes.age]\nrole = \"quasi-identifier\"\ntype = \"integer\"\nhierarchy = { intervals = [10, 20], from = 0, to = 100 }", "[attributes.age]\nrole = \"insensitive\"");
            bed
        },
        "apply saved.json table.csv -p policy.toml -o again.csv",
    ),
    case(
        "Mismatch: a summary",
        || {
            let bed = summarized();
            bed.edit("policy.toml", "[10, 20]", "[5, 20]");
            bed
        },
        "estimate --summary summary.json -p policy.toml",
    ),
    case(
        "BadJson",
        || file("saved.json", "{"),
        "apply saved.json table.csv -p policy.toml -o out.csv",
    ),
    case("BadQuery: not SQL", distributed, "query out 'SELECT everything'"),
    case("BadQuery: not supported", distributed, "query out 'DELETE FROM release'"),
    // Requirements that cannot be met.
    case("CannotBeMet", people, "anonymize table.csv -p policy.toml -o out.csv -k 7"),
    case(
        "CannotBeMet: as JSON",
        people,
        "anonymize table.csv -p policy.toml -o out.csv -k 7 --json",
    ),
    case(
        "NoRecoding",
        people,
        "anonymize table.csv -p policy.toml -o out.csv -k 7 --algorithm incognito --suppression 1/6",
    ),
    case(
        "NoRecoding: presence",
        || present("min = 0, max = 0.1, population = \"world.csv\""),
        ANONYMIZE,
    ),
    case(
        "NoRecoding: s-instant",
        people,
        "anonymize table.csv -p policy.toml -o out.csv -k 7 --algorithm s-instant",
    ),
    case("NoCut", || asked("k = 7\n[search]\nalgorithm = \"l-plus-optimize\""), ANONYMIZE),
    case(
        "NoCutWithin",
        || asked("k = 7\n[search]\nalgorithm = \"l-plus-optimize\""),
        "anonymize table.csv -p policy.toml -o out.csv --suppression 1/6",
    ),
    case(
        "WholeTable: with a refusal",
        people,
        "anonymize table.csv -p policy.toml -o out.csv -k 7 --algorithm mondrian",
    ),
    case(
        "WholeTablePresence",
        || present("min = 0, max = 0.1, confidence = 0.99, marginals = \"marginals.csv\""),
        "anonymize table.csv -p policy.toml -o out.csv --algorithm mpalm",
    ),
    case(
        "ClassesFail: levels",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --levels age=0,city=0",
    ),
    case(
        "ClassesFail: a saved recoding",
        released,
        "apply saved.json table.csv -p policy.toml -o again.csv -k 5",
    ),
    case(
        "NoConfidentRecoding",
        || present("min = 0, max = 0.1, confidence = 0.99, marginals = \"marginals.csv\""),
        "anonymize table.csv -p policy.toml -o out.csv --algorithm sfalm --without refinement",
    ),
    case(
        "TooManySuppressed",
        || {
            let bed = with_cuts("\"all-records\", limit = \"1/6\"");
            bed.edit("table.csv", "Bob,36", "Bob,34");
            bed
        },
        "apply saved.json table.csv -p policy.toml -o again.csv",
    ),
    case(
        "NothingSuppressible",
        || with_cuts("\"none\""),
        "apply saved.json table.csv -p policy.toml -o again.csv",
    ),
    case(
        "OnlyValues",
        || with_cuts("\"all-values\""),
        "apply saved.json table.csv -p policy.toml -o again.csv",
    ),
    case(
        "AllSuppressed",
        || asked("k = 7\n[search]\nalgorithm = \"l-plus-optimize\""),
        "anonymize table.csv -p policy.toml -o out.csv --scheme all-records",
    ),
    case(
        "FarFromRelease",
        skewed,
        "anonymize table.csv -p policy.toml -o out.csv --levels age=3,city=0 --suppression 1/7",
    ),
    case(
        "TooManyClasses",
        many_classes,
        "estimate --summary summary.json -p wide.toml --levels \
         c0=0,c1=0,c2=0,c3=0,c4=0,c5=0,c6=0,c7=0,c8=0,c9=0,c10=0,c11=0",
    ),
    case(
        "recursive diversity",
        || asked("l-diversity = { kind = \"recursive\", c = 0.5, l = 2 }"),
        ANONYMIZE,
    ),
    case("entropy diversity", || asked("l-diversity = { kind = \"entropy\", l = 4 }"), ANONYMIZE),
    case(
        "t-closeness",
        || asked("k = 2\nt-closeness = 0.01"),
        "anonymize table.csv -p policy.toml -o out.csv --levels age=0,city=0",
    ),
    case(
        "variance",
        || {
            let bed = asked("variance = 1e9");
            bed.edit(
                "policy.toml",
                "[attributes.ill]\nrole = \"sensitive\"",
                "[attributes.ill]\nrole = \"insensitive\"",
            );
            bed.edit("policy.toml", "role = \"quasi-identifier\"\ntype = \"integer\"\nhierarchy = { intervals = [10, 20], from = 0, to = 100 }", "role = \"sensitive\"");
            bed
        },
        ANONYMIZE,
    ),
    case("thresholds", || asked("thresholds = { default = \"9/10\", flu = \"1/4\" }"), ANONYMIZE),
    // Releases that fail.
    case("CheckFailed", released, "verify out.csv -p policy.toml -k 4"),
    case("CheckFailed: as JSON", released, "verify out.csv -p policy.toml -k 4 --json"),
    case(
        "CheckFailed: an identifier and a value that is no label",
        people,
        "verify table.csv -p policy.toml",
    ),
    case(
        "CheckFailed: a label of nothing",
        || {
            let bed = released();
            bed.edit("out.csv", "plain", "Genf");
            bed
        },
        "verify out.csv -p policy.toml",
    ),
];

/// A Parquet file with lists and structs.
fn nested() -> Bed {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/parquet");
    let bed = file("nested.parquet", std::fs::read(folder.join("nested.parquet")).unwrap());
    bed.file("policy.toml", "[defaults]\nrole = \"quasi-identifier\"\n[privacy]\nk = 2\n");
    bed
}

/// Twelve columns with five levels each.
fn wide() -> Bed {
    let bed = Bed::new();
    let names: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
    let row = ["1"; 12].join(",");
    bed.file("wide.csv", format!("{}\n{row}\n{row}\n", names.join(",")));
    let column = |name: &String| {
        format!(
            "[attributes.{name}]\nrole = \"quasi-identifier\"\ntype = \"integer\"\n\
             hierarchy = {{ intervals = [2, 4, 8, 16] }}\n"
        )
    };
    let columns: String = names.iter().map(column).collect();
    bed.file("wide.toml", format!("{columns}[privacy]\nk = 2\n"));
    bed
}

/// The people with a cut that leaves each of them alone, and a scheme for classes that fail.
fn with_cuts(scheme: &str) -> Bed {
    let bed = asked("k = 1\n[search]\nalgorithm = \"l-plus-optimize\"");
    bed.anonymize(&["--save-recoding", "saved.json"]).ok();
    let suppression = format!("k = 2\n[search]\nsuppression = {{ scheme = {scheme} }}\n");
    bed.edit("policy.toml", "k = 1\n[search]\n", &suppression);
    bed
}

/// One person is suppressed, and then a class is too far from those who remain.
fn skewed() -> Bed {
    let bed = asked("k = 2\nt-closeness = 0.3");
    let ills = ["Biel,flu", "Bern,flu", "Bern,flu"].into_iter();
    let ills = ills.chain(["Thun,flu", "Thun,flu", "Thun,gout", "Thun,gout"]);
    let rows: String = ills.map(|row| format!("x,34,{row}\n")).collect();
    bed.file("table.csv", format!("name,age,city,ill\n{rows}"));
    bed
}

/// A network over twelve columns, each with sixteen values.
fn many_classes() -> Bed {
    let bed = wide();
    bed.file("wide.toml", bed.read("wide.toml").replace("[2, 4, 8, 16]", "[4]"));
    let header = bed.read("wide.csv").lines().next().unwrap().to_string();
    let value = |row: u32, column: u32| ((row * 7 + 3) * (column + 5) * 31 % 97 % 16).to_string();
    let row = |row| (0..12).map(|column| value(row, column)).collect::<Vec<_>>().join(",") + "\n";
    bed.file("wide.csv", format!("{header}\n{}", (0..200).map(row).collect::<String>()));
    let more = ["-o", "summary.json", "--kind", "bayes"];
    bed.run(&[&["summarize", "wide.csv", "-p", "wide.toml"], &more[..]].concat()).ok();
    bed
}

/// More employees than fit into the least memory.
fn many_employees() -> Bed {
    let bed = employees("groups = { zipcode = 2 }");
    let table = bed.read("table.csv");
    let (header, rows) = table.split_once('\n').unwrap();
    let many = rows.repeat(16 * 1024 * 1024 / rows.len() / 5);
    bed.file("table.csv", format!("{header}\n{many}"));
    bed
}

/// What commands print when they are done.
pub const SUMMARIES: &[Case] = &[
    case("init", people, "init table.csv -o new.toml"),
    case("anonymize", people, ANONYMIZE),
    case(
        "anonymize: levels",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm incognito",
    ),
    case(
        "anonymize: suppression",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm incognito --suppression 1/3 --seed 1",
    ),
    case(
        "anonymize: levels by hand",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --levels age=3,city=2",
    ),
    case(
        "anonymize: to standard output",
        people,
        "anonymize table.csv -p policy.toml -o - --seed 1",
    ),
    case(
        "anonymize: cuts",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm l-plus-optimize",
    ),
    case(
        "anonymize: values",
        || asked("thresholds = { default = \"1/2\" }"),
        "anonymize table.csv -p policy.toml -o out.csv --algorithm l-plus-optimize --scheme all-values --seed 1",
    ),
    case(
        "anonymize: extra suppression",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm l-plus-optimize --scheme all-records --extra-suppression 20% --seed 1",
    ),
    case(
        "anonymize: regions",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm mondrian",
    ),
    case(
        "anonymize: tight regions",
        || asked("k = 2\n[search]\nalgorithm = \"mondrian\"\nregions = \"tight\""),
        ANONYMIZE,
    ),
    case(
        "anonymize: local",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm local",
    ),
    case(
        "anonymize: on disk",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm rothko-t",
    ),
    case(
        "anonymize: instant",
        people,
        "anonymize table.csv -p policy.toml -o out.csv --algorithm s-instant",
    ),
    case(
        "anonymize: all requirements",
        || {
            asked(
                "k = 2\nt-closeness = 0.9\nl-diversity = [{ kind = \"distinct\", l = 2 }, { kind = \"recursive\", c = 3, l = 2 }, { kind = \"entropy\", l = 1.2 }, { kind = \"frequency\", l = 1.5 }]\nthresholds = { default = \"2/3\" }",
            )
        },
        ANONYMIZE,
    ),
    case(
        "anonymize: weights",
        || policy("hierarchy = \"city.csv\"", "hierarchy = \"city.csv\"\nweight = 3"),
        ANONYMIZE,
    ),
    case("anonymize: a target", || policy("\"sensitive\"", "\"target\""), ANONYMIZE),
    case("anonymize: a census", census, ANONYMIZE),
    case(
        "anonymize: presence",
        || present("min = 0, max = 0.3, population = \"world.csv\""),
        ANONYMIZE,
    ),
    case(
        "anonymize: a distribution",
        || employees("groups = { zipcode = 2 }"),
        "anonymize table.csv -p policy.toml -o out",
    ),
    case(
        "anonymize: a normal distribution",
        || {
            let bed = employees("groups = []\nfakes = \"50%\"");
            bed.edit("policy.toml", "\"uniform\"", "\"normal\"");
            bed
        },
        "anonymize table.csv -p policy.toml -o out --seed 1",
    ),
    case("verify", released, "verify out.csv -p policy.toml"),
    case("verify: fails", released, "verify out.csv -p policy.toml -k 4"),
    case("verify: a distribution", distributed, "verify out -p policy.toml"),
    case(
        "verify: with the original",
        distributed,
        "verify out -p policy.toml --original table.csv",
    ),
    case("risk", people, "risk table.csv -p policy.toml"),
    case("risk: of a release", released, "risk out.csv -p policy.toml"),
    case("show", released, "show out.csv"),
    case("show: with the original", released, "show out.csv -p policy.toml --original table.csv"),
    case("compare", people, "compare table.csv -p policy.toml"),
    case("compare: values of k", people, "compare table.csv -p policy.toml -k 2,3,7"),
    case("apply", released, "apply saved.json table.csv -p policy.toml -o again.csv"),
    case("summarize", people, "summarize table.csv -p policy.toml -o summary.json"),
    case(
        "summarize: a network",
        people,
        "summarize table.csv -p policy.toml -o summary.json --kind bayes",
    ),
    case("estimate", summarized, "estimate --summary summary.json -p policy.toml"),
    case(
        "estimate: one recoding",
        summarized,
        "estimate --summary summary.json -p policy.toml --levels age=2,city=1",
    ),
    case(
        "estimate: none",
        summarized,
        "estimate --summary summary.json -p policy.toml -k 6 --threshold 0",
    ),
    case("query", distributed, "query out 'SELECT AVG(salary) FROM release'"),
    case(
        "query: groups",
        distributed,
        "query out 'SELECT COUNT(salary), MAX(salary) FROM release WHERE salary > 40000 GROUP BY gender'",
    ),
    case(
        "query: nothing",
        distributed,
        "query out 'SELECT MIN(salary) FROM release WHERE salary > 90000'",
    ),
    case(
        "advise",
        people,
        "advise --prior 0.1 --population 1000 --table 100 --cost 1000 --misuse 150",
    ),
    case(
        "advise: both sides",
        people,
        "advise --prior 0.1 --population 10000 --table 500 --cost 1000 --misuse 150 --misuse-below 30",
    ),
    case("generate", people, "generate census --rows 10 -o census.csv"),
    case("hierarchy check", people, "hierarchy check city.csv"),
    case("hierarchy draw", people, "hierarchy draw table.csv -p policy.toml -a age"),
    case("hierarchy build", people, "hierarchy build table.csv -p policy.toml -a age -o age.csv"),
    case("man", people, "man pages"),
];
