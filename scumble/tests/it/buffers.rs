//! Does a release hold anything of a suppressed row? Arrow's arrays can share buffers with rows that were left out.

use crate::fixture::Folder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow_ipc::writer::FileWriter;
use scumble::jobs::{Options, anonymize};
use scumble::policy::Policy;
use std::fs::File;
use std::sync::Arc;

/// What only the suppressed row says, longer than a view keeps inline.
const SECRET: &str = "the-secret-of-the-suppressed-row";

#[test]
fn nothing_of_a_suppressed_row_is_in_the_file() {
    let folder = Folder::new("buffers");
    let texts = |word: &str| -> Vec<String> {
        (0..10).map(|row| if row == 9 { SECRET.into() } else { format!("{word}-of-a-released-row-{row}") }).collect()
    };
    let (keys, views, plain) = (texts("dictionary"), texts("view"), texts("text"));
    let columns: [(&str, ArrayRef); 5] = [
        ("age", Arc::new(Int64Array::from_iter_values((0..10).map(|row| if row == 9 { 99 } else { 30 })))),
        ("dictionary", Arc::new(keys.iter().map(|text| Some(text.as_str())).collect::<DictionaryArray<Int32Type>>())),
        ("view", Arc::new(StringViewArray::from_iter_values(&views))),
        ("text", Arc::new(StringArray::from_iter_values(&plain))),
        ("ill", Arc::new(keys.iter().map(|text| Some(text.as_str())).collect::<DictionaryArray<Int32Type>>())),
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
        let report = anonymize(&input, &policy, &output, &Options::default()).map_err(|failure| failure.error).unwrap();
        assert_eq!((report.verified.rows, report.suppressed), (9, 1), "{ending}");
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
