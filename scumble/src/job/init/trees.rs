//! Trees over the values of a column, with labels that read well: of common and rare texts, or of
//! groups that were learned.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// A hierarchy: a row for each leaf, from the leaf to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    rows: Vec<Vec<String>>,
}

/// The longest name of a value inside the label of a group.
const LONGEST: usize = 24;

/// Delimiters that a reader may find in a file of hierarchies instead of the semicolon.
const DELIMITERS: [char; 3] = [',', '\t', '|'];

/// A reader looks at no more records to find the delimiter, and at more bytes than these.
const SNIFFED: usize = 100;
const SNIFFED_BYTES: usize = 60_000;

impl Tree {
    /// A tree, unless it has no level between leaves and root. Levels without a difference are left
    /// out, and the root gets another name if a leaf has it.
    pub(super) fn new(mut rows: Vec<Vec<String>>, leaves: &[&str]) -> Option<Tree> {
        let depth = rows.first()?.len();
        let nodes = |level: usize| rows.iter().map(|row| &row[level]).collect::<HashSet<_>>().len();
        let kept: Vec<bool> = (0..depth)
            .map(|level| {
                let ends = level == 0 || level + 1 == depth;
                ends || nodes(level) < nodes(level - 1) && nodes(level) > 1
            })
            .collect();
        for row in &mut rows {
            let mut kept = kept.iter();
            row.retain(|_| kept.next().is_some_and(|kept| *kept));
            if let (true, Some(root)) = (leaves.contains(&"*"), row.last_mut()) {
                *root = root_beside(leaves);
            }
        }
        let is_flat = rows[0].len() < 3 && !leaves.contains(&"*");
        (!is_flat).then_some(Tree { rows })
    }

    /// The number of levels above the values.
    pub(super) fn levels(&self) -> usize {
        self.rows[0].len() - 1
    }

    /// The groups of each level between the values and the root.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let nodes = |level: usize| self.rows.iter().map(|row| &row[level]).collect::<HashSet<_>>();
        (1..self.levels()).map(|level| nodes(level).len()).collect()
    }

    /// The tree as a file, if a reader finds its delimiter and its lines.
    pub(super) fn to_csv(&self) -> Option<String> {
        let cells = || self.rows.iter().take(SNIFFED).flatten();
        let has = |wanted: &dyn Fn(&str) -> bool| cells().any(|cell| wanted(cell));
        let has_quotes = has(&|cell| field(cell) != cell);
        // A reader takes the delimiter that cuts all rows evenly, into the most fields.
        let is_misleading = |delimiter: &char| {
            let count = |row: &Vec<String>| -> usize {
                row.iter().map(|cell| cell.matches(*delimiter).count()).sum()
            };
            let counts: HashSet<usize> = self.rows.iter().take(SNIFFED).map(count).collect();
            let is_even = counts.len() == 1 && counts.iter().all(|count| *count >= self.levels());
            is_even || has_quotes && has(&|cell| cell.contains(*delimiter))
        };
        let is_long = cells().map(String::len).sum::<usize>() > SNIFFED_BYTES;
        let has_lines = self.rows.iter().flatten().any(|cell| cell.contains(char::is_control));
        if is_long || has_lines || DELIMITERS.iter().any(is_misleading) {
            return None;
        }
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| field(cell)).collect();
            text += &cells.join(";");
            text.push('\n');
        }
        Some(text)
    }

    /// The tree as a value in a policy.
    pub(super) fn to_toml(&self, quoted: impl Fn(&str) -> String) -> String {
        let mut text = String::from("{ tree = [\n");
        for row in &self.rows {
            let labels: Vec<String> = row.iter().map(|label| quoted(label)).collect();
            let _ = writeln!(text, "    [{}],", labels.join(", "));
        }
        text + "] }"
    }
}

/// A root that no leaf is called like.
fn root_beside(leaves: &[&str]) -> String {
    let names = ["any", "any value", "all values"];
    names.into_iter().find(|name| !leaves.contains(name)).unwrap_or("(any value)").to_string()
}

