//! Does a release hold anything of a suppressed row? Arrow's arrays can share buffers with rows
//! that were left out.

use crate::fixture::{Folder, anonymize};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, Int64Array, ListArray, RecordBatch,
    StringArray, StringViewArray, StructArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field};
use scumble::policy::Policy;
use std::fs::File;
use std::sync::Arc;

/// What only the suppressed row says, longer than a view keeps inline.
const SECRET: &str = "the-secret-of-the-suppressed-row";

#[test]
fn nothing_of_a_suppressed_row_is_in_the_file() {
    let folder = Folder::new("buffers");
    let texts =
        |word: &str| -> Vec<String> {
            (0..10)
                .map(|row| {
                    if row == 9 { SECRET.into() } else { format!("{word}-of-a-released-row-{row}") }
                })
                .collect()
        };
    let (keys, views, plain) = (texts("dictionary"), texts("view"), texts("text"));
    let columns: [(&str, ArrayRef); 5] = [
        (
            "age",
            Arc::new(Int64Array::from_iter_values(
                (0..10).map(|row| if row == 9 { 99 } else { 30 }),
            )),
        ),
        (
            "dictionary",
            Arc::new(
                keys.iter().map(|text| Some(text.as_str())).collect::<DictionaryArray<Int32Type>>(),
            ),
        ),
        ("view", Arc::new(StringViewArray::from_iter_values(&views))),
        ("text", Arc::new(StringArray::from_iter_values(&plain))),
        (
            "ill",
            Arc::new(
                keys.iter().map(|text| Some(text.as_str())).collect::<DictionaryArray<Int32Type>>(),
            ),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let input = folder.path("in.arrow");
    let mut writer = FileWriter::try_new(File::create(&input).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let policy = "[defaults]\nrole = \"insensitive\"\n[attributes.age]\nrole = \"quasi-identifier\"\n\
        [attributes.ill]\nrole = \"sensitive\"\n[privacy]\nk = 2\n[search]\nsuppression = { limit = 0.1 }\n";
    let policy = Policy::parse(policy, &folder.path("policy.toml")).unwrap();
    for ending in ["arrow", "parquet", "csv"] {
        let output = folder.path(&format!("out.{ending}"));
        let report = anonymize(&input, &policy, &output).unwrap();
        assert_eq!((report.released, report.suppressed), (9, 1), "{ending}");
        for file in [output.clone(), folder.path(&format!("out.{ending}.report.json"))] {
            let bytes = std::fs::read(&file).unwrap();
            let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!found, "{} holds the secret", file.display());
        }
        // The check can fail: the input has it.
        let bytes = std::fs::read(&input).unwrap();
        assert!(bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    }
}

/// Texts of CSV come by number while they recur, which may be known of suppressed rows: it must not
/// be seen in a release.
#[test]
fn texts_of_csv_are_released_alike_whether_they_recur_or_not() {
    let folder = Folder::new("recurring");
    let policy = "[defaults]\nrole = \"insensitive\"\n[attributes.age]\nrole = \"quasi-identifier\"\n\
        [privacy]\nk = 2\n[search]\nsuppression = { limit = 0.1 }\n";
    let policy = Policy::parse(policy, &folder.path("policy.toml")).unwrap();
    // So many that the reader gives up to number them, and so few that it never does.
    for rows in [10, 150_000] {
        let mut table = String::from("age,often,own\n");
        for row in 0..rows - 1 {
            let own = if row == 0 {
                String::new()
            } else {
                format!("a long text of which there is only one: {row}")
            };
            table += &format!("30,{},{own}\n", ["", "x"][row % 2]);
        }
        table += &format!("99,{SECRET},{SECRET}\n");
        std::fs::write(folder.path("in.csv"), &table).unwrap();
        for ending in ["arrow", "csv"] {
            let output = folder.path(&format!("out.{ending}"));
            let report = anonymize(&folder.path("in.csv"), &policy, &output);
            assert_eq!(report.unwrap().suppressed, 1);
            let bytes = std::fs::read(&output).unwrap();
            assert!(
                !bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()),
                "{ending} holds the secret"
            );
        }
        let reader = arrow_ipc::reader::FileReader::try_new(
            File::open(folder.path("out.arrow")).unwrap(),
            None,
        )
        .unwrap();
        let (mut empty, mut own) = ([0, 0], Vec::new());
        for batch in reader {
            let batch = batch.unwrap();
            for (column, empty) in [1, 2].into_iter().zip(&mut empty) {
                assert_eq!(
                    (batch.column(column).data_type(), batch.column(column).null_count()),
                    (&DataType::Utf8, 0)
                );
                *empty += batch
                    .column(column)
                    .as_string::<i32>()
                    .iter()
                    .filter(|text| *text == Some(""))
                    .count();
            }
            own.extend(
                batch
                    .column(2)
                    .as_string::<i32>()
                    .iter()
                    .map(|text| text.unwrap_or_default().to_string()),
            );
        }
        assert_eq!(empty, [rows / 2, 1]);
        // Rows stand by what is released of them: first the column that recurs, then the other.
        assert!(
            own[..rows / 2].is_sorted() && own[rows / 2..].is_sorted() && own.len() == rows - 1
        );
    }
}

/// What lies under a null: eight bytes as a whole number, and as text.
const HIDDEN: i64 = i64::from_le_bytes(*b"h1dd3n!!");

/// A program that sets a value to null may leave it in the buffer, and so may a reader.
#[test]
fn nothing_that_was_set_to_null_is_in_the_file() {
    let folder = Folder::new("nulls");
    let nulls = || Some(NullBuffer::from(vec![true, false, true, true]));
    let numbers = |nulls| Int64Array::new(ScalarBuffer::from(vec![1, HIDDEN, 3, 4]), nulls);
    let text = HIDDEN.to_le_bytes();
    let bytes = [b"one".as_slice(), &text, b"three", b"four"].concat();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, 3, 11, 16, 20]));
    let texts = StringArray::new(offsets, Buffer::from_vec(bytes), nulls());
    let fixed = [1i64, HIDDEN, 3, 4].map(i64::to_le_bytes).concat();
    let fixed = FixedSizeBinaryArray::new(8, Buffer::from_vec(fixed), nulls());
    // A structure that is null as a whole, and one whose part is.
    let field = |name: &str| Arc::new(Field::new(name, DataType::Int64, true));
    let whole =
        StructArray::new(vec![field("part")].into(), vec![Arc::new(numbers(None))], nulls());
    let part = StructArray::new(vec![field("part")].into(), vec![Arc::new(numbers(nulls()))], None);
    let list = |outer, inner| {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, 1, 2, 3, 4]));
        ListArray::new(field("item"), offsets, Arc::new(numbers(inner)), outer)
    };
    let columns: [(&str, ArrayRef); 9] = [
        ("age", Arc::new(Int64Array::from(vec![30; 4]))),
        ("number", Arc::new(numbers(nulls()))),
        ("text", Arc::new(texts)),
        ("fixed", Arc::new(fixed)),
        ("whole", Arc::new(whole)),
        ("part", Arc::new(part)),
        ("list", Arc::new(list(nulls(), None))),
        ("item", Arc::new(list(None, nulls()))),
        ("ill", Arc::new(numbers(nulls()))),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
            .unwrap();
    let input = folder.path("in.arrow");
    let mut writer = FileWriter::try_new(File::create(&input).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let policy = "[defaults]\nrole = \"insensitive\"\n[attributes.age]\nrole = \"quasi-identifier\"\n\
        [attributes.ill]\nrole = \"sensitive\"\n[privacy]\nk = 2\n";
    let policy = Policy::parse(policy, &folder.path("policy.toml")).unwrap();
    let holds = |file: &std::path::Path| {
        std::fs::read(file).unwrap().windows(8).any(|window| window == text)
    };
    assert!(holds(&input), "the check can fail");
    for ending in ["arrow", "parquet"] {
        let output = folder.path(&format!("out.{ending}"));
        anonymize(&input, &policy, &output).unwrap();
        assert!(!holds(&output), "{ending}");
    }
    // Values that are not null have stayed.
    let released = std::fs::File::open(folder.path("out.arrow")).unwrap();
    let released =
        arrow_ipc::reader::FileReader::try_new(released, None).unwrap().next().unwrap().unwrap();
    let list = released
        .column_by_name("item")
        .unwrap()
        .as_list::<i32>()
        .values()
        .as_primitive::<Int64Type>()
        .clone();
    let mut kept: Vec<i64> = list.iter().flatten().collect();
    kept.sort_unstable();
    assert_eq!(kept, [1, 3, 4]);
}
