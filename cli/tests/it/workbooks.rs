//! Sheets of workbooks: what cells say, which sheet is read, and files that are damaged or too large.

use crate::bed::{Bed, Outcome, PEOPLE};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;

/// Six people by XlsxWriter, with a day and a boolean for each, and a second sheet that is hidden.
const WRITTEN: &[u8] = include_bytes!("../../../fuzz/corpus/xlsx/people.xlsx");

const COPY: &str = "[attributes.key]\nrole = \"quasi-identifier\"\n\
                    [defaults]\nrole = \"insensitive\"\n[privacy]\nk = 1\n";

/// A workbook of these parts.
fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        file.start_file(*name, SimpleFileOptions::default()).unwrap();
        file.write_all(bytes).unwrap();
    }
    file.finish().unwrap().into_inner()
}

/// A workbook of sheets by name, hidden or not, with the XML of their rows.
fn workbook(sheets: &[(&str, bool, String)], shared: &[u8]) -> Vec<u8> {
    let name = |at: usize| format!("xl/worksheets/sheet{at}.xml");
    let (mut book, mut relations) = (String::new(), String::new());
    let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
    for (at, (title, is_hidden, rows)) in sheets.iter().enumerate() {
        let hidden = if *is_hidden { " state=\"hidden\"" } else { "" };
        book += &format!("<sheet name=\"{title}\" sheetId=\"{}\" r:id=\"r{at}\"{hidden}/>", at + 1);
        relations += &format!(
            "<Relationship Id=\"r{at}\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/\
             relationships/worksheet\" Target=\"worksheets/sheet{at}.xml\"/>"
        );
        let sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
        parts.push((name(at), sheet.into_bytes()));
    }
    let book = format!("<workbook xmlns:r=\"r\"><sheets>{book}</sheets></workbook>");
    parts.push(("xl/workbook.xml".into(), book.into_bytes()));
    let relations = format!("<Relationships>{relations}</Relationships>");
    parts.push(("xl/_rels/workbook.xml.rels".into(), relations.into_bytes()));
    let styles = "<styleSheet><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/>\
                  <xf numFmtId=\"22\"/><xf numFmtId=\"20\"/></cellXfs></styleSheet>";
    parts.push(("xl/styles.xml".into(), styles.into()));
    if !shared.is_empty() {
        parts.push(("xl/sharedStrings.xml".into(), shared.to_vec()));
    }
    let parts: Vec<(&str, &[u8])> =
        parts.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    package(&parts)
}

/// A row with cells that have an address and are texts, or other XML.
fn row(number: usize, cells: &[&str]) -> String {
    let cell = |(column, cell): (usize, &&str)| {
        let at = format!("{}{number}", char::from(b'A' + column as u8));
        match cell.strip_prefix('<') {
            Some(rest) => format!("<c r=\"{at}\"{rest}</c>"),
            None if cell.is_empty() => String::new(),
            None => format!("<c r=\"{at}\" t=\"inlineStr\"><is><t>{cell}</t></is></c>"),
        }
    };
    let cells: String = cells.iter().enumerate().map(cell).collect();
    format!("<row r=\"{number}\">{cells}</row>")
}

/// The sheet of the six people.
fn people() -> String {
    let records = PEOPLE.lines().enumerate();
    records.map(|(at, line)| row(at + 1, &line.split(',').collect::<Vec<_>>())).collect()
}

fn bed(sheets: &[(&str, bool, String)]) -> Bed {
    let bed = Bed::people();
    bed.file("table.xlsx", workbook(sheets, b""));
    bed
}

fn anonymize(bed: &Bed, more: &[&str]) -> Outcome {
    let usual = ["anonymize", "table.xlsx", "--policy", "policy.toml", "-o", "out.csv"];
    bed.run(&[&usual[..], more].concat())
}

/// What a sheet says, as CSV.
fn copied(rows: &str) -> String {
    let bed = bed(&[("one", false, rows.into())]);
    bed.file("policy.toml", COPY);
    anonymize(&bed, &["--levels", "key=0", "--keep-order"]).ok();
    bed.read("out.csv")
}