/// A field of a delimited file.
fn field(cell: &str) -> String {
    let is_plain = !cell.contains(['"', ';']) && cell.trim() == cell && !cell.is_empty();
    if is_plain { cell.to_string() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

/// A tree over texts, which are given in the order of their frequency. Each level, from fine to
/// coarse, gives every text the number of its group; groups of one are the text itself.
pub(super) fn of_groups(texts: &[&str], levels: &[Vec<usize>]) -> Option<Tree> {
    let mut labels =
        Labels { texts, taken: texts.iter().map(|text| (text.to_string(), None)).collect() };
    let mut rows: Vec<Vec<String>> = texts.iter().map(|text| vec![text.to_string()]).collect();
    for groups in levels {
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        for (text, group) in groups.iter().enumerate() {
            members.entry(*group).or_default().push(text);
        }
        let mut members: Vec<Vec<usize>> = members.into_values().collect();
        members.sort_unstable();
        for members in members {
            let label = labels.of(&members);
            members.iter().for_each(|text| rows[*text].push(label.clone()));
        }
    }
    rows.iter_mut().for_each(|row| row.push("*".into()));
    // Siblings stand together, the most frequent first.
    let place = |level: &Vec<usize>, text: usize| {
        level.iter().position(|group| *group == level[text]).unwrap_or(text)
    };
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_cached_key(|text| {
        let places = levels.iter().rev().map(|level| place(level, *text));
        places.chain([*text]).collect::<Vec<_>>()
    });
    let rows = order.into_iter().map(|text| std::mem::take(&mut rows[text])).collect();
    Tree::new(rows, texts)
}

/// Labels of groups, each of which means one group.
struct Labels<'a> {
    texts: &'a [&'a str],
    /// What each label means: a text, or some of them.
    taken: HashMap<String, Option<Vec<usize>>>,
}

impl Labels<'_> {
    /// The label of some texts: the most frequent two, and how many more there are.
    fn of(&mut self, members: &[usize]) -> String {
        let short = |text: &usize| shortened(self.texts[*text]);
        let label = match members {
            [one] => return self.texts[*one].to_string(),
            [_, _] => members.iter().map(short).collect::<Vec<_>>().join(", "),
            [first, second, ..] => {
                format!("{}, {}, +{}", short(first), short(second), members.len() - 2)
            }
            [] => String::new(),
        };
        let mut number = 1;
        loop {
            let label = if number == 1 { label.clone() } else { format!("{label} ({number})") };
            let is_free = match self.taken.get(&label) {
                None => label != "*",
                Some(known) => known.as_deref() == Some(members),
            };
            if is_free {
                self.taken.insert(label.clone(), Some(members.to_vec()));
                return label;
            }
            number += 1;
        }
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.trim().to_string();
    }
    text.trim().chars().take(LONGEST - 1).chain(['…']).collect()
}

/// Groups of texts by their frequency: common values, then groups, then "other". `rows` has the
/// rows with each text, descending.
pub(super) fn by_frequency(rows: &[u64]) -> Vec<Vec<usize>> {
    let all: u64 = rows.iter().sum();
    let share = |count: u64| count as f64 / all.max(1) as f64;
    let common = |least: f64| rows.iter().take_while(|count| share(**count) >= least).count();
    let mut levels = Vec::new();
    // Rare values form groups that are about as frequent as the rarest common value.
    let (kept, mut group, mut filled) = (common(FEW), common(FEW), 0.0);
    let first = (0..rows.len()).map(|text| {
        if text < kept {
            return text;
        }
        if filled >= FEW {
            (group, filled) = (group + 1, 0.0);
        }
        filled += share(rows[text]);
        group
    });
    levels.push(first.collect());
    for least in [SOME, MANY] {
        let kept = common(least);
        levels.push((0..rows.len()).map(|text| text.min(kept)).collect());
    }
    levels
}

