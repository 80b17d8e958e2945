//! Is the first bad line of a file the one that is named, and are columns without any value read?

use crate::disk;
use crate::fixture::{Folder, policy};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, NullArray, RecordBatch, StringArray, new_null_array,
};
use arrow_cast::cast;
use arrow_schema::DataType;
use scumble::error::Error;
use scumble::job::Job;
use scumble::release::{ReleaseBatches, ReleaseKind};
use scumble::source::{FileFormat, Source, TableBatches, TableFile};
use scumble::watch::Watch;
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 20_000;

/// Ages and cities; some rows have other ages or cities.
fn people(ages: &[(usize, i64)], cities: &[(usize, &str)]) -> RecordBatch {
    let mut of_rows: Vec<i64> = (0..ROWS).map(|row| 20 + (row * 7 % 40) as i64).collect();
    let mut in_rows: Vec<&str> = (0..ROWS).map(|row| ["Bern", "Biel", "Oslo"][row % 3]).collect();
    ages.iter().for_each(|(row, age)| of_rows[*row] = *age);
    cities.iter().for_each(|(row, city)| in_rows[*row] = city);
    let columns: [(&str, ArrayRef); 2] = [
        ("age", Arc::new(Int64Array::from(of_rows))),
        ("city", Arc::new(StringArray::from(in_rows))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn refused(job: &Job, file: &Path) -> Error {
    let input = TableFile::open(file).unwrap();
    job.run(&input, &mut ReleaseBatches::new(), &Watch::silent()).unwrap_err()
}

/// The later bad value is the smaller one, as a number and as a text.
#[test]
fn the_first_bad_line_is_named_whatever_the_format_and_the_threads() {
    let folder = Folder::new("lines");
    folder.write("city.csv", "Bern;CH;*\nBiel;CH;*\nOslo;NO;*\n");
    let intervals = "hierarchy = { intervals = [5, 20], from = 20, to = 60 }";
    let tables = [
        (people(&[(17_000, 300), (17_500, -4)], &[]), 17_000),
        (people(&[], &[(16_999, "Rome"), (18_000, "Aarau"), (19_000, "Rome")]), 16_999),
    ];
    for (number, (batch, row)) in tables.iter().enumerate() {
        for ending in ["csv", "arrow", "parquet"] {
            let file = folder.path(&format!("{number}.{ending}"));
            disk::write(&file, batch);
            // A header is a line, too.
            let expected = *row as u64 + if ending == "csv" { 2 } else { 1 };
            for (algorithm, threads) in
                [("incognito", 1), ("incognito", 3), ("rothko-t", 1), ("rothko-t", 3)]
            {
                let text = format!(
                    "attributes.age = {{ role = \"quasi-identifier\", {intervals} }}\n\
                     attributes.city = {{ role = \"quasi-identifier\", hierarchy = \"city.csv\" }}\n\
                     privacy.k = 3\nsearch.algorithm = \"{algorithm}\"\n"
                );
                let job = Job::new(policy(&folder.path(""), &text)).threads(threads);
                let error = refused(&job, &file);
                let Error::NotInHierarchy { place, .. } = &error else { panic!("{error}") };
                assert_eq!(place.line, Some(expected), "{algorithm} {threads}: {error}");
            }
        }
    }
}

/// The same for a declared type, which the columns of these files do not have.
#[test]
fn the_first_line_of_a_wrong_type_is_named() {
    let folder = Folder::new("wrong-type");
    let batch = people(&[], &[(17_000, "seven"), (18_000, "Aarau")]);
    for ending in ["csv", "arrow", "parquet"] {
        let file = folder.path(&format!("in.{ending}"));
        let numbers = |city: &str| match city {
            "seven" | "Aarau" => city.to_string(),
            city => city.len().to_string(),
        };
        let cities = batch.column(1).as_any().downcast_ref::<StringArray>().unwrap();
        let cities = StringArray::from_iter_values(cities.iter().flatten().map(numbers));
        let columns = [("age", batch.column(0).clone()), ("city", Arc::new(cities) as ArrayRef)];
        disk::write(&file, &RecordBatch::try_from_iter(columns).unwrap());
        let expected = 17_000 + if ending == "csv" { 2 } else { 1 };
        for (algorithm, threads) in [("incognito", 1), ("incognito", 3), ("rothko-t", 3)] {
            let text = format!(
                "attributes.age.role = \"quasi-identifier\"\n\
                 attributes.city = {{ role = \"quasi-identifier\", type = \"integer\" }}\n\
                 privacy.k = 3\nsearch.algorithm = \"{algorithm}\"\n"
            );
            let job = Job::new(policy(&folder.path(""), &text)).threads(threads);
            let error = refused(&job, &file);
            let Error::WrongType { place, value, .. } = &error else { panic!("{error}") };
            assert_eq!((place.line, value.as_str()), (Some(expected), "seven"), "{algorithm}");
        }
    }
}

/// Columns are parsed one after the other, so an earlier column may have the later line.
#[test]
fn the_first_line_that_is_not_text_is_named() {
    let folder = Folder::new("not-text");
    let mut bytes = b"age,city\n20,Bern\n21,B\xFFrn\n2\xFF,Bern\n".to_vec();
    bytes.extend((0..ROWS).flat_map(|_| *b"22,Biel\n"));
    let file = folder.path("in.csv");
    std::fs::write(&file, bytes).unwrap();
    let text = "attributes.age.role = \"quasi-identifier\"\n\
                attributes.city.role = \"quasi-identifier\"\nprivacy.k = 1\n";
    // Without an encoding, these bytes are taken for Windows-1252.
    let format = FileFormat::of(&file).unwrap().with_encoding("utf-8").unwrap();
    for threads in [1, 3] {
        let input = TableFile::open_as(&file, format.clone()).unwrap();
        let job = Job::new(policy(&folder.path(""), text)).threads(threads);
        let error = job.run(&input, &mut ReleaseBatches::new(), &Watch::silent()).unwrap_err();
        let Error::InvalidUtf8 { place, .. } = &error else { panic!("{error}") };
        assert_eq!((place.line, place.column.as_deref()), (Some(3), Some("city")), "{error}");
    }
}

/// A table whose columns have no value at all in some batches, one column in none, and one has the
/// type that says so.
fn without_values() -> Vec<RecordBatch> {
    let batch = |is_null: bool| {
        let rows = 40;
        let full: [(&str, ArrayRef); 5] = [
            ("age", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| 20 + row % 5)))),
            ("city", Arc::new(StringArray::from_iter_values((0..rows).map(|_| "Bern")))),
            ("pay", Arc::new(Float64Array::from_iter_values((0..rows).map(|row| row as f64)))),
            ("ill", Arc::new(StringArray::from_iter_values((0..rows).map(|_| "flu")))),
            ("note", new_null_array(&DataType::Utf8, rows as usize)),
        ];
        let coded = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
        let columns = full.into_iter().map(|(name, array)| {
            let array = if name == "ill" { cast(&array, &coded).unwrap() } else { array };
            let kind = array.data_type().clone();
            (name, if is_null { new_null_array(&kind, rows as usize) } else { array }, true)
        });
        let nothing: ArrayRef = Arc::new(NullArray::new(rows as usize));
        let nothing = ["none-key", "none-ill", "none"].map(|name| (name, nothing.clone(), true));
        RecordBatch::try_from_iter_with_nullable(columns.chain(nothing)).unwrap()
    };
    vec![batch(false), batch(true), batch(false), batch(true)]
}

