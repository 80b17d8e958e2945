//! Spilled rows come back, or an error does; nothing stays behind; nobody else is touched.

// Tests that start themselves in another process talk through its output.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use super::folder::LOCK;
use super::{Records, SpillFile, SpillFolder};
use crate::error::{Error, ErrorKind, Result};
use crate::random::Random;
use proptest::prelude::*;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder of one test, removed at its end.
struct Parent(PathBuf);

impl Parent {
    fn new(name: &str) -> Parent {
        let path =
            std::env::temp_dir().join(format!("scumble-test-spill-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Parent(path)
    }

    fn names(&self) -> Vec<String> {
        names(&self.0)
    }

    fn create(&self) -> SpillFolder {
        SpillFolder::create(&self.0).unwrap()
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Rows whose columns have between 0 and 32 bits; the payload of some is empty, of some repetitive,
/// of some noise.
fn random_rows(seed: u64, rows: usize, width: usize, payload: u64) -> Records {
    let mut random = Random::new(seed);
    let columns: Vec<(u64, u64)> = (0..width)
        .map(|_| {
            let span = random.below(33);
            (random.below((1 << 32) - (1 << span) + 1), 1 << span)
        })
        .collect();
    let mut records = Records::new(width);
    for _ in 0..rows {
        let words: Vec<u32> = columns
            .iter()
            .map(|&(low, span)| u32::try_from(low + random.below(span)).unwrap())
            .collect();
        let length = random.below(payload + 1);
        let is_noise = random.below(2) == 0;
        let bytes: Vec<u8> =
            (0..length).map(|_| if is_noise { random.next_u64() as u8 } else { b'a' }).collect();
        records.push(&words, &bytes);
    }
    records
}

fn write(folder: &SpillFolder, records: &Records, block_bytes: usize) -> Result<SpillFile> {
    let mut writer = folder.file(records.width, block_bytes);
    for row in 0..records.len() {
        writer.push(records.words(row), records.payload(row))?;
    }
    assert_eq!(writer.rows(), records.len() as u64);
    writer.finish()
}

/// The only file of a folder besides its lock.
fn only_file(folder: &SpillFolder) -> PathBuf {
    let names: Vec<String> = names(folder.path()).into_iter().filter(|name| name != LOCK).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    folder.path().join(&names[0])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_come_back_as_they_were(
        seed: u64, rows in 0usize..400, width in 0usize..14, payload in 0u64..200, block_bytes in 0usize..6000,
    ) {
        let records = random_rows(seed, rows, width, payload);
        let folder = SpillFolder::create(&std::env::temp_dir()).unwrap();
        let mut writer = folder.file(width, block_bytes);
        for row in 0..rows {
            writer.push(records.words(row), records.payload(row)).unwrap();
            let most = 2 * block_bytes.max(16 * (4 * width + 8)) + 200;
            prop_assert!(writer.buffered_bytes() <= most, "{} of {most}", writer.buffered_bytes());
        }
        let file = writer.finish().unwrap();
        prop_assert_eq!(file.rows(), rows as u64);
        prop_assert_eq!(&file.read().unwrap(), &records);
        prop_assert_eq!(file.memory_bytes(), file.read().unwrap().bytes() as u64);
        let mut together = Records::new(width);
        for block in file.blocks().unwrap() {
            let block = block.unwrap();
            prop_assert!(!block.is_empty());
            (0..block.len()).for_each(|row| together.push(block.words(row), block.payload(row)));
        }
        prop_assert_eq!(&together, &records);
        prop_assert_eq!(folder.bytes_written(), file.bytes());
        prop_assert_eq!(folder.rows_written(), file.rows());
        prop_assert_eq!(folder.bytes_held(), file.bytes());
        prop_assert_eq!(folder.bytes_read(), 3 * file.bytes());
        prop_assert_eq!(folder.rows_read(), 3 * file.rows());
        drop(file);
        prop_assert_eq!(folder.bytes_held(), 0);
        prop_assert_eq!(names(folder.path()), [LOCK]);
    }
}

#[test]
fn few_distinct_values_and_repeated_text_take_little_space() {
    let parent = Parent::new("compact");
    let folder = parent.create();
    let mut random = Random::new(1);
    let mut records = Records::new(10);
    for _ in 0..10_000 {
        let words: [u32; 10] = std::array::from_fn(|_| 1_000_000 + random.below(16) as u32);
        records.push(&words, b"the same words again and again");
    }
    let file = write(&folder, &records, 64 << 10).unwrap();
    // Four bits of 32 for each word; frames, lengths and compressed text add less than a tenth of
    // that.
    assert!(file.bytes() < 10_000 * 10 / 2 * 11 / 10, "{}", file.bytes());
    assert_eq!(file.read().unwrap(), records);
}

/// Reads everything, to the first error.
fn read(file: &SpillFile) -> Result<u64> {
    file.blocks()?.map(|block| block.map(|block| block.len() as u64)).sum()
}

fn assert_damaged(file: &SpillFile, path: &Path, how: &str) {
    let error = read(file).expect_err(how);
    assert!(matches!(&error, Error::SpillDamaged { file, .. } if file == path), "{how}: {error}");
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert!(
        file.blocks().is_err() || file.blocks().unwrap().filter(Result::is_err).count() == 1,
        "{how}"
    );
}

#[test]
fn damage_of_every_kind_is_an_error_that_names_the_file() {
    let parent = Parent::new("damage");
    let folder = parent.create();
    let records = random_rows(3, 60, 4, 20);
    let file = write(&folder, &records, 600).unwrap();
    let path = only_file(&folder);
    let sound = fs::read(&path).unwrap();
    assert!(file.blocks().unwrap().count() > 2);
    let handle = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let put = |at: usize, bytes: &[u8]| {
        (&handle).seek(SeekFrom::Start(at as u64)).unwrap();
        (&handle).write_all(bytes).unwrap();
    };
    for (at, &byte) in sound.iter().enumerate() {
        put(at, &[byte ^ 1 << (at % 8)]);
        assert_damaged(&file, &path, &format!("byte {at} flipped"));
        put(at, &[byte]);
    }
    assert_eq!(read(&file).unwrap(), 60, "mended");
    put(sound.len(), b"x");
    assert_damaged(&file, &path, "a byte more");
    handle.set_len(sound.len() as u64).unwrap();
    // Cut while it is being read, too: then the length was right when the file was opened.
    for at in (0..sound.len()).rev() {
        put(0, &sound);
        let mut blocks = file.blocks().ok();
        handle.set_len(at as u64).unwrap();
        assert_damaged(&file, &path, &format!("cut after {at} bytes"));
        if let Some(blocks) = &mut blocks {
            assert!(blocks.any(|block| block.is_err()), "cut after {at} bytes while it was read");
        }
    }
    put(0, &sound);

    // Sound blocks in the places of others: of the same file, and of another one of the same
    // length.
    let other = write(&folder, &records, 600).unwrap();
    let other_path = folder.path().join("1.rows");
    fs::copy(&other_path, &path).unwrap();
    assert_damaged(&file, &path, "another file");
    fs::remove_file(&path).unwrap();
    assert_damaged(&file, &path, "gone");
    let mut same = Records::new(1);
    (0..300).for_each(|_| same.push(&[7], &[]));
    let repeated = write(&folder, &same, 1200).unwrap();
    let path = folder.path().join("2.rows");
    let bytes = fs::read(&path).unwrap();
    let (first, rest) = bytes.split_at(bytes.len() / 3);
    assert_eq!(first.len() * 3, bytes.len(), "three blocks of one length");
    fs::write(&path, [rest, first].concat()).unwrap();
    assert_damaged(&repeated, &path, "blocks exchanged");
    assert_eq!(read(&other).unwrap(), 60);
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let parent = Parent::new("private");
    let folder = parent.create();
    let _file = write(&folder, &random_rows(1, 10, 2, 5), 100).unwrap();
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(folder.path()), 0o700);
    assert_eq!(mode(&only_file(&folder)), 0o600);
    assert_eq!(mode(&folder.path().join(LOCK)), 0o600);
}

#[test]
fn everything_goes_with_the_last_owner_also_after_a_panic() {
    let parent = Parent::new("drop");
    let records = random_rows(1, 100, 3, 9);
    let folder = parent.create();
    let file = write(&folder, &records, 500).unwrap();
    let mut unfinished = folder.file(3, 500);
    (0..100).for_each(|row| unfinished.push(records.words(row), records.payload(row)).unwrap());
    assert_eq!(names(folder.path()).len(), 3);
    drop(unfinished);
    assert_eq!(names(folder.path()).len(), 2);
    // A file that outlives the handle of its folder keeps it.
    drop(folder);
    assert_eq!(file.read().unwrap(), records);
    drop(file);
    assert_eq!(parent.names(), Vec::<String>::new());

    // What is not the run's own stays, with the lock by which the next run knows the folder.
    let folder = parent.create();
    let path = folder.path().to_path_buf();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    drop(folder);
    assert_eq!(names(&path), [LOCK, "notes.txt"]);
    fs::remove_dir_all(&path).unwrap();

    let panicked = std::panic::catch_unwind(|| {
        let folder = parent.create();
        let _file = write(&folder, &records, 500).unwrap();
        let mut writer = folder.file(3, 500);
        (0..100).for_each(|row| writer.push(records.words(row), records.payload(row)).unwrap());
        assert_eq!(names(folder.path()).len(), 3);
        writer.push(&[1], &[]).unwrap();
    });
    assert!(panicked.is_err());
    assert_eq!(parent.names(), Vec::<String>::new());
}

#[test]
fn a_full_folder_says_how_much_was_missing_and_stays_consistent() {
    let parent = Parent::new("limit");
    let folder = parent.create();
    let records = random_rows(1, 1000, 3, 0);
    let mut writer = folder.file(3, 1000);
    let mut row = 0;
    while folder.bytes_written() == 0 {
        writer.push(records.words(row), &[]).unwrap();
        row += 1;
    }
    let block = folder.bytes_written();
    folder.limit(block + 10);
    let error = loop {
        match writer.push(records.words(row), &[]) {
            Ok(()) => row += 1,
            Err(error) => break error,
        }
    };
    let Error::SpillFull { needed, free, held, .. } = &error else { panic!("{error}") };
    assert_eq!((*free, *held), (10, block));
    assert!(
        error
            .to_string()
            .contains(&format!("cannot write {needed} bytes, because only 10 are free")),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert_eq!((folder.bytes_held(), folder.bytes_written()), (block, block));
    // Nothing of the block that failed is in the file, and nothing was lost.
    folder.limit(u64::MAX);
    writer.push(records.words(row), &[]).unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(file.read().unwrap().words, records.words[..3 * (row + 1)]);
}

#[test]
fn threads_share_a_folder() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let parent = Parent::new("threads");
    let folder = parent.create();
    is_shared(&folder);
    let files: Vec<(Records, SpillFile)> = std::thread::scope(|scope| {
        let work = |seed| {
            let records = random_rows(seed, 2000, 5, 30);
            let file = write(&folder, &records, 2000).unwrap();
            is_shared(&file);
            (records, file)
        };
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(folder.bytes_written(), files.iter().map(|(_, file)| file.bytes()).sum::<u64>());
    assert!(files.iter().all(|(records, file)| file.read().unwrap() == *records));
    assert_eq!(folder.bytes_read(), folder.bytes_written());
}

#[test]
fn a_row_larger_than_a_block_does_not_stay_in_memory() {
    let parent = Parent::new("large");
    let folder = parent.create();
    let mut writer = folder.file(1, 1000);
    let large: Vec<u8> =
        (0..6_000_000u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for payload in [&b"a"[..], &large, b"b", b"c"] {
        writer.push(&[7], payload).unwrap();
    }
    assert!(writer.buffered_bytes() < 2000, "{}", writer.buffered_bytes());
    let file = writer.finish().unwrap();
    assert_eq!(file.blocks().unwrap().count(), 3);
    assert_eq!(file.read().unwrap().payload(1), large);
}

#[test]
fn a_parent_that_is_no_folder_is_bad_usage() {
    let parent = Parent::new("parent");
    fs::write(parent.0.join("file"), "").unwrap();
    for name in ["file", "absent"] {
        let Err(error) = SpillFolder::create(&parent.0.join(name)) else { panic!("{name}") };
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    }
}

/// A folder as a run leaves it, with rows and a lock that nobody holds.
#[cfg(unix)]
fn leave(parent: &Parent, name: &str) -> PathBuf {
    let path = parent.0.join(name);
    fs::create_dir(&path).unwrap();
    [LOCK, "0.rows", "17.rows"].iter().for_each(|file| fs::write(path.join(file), "left").unwrap());
    path
}

#[cfg(unix)]
#[test]
fn what_dead_runs_left_goes_and_nothing_else() {
    let parent = Parent::new("leftovers");
    let live = parent.create();
    let file = write(&live, &random_rows(1, 10, 2, 5), 100).unwrap();
    leave(&parent, "scumble-spill-0123456789abcdef");
    let half = leave(&parent, "scumble-spill-1123456789abcdef");
    fs::remove_file(half.join("0.rows")).unwrap();
    fs::create_dir(parent.0.join("scumble-spill-2123456789abcdef")).unwrap();
    // A link inside goes, what it leads to stays.
    let linked = leave(&parent, "scumble-spill-3123456789abcdef");
    fs::write(parent.0.join("precious"), "precious").unwrap();
    std::os::unix::fs::symlink(parent.0.join("precious"), linked.join("3.rows")).unwrap();
    let mut stay = vec![
        "precious".to_string(),
        live.path().file_name().unwrap().to_str().unwrap().to_string(),
    ];

    for name in [
        "scumble-spill-",
        "scumble-spill-0123456789abcde",
        "scumble-spill-0123456789ABCDEF",
        "scumble",
    ] {
        leave(&parent, name);
        stay.push(name.to_string());
    }
    // Links to a folder like ours and to a lock, a file with the name of a folder, content that is
    // not ours.
    let target = leave(&parent, "elsewhere");
    std::os::unix::fs::symlink(&target, parent.0.join("scumble-spill-4123456789abcdef")).unwrap();
    let other = leave(&parent, "scumble-spill-5123456789abcdef");
    fs::remove_file(other.join(LOCK)).unwrap();
    std::os::unix::fs::symlink(target.join(LOCK), other.join(LOCK)).unwrap();
    fs::write(parent.0.join("scumble-spill-6123456789abcdef"), "").unwrap();
    fs::write(leave(&parent, "scumble-spill-7123456789abcdef").join("notes.txt"), "mine").unwrap();
    let unlocked = leave(&parent, "scumble-spill-8123456789abcdef");
    fs::remove_file(unlocked.join(LOCK)).unwrap();
    stay.push("elsewhere".to_string());
    stay.extend((4..=8).map(|digit| format!("scumble-spill-{digit}123456789abcdef")));
    // The owner can only be changed by the administrator, who must not remove what is others'
    // either.
    let foreign = leave(&parent, "scumble-spill-9123456789abcdef");
    match std::os::unix::fs::chown(&foreign, Some(65534), None) {
        Ok(()) => stay.push("scumble-spill-9123456789abcdef".to_string()),
        Err(_) => eprintln!("SKIPPED: the folder of another user (needs the administrator)"),
    }

    drop(parent.create());
    stay.sort();
    assert_eq!(parent.names(), stay);
    assert_eq!(names(&target), ["0.rows", "17.rows", LOCK]);
    assert_eq!(names(&parent.0.join("scumble-spill-7123456789abcdef")), [LOCK, "notes.txt"]);
    assert_eq!(fs::read_to_string(parent.0.join("precious")).unwrap(), "precious");
    assert_eq!(read(&file).unwrap(), 10);
}

#[test]
fn runs_that_start_and_end_at_once_do_not_disturb_each_other() {
    let parent = Parent::new("race");
    let records = random_rows(1, 50, 3, 9);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..60 {
                    let folder = parent.create();
                    let file = write(&folder, &records, 300).unwrap();
                    assert_eq!(file.read().unwrap(), records);
                }
            });
        }
    });
    assert_eq!(parent.names(), Vec::<String>::new());
}

/// Names the folder in which a test that was started by itself is to work.
const CHILD: &str = "SCUMBLE_TEST_SPILL_PARENT";

fn child_parent() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// The test of this name in a process of its own, after a line of shell.
#[cfg(unix)]
fn again(test: &str, parent: &Path, line: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!(
        "{line} exec \"$0\" --exact source::spill::tests::{test} --nocapture --test-threads 1"
    );
    command.arg("-c").arg(script).arg(std::env::current_exe().unwrap()).env(CHILD, parent);
    command
}

#[cfg(unix)]
#[test]
fn a_thousand_writers_need_few_handles() {
    let Some(parent) = child_parent() else {
        let parent = Parent::new("thousand");
        let output = again("a_thousand_writers_need_few_handles", &parent.0, "ulimit -n 32;")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1000 files"), "{said}");
        return assert_eq!(parent.names(), Vec::<String>::new());
    };
    let folder = SpillFolder::create(&parent).unwrap();
    let mut writers: Vec<_> = (0..1000).map(|_| folder.file(2, 256)).collect();
    for row in 0..100_000u32 {
        writers[row as usize * 7 % 1000].push(&[row, row % 5], b"x").unwrap();
    }
    let files: Vec<SpillFile> =
        writers.into_iter().map(|writer| writer.finish().unwrap()).collect();
    for (index, file) in files.iter().enumerate() {
        let records = file.read().unwrap();
        assert_eq!(records.len(), 100);
        assert!((0..100).all(|row| records.words(row)[0] as usize * 7 % 1000 == index));
    }
    println!("{} files", files.len());
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_left_goes_with_the_next() {
    use std::io::BufRead;
    if let Some(parent) = child_parent() {
        let folder = SpillFolder::create(&parent).unwrap();
        let _file = write(&folder, &random_rows(1, 100, 3, 9), 300).unwrap();
        println!("\nspilled");
        // Until it is killed, or until nobody is left who could.
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    let parent = Parent::new("killed");
    let mut command = again("what_a_killed_run_left_goes_with_the_next", &parent.0, "");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let said = std::io::BufReader::new(child.stdout.take().unwrap());
    assert!(said.lines().any(|line| line.unwrap() == "spilled"));
    let left = parent.names();
    assert_eq!(left.len(), 1);
    // As long as it lives nobody touches it.
    drop(parent.create());
    assert_eq!(parent.names(), left);
    assert_eq!(names(&parent.0.join(&left[0])), ["0.rows", LOCK]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(parent.names(), left);
    drop(parent.create());
    assert_eq!(parent.names(), Vec::<String>::new());
}

/// On a file system of 256 KiB, where the system lets a process have one of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_says_how_much_was_missing() {
    let Some(parent) = child_parent() else {
        let parent = Parent::new("full");
        let mount =
            "mount -t tmpfs -o size=256k scumble-test \"$SCUMBLE_TEST_SPILL_PARENT\" || exit 77;";
        let mut inner = again("a_full_disk_says_how_much_was_missing", &parent.0, mount);
        let mut command = Command::new("unshare");
        command
            .args(["-r", "-m"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .env(CHILD, &parent.0);
        let output = command.output().or_else(|_| inner.output()).unwrap();
        if [Some(77), Some(1)].contains(&output.status.code()) && output.stdout.is_empty() {
            return eprintln!("SKIPPED: a full disk (no file system may be mounted here)");
        }
        let said = String::from_utf8_lossy(&output.stdout);
        return assert!(output.status.success() && said.contains("the disk was full"), "{said}");
    };
    let folder = SpillFolder::create(&parent).unwrap();
    let records = random_rows(1, 100_000, 4, 0);
    let mut writer = folder.file(4, 30_000);
    let error = (0..records.len())
        .find_map(|row| writer.push(records.words(row), &[]).err())
        .expect("a full disk");
    assert_eq!(
        fs::metadata(only_file(&folder)).unwrap().len(),
        folder.bytes_held(),
        "nothing of the block that failed"
    );
    drop(writer);
    let Error::SpillFull { needed, free, held, .. } = error else { panic!("{error}") };
    assert!(free < needed && needed < 30_000 && held < 256 << 10, "{error}");
    assert!(error.to_string().contains(&format!("because only {free} are free")), "{error}");
    assert_eq!(error.kind(), ErrorKind::Environment);
    drop(folder);
    assert_eq!(names(&parent), Vec::<String>::new());
    println!("the disk was full");
}