#[test]
fn every_command_reads_a_sheet() {
    let bed = bed(&[("people", false, people())]);
    bed.anonymize(&["--save-recoding", "r.json", "--algorithm", "incognito"]).ok();
    let release = bed.read("out.csv");
    for threads in ["1", "3"] {
        anonymize(&bed, &["--algorithm", "incognito", "--threads", threads]).ok();
        assert_eq!(bed.read("out.csv"), release);
    }
    bed.run(&["apply", "r.json", "table.xlsx", "--policy", "policy.toml", "-o", "a.csv"]).ok();
    assert_eq!(bed.read("a.csv"), release);
    bed.run(&["init", "table.xlsx", "-o", "first.toml"]).ok();
    bed.run(&["risk", "table.xlsx", "--policy", "policy.toml"]).ok();
    bed.run(&["summarize", "table.xlsx", "--policy", "policy.toml", "-o", "s.json"]).ok();
    let build = ["hierarchy", "build", "table.xlsx", "--policy", "policy.toml"];
    bed.run(&[&build[..], &["--attribute", "age", "-o", "h.csv"]].concat()).ok();
    // A file that is not written by a test.
    bed.file("table.xlsx", WRITTEN).edit("policy.toml", "\"city.csv\"", "{ mask = \"right\" }");
    bed.edit("policy.toml", "[privacy]", "[defaults]\nrole = \"insensitive\"\n[privacy]");
    let outcome = anonymize(&bed, &["-k", "1", "--levels", "age=0,city=0"]);
    assert_eq!(outcome.status, 0, "{outcome:#?}");
    outcome.complains().says("read the sheet `people`; left out `other` (hidden)");
    let text = bed.read("out.csv");
    assert!(text.starts_with("age,city,ill,born,member\n"), "{text}");
    assert!(text.contains("34,Bern,flu,1980-01-01,false\n"), "{text}");
}

#[test]
fn cells_say_what_a_person_sees() {
    let rows = [
        row(3, &["key", "number", "day", "moment", "time", "flag", "text"]),
        row(
            4,
            &[
                "x",
                "<><v>7</v>",
                "< s=\"1\"><v>45000</v>",
                "< s=\"2\"><v>45000.5</v>",
                "< s=\"3\"><v>0.25</v>",
                "< t=\"b\"><v>1</v>",
                "a, \"b\"",
            ],
        ),
        row(
            6,
            &[
                "x",
                "<><v>0.1</v>",
                "< s=\"1\"><v>45001</v>",
                "< s=\"2\"><v>45001</v>",
                "",
                "< t=\"b\"><v>0</v>",
                "",
            ],
        ),
        row(7, &["x", "<><v>-1E-7</v>", "", "", "", "", "5"]),
    ];
    assert_eq!(
        copied(&rows.concat()),
        "key,number,day,moment,time,flag,text\n\
         x,7,2023-03-15,2023-03-15 12:00:00,06:00:00,true,\"a, \"\"b\"\"\"\n\
         x,0.1,2023-03-16,2023-03-16 00:00:00,,false,\n\
         x,-1e-7,,,,,5\n"
    );
    // The table may begin at any cell, and may have one column with nothing in a row.
    let rows = [row(2, &["", "key", "a"]), row(5, &["", "x", "1"]), row(6, &["", "", "2"])];
    assert_eq!(copied(&rows.concat()), "key,a\nx,1\n,2\n");
}