/// Shares of rows from which on a value is common, on each level.
const FEW: f64 = 0.02;
const SOME: f64 = 0.05;
const MANY: f64 = 0.15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::taxonomy::HierarchyFile;
    use std::path::Path;

    fn checked(tree: &Tree) {
        let rows = (1..).zip(tree.rows.iter().cloned()).collect();
        assert!(HierarchyFile::new(Path::new("t.csv"), rows).is_ok(), "{tree:?}");
    }

    #[test]
    fn labels_name_the_most_frequent_values() {
        let texts = ["flu", "asthma", "gout", "angina", "lupus"];
        let levels = [vec![0, 0, 0, 1, 1], vec![0, 0, 0, 0, 0]];
        let tree = of_groups(&texts, &levels).unwrap();
        checked(&tree);
        assert_eq!(tree.sizes(), [2], "the last level is the root");
        let csv = tree.to_csv().unwrap();
        assert_eq!(csv.lines().next(), Some("flu;flu, asthma, +1;*"));
        assert_eq!(csv.lines().last(), Some("lupus;angina, lupus;*"));
    }

    #[test]
    fn labels_are_never_values_and_mean_one_group() {
        let texts = ["a", "b", "a, b", "*", "c"];
        let tree = of_groups(&texts, &[vec![0, 0, 1, 1, 1]]).unwrap();
        checked(&tree);
        let labels: HashSet<&String> = tree.rows.iter().map(|row| &row[1]).collect();
        assert!(labels.contains(&"a, b (2)".to_string()), "{labels:?}");
        assert_eq!(tree.rows[0][2], "any");
    }

    #[test]
    fn values_that_mislead_a_reader_of_files_are_not_in_one() {
        let tree = |texts: &[&str]| of_groups(texts, &[vec![0, 0, 1, 1]]).unwrap();
        assert!(tree(&["a", "b", "c", "d"]).to_csv().is_some());
        assert!(tree(&["a,1,2,3", "b,1,2,3", "c,1,2,3", "d,1,2,3"]).to_csv().is_none());
        assert!(tree(&["a\nb", "b", "c", "d"]).to_csv().is_none());
        assert!(tree(&["a;b", "b", "c", "d"]).to_csv().is_none(), "labels have commas as well");
        let quoted = of_groups(&["*", "x;y"], &[]).unwrap().to_csv().unwrap();
        assert_eq!(quoted, "*;any\n\"x;y\";any\n");
    }

    /// Whatever values are: a file that is written is read back as the same tree.
    #[test]
    fn files_are_read_back() {
        let mut random = Random::new(17);
        let pieces = ["a", "b", ",", ";", "|", "\t", "\"", " ", "\n", "*", "é"];
        let file = std::env::temp_dir().join(format!("scumble-trees-{}.csv", std::process::id()));
        let mut written = 0;
        for _ in 0..400 {
            let known = 2 + random.below(pieces.len() as u64 - 1);
            let text = |random: &mut Random| -> String {
                let length = 1 + random.below(4);
                (0..length).map(|_| pieces[random.below(known) as usize]).collect()
            };
            let texts: HashSet<String> = (0..12).map(|_| text(&mut random)).collect();
            let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            texts.retain(|text| !text.trim().is_empty());
            texts.sort_unstable();
            let groups: Vec<usize> = texts.iter().map(|_| random.below(4) as usize).collect();
            let coarse = groups.iter().map(|group| group / 2).collect();
            let Some(tree) = of_groups(&texts, &[groups, coarse]) else { continue };
            checked(&tree);
            let Some(text) = tree.to_csv() else { continue };
            std::fs::write(&file, text).unwrap();
            let read = crate::job::read_hierarchy(&file).unwrap();
            let mut read: Vec<Vec<&str>> = read.rows().collect();
            let mut rows: Vec<Vec<&str>> =
                tree.rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
            read.sort();
            rows.sort();
            assert_eq!(read, rows);
            written += 1;
        }
        let _ = std::fs::remove_file(&file);
        assert!(written > 50, "{written}");
    }

    #[test]
    fn rare_values_are_grouped_first() {
        let rows = [500, 300, 100, 30, 25, 15, 10, 10, 5, 5];
        let levels = by_frequency(&rows);
        assert_eq!(levels[0], [0, 1, 2, 3, 4, 5, 5, 6, 6, 6]);
        assert_eq!(levels[1], [0, 1, 2, 3, 3, 3, 3, 3, 3, 3]);
        assert_eq!(levels[2], [0, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
        let texts = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        checked(&of_groups(&texts, &levels).unwrap());
    }
}