#[test]
fn columns_and_batches_of_nulls_only_are_released() {
    let folder = Folder::new("nulls-only");
    let batches = without_values();
    let whole = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    let files = ["in.arrow", "in.parquet", "in.csv"].map(|name| folder.path(name));
    files.iter().for_each(|file| disk::write(file, &whole));
    let text = "attributes.age.role = \"quasi-identifier\"\n\
                attributes.city.role = \"quasi-identifier\"\n\
                attributes.none-key.role = \"quasi-identifier\"\n\
                attributes.ill.role = \"sensitive\"\nattributes.none-ill.role = \"sensitive\"\n\
                defaults.role = \"insensitive\"\nprivacy.k = 8\n";
    for algorithm in ["incognito", "mondrian", "rothko-t", "rothko-s", "l-plus-optimize"] {
        let text = format!("{text}search.algorithm = \"{algorithm}\"\n");
        let job = Job::new(policy(&folder.path(""), &text)).seed(1);
        let mut sources: Vec<Box<dyn Source>> =
            vec![Box::new(TableBatches::new(batches.clone()).unwrap())];
        sources.extend(
            files
                .iter()
                .map(|file| -> Box<dyn Source> { Box::new(TableFile::open(file).unwrap()) }),
        );
        let mut known = None;
        for source in sources {
            let name = source.name();
            let mut sink = ReleaseBatches::new();
            let report = job.run(source, &mut sink, &Watch::silent());
            let report = report.unwrap_or_else(|error| panic!("{algorithm} from {name}: {error}"));
            let released = sink.batches();
            assert_eq!(released.iter().map(RecordBatch::num_rows).sum::<usize>(), 160);
            let ReleaseKind::Table { loss, .. } = &report.release else { panic!("{name}") };
            let told = (report.classes, loss.lm);
            assert_eq!(known.get_or_insert(told), &told, "{algorithm} from {name}");
            // Half of the rows have nothing, and some columns have nothing in any row.
            let values = |column: &str| -> usize {
                let columns = released.iter().map(|batch| batch.column_by_name(column).unwrap());
                let has = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
                let texts = columns.map(|array| cast(array, &DataType::Utf8).unwrap());
                texts
                    .map(|array| {
                        let texts = array.as_any().downcast_ref::<StringArray>().unwrap();
                        texts.iter().filter(|text| has(*text)).count()
                    })
                    .sum()
            };
            let counts = ["ill", "pay", "note", "none", "none-ill"].map(values);
            assert_eq!(counts, [80, 80, 0, 0, 0], "{algorithm} from {name}");
        }
    }
}