#[test]
fn the_sheet_can_be_chosen() {
    let other = row(1, &["something", "else"]);
    let sheets = [
        ("notes", true, other.clone()),
        ("people", false, people()),
        ("empty", false, String::new()),
        ("more", false, other.clone()),
    ];
    let bed = bed(&sheets);
    let outcome = anonymize(&bed, &[]);
    assert_eq!(outcome.status, 0, "{outcome:#?}");
    outcome.complains().says("read the sheet `people`; left out `notes` (hidden), `more`");
    let outcome = anonymize(&bed, &["--sheet", "people"]);
    assert_eq!(outcome.status, 0, "{outcome:#?}");
    let outcome = anonymize(&bed, &["--sheet", "persons"]);
    outcome.fails_with(2, "--sheet").says("`notes`, `people`, `empty`, `more`");
    let outcome = anonymize(&bed, &["--sheet", "empty"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("table.xlsx"), "{outcome:#?}");
    // A sheet that is hidden can be asked for, or be the only one.
    let hidden = Bed::people();
    hidden.file("table.xlsx", workbook(&[("people", true, people())], b""));
    let outcome = anonymize(&hidden, &[]);
    assert_eq!(outcome.status, 0, "{outcome:#?}");
    outcome.complains().says("the sheet `people`, which is hidden");
}

#[test]
fn a_wrong_cell_is_told_by_its_address() {
    let with = |from: &str, to: &str| {
        let rows = people();
        assert!(rows.contains(from), "{rows}");
        bed(&[("one", false, rows.replacen(from, to, 1))])
    };
    let age = "t=\"inlineStr\"><is><t>51</t></is>";
    let outcome = anonymize(&with(age, "t=\"e\"><v>#DIV/0!</v>"), &[]);
    outcome.fails_with(2, "table.xlsx:4: cell B4").says("#DIV/0!").says("`one`");
    let outcome = anonymize(&with("r=\"D4\"", "r=\"E4\""), &[]);
    outcome.fails_with(2, "table.xlsx:4: cell E4").says("no name");
    let outcome = anonymize(&with("r=\"D4\"", "r=\"A4\""), &[]);
    outcome.fails_with(2, "table.xlsx:4: cell A4").says("damaged");
    // Line breaks in cells are no rows.
    let bed = with(">Ann<", ">An\n\nn<");
    anonymize(&bed, &[]).ok();
    let rows = people().replacen(">Ann<", ">An\n\nn<", 1).replacen(">55<", ">old<", 1);
    bed.file("table.xlsx", workbook(&[("one", false, rows)], b""));
    anonymize(&bed, &[]).fails_with(2, "table.xlsx:5: column `age`").says("old");
}

#[test]
fn formulas_without_values_are_noted() {
    let rows = people().replacen("t=\"inlineStr\"><is><t>Ann</t></is>", "><f>A3</f>", 1);
    let outcome = anonymize(&bed(&[("one", false, rows)]), &[]);
    assert_eq!(outcome.status, 0, "{outcome:#?}");
    outcome.complains().says("1 formulas without a stored value");
}

#[test]
fn a_damaged_workbook_is_an_error() {
    let bed = Bed::people();
    let fails = |bytes: &[u8]| {
        bed.file("table.xlsx", bytes);
        anonymize(&bed, &[]).fails_with(2, "table.xlsx: not a readable .xlsx workbook");
    };
    fails(b"");
    fails(PEOPLE.as_bytes());
    fails(&WRITTEN[..WRITTEN.len() / 2]);
    fails(&package(&[("xl/workbook.xml", b"<workbook>")]));
    let mut damaged = WRITTEN.to_vec();
    damaged[WRITTEN.len() / 2] ^= 0x55;
    bed.file("table.xlsx", damaged);
    assert_eq!(anonymize(&bed, &[]).complains().status, 2);
}

/// A few kilobytes unpack to more than the memory, and are refused before that.
#[test]
fn what_unpacks_to_too_much_is_refused() {
    let bed = Bed::people();
    let limited = |bytes: Vec<u8>| {
        assert!(bytes.len() < 1 << 20, "{}", bytes.len());
        bed.file("table.xlsx", bytes);
        anonymize(&bed, &["--memory", "32MiB"])
    };
    let sheet = [("one", false, people())];
    // Texts that are shared, empty or long.
    let many = format!("<sst>{}</sst>", "<si/>".repeat(4 << 20));
    limited(workbook(&sheet, many.as_bytes())).fails_with(3, "memory").says("table.xlsx");
    let long = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(40 << 20));
    limited(workbook(&sheet, long.as_bytes())).fails_with(2, "longer than");
    // More texts than there are: room for all of them was made at once.
    let claimed = "<sst uniqueCount=\"1099511627776\"><si><t>x</t></si></sst>";
    limited(workbook(&sheet, claimed.as_bytes())).fails_with(2, "damaged");
    let inline = people().replacen(">Ann<", &format!(">{}<", "x".repeat(40 << 20)), 1);
    limited(workbook(&[("one", false, inline)], b"")).fails_with(2, "longer than");
    // Cells that are far away from each other make no rows.
    let far = people() + &row(1_048_576, &["Zoe", "33", "Bern", "flu"]);
    let bytes = workbook(&[("one", false, far)], b"");
    bed.file("table.xlsx", bytes);
    anonymize(&bed, &["--memory", "32MiB"]).ok();
    let beyond = people() + &row(1_048_577, &["Zoe"]);
    bed.file("table.xlsx", workbook(&[("one", false, beyond)], b""));
    anonymize(&bed, &[]).fails_with(2, "cell A1048577").says("damaged");
}
