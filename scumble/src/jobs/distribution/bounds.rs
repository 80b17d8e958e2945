//! The auxiliary table of section 3.3, a line for each group and number of selected records.
//!
//! Whoever writes it and whoever checks it say its lines the same way; the one has the ends of a
//! group's subdomains from the search, the other from the subdomains that were written. From line
//! to line only the sums change for certain. The ends of the least and of the greatest value stay
//! for runs of lines, so what is said of them is kept as it is.

use crate::query::Ends;
use crate::release::{Page, push_field};
use crate::table::push_decimal;

/// The names of the columns behind `group,selected`, where values are numbers.
const BOUNDS: &str = ",sum_lower,sum_upper,min_lower,min_upper,max_lower,max_upper";

/// The header.
pub(super) fn header(numeric: bool) -> String {
    format!("group,selected{}", if numeric { BOUNDS } else { "" })
}

/// A part of a line that many lines have.
#[derive(Default)]
struct Kept {
    text: Vec<u8>,
    start: [u8; 32],
}

impl Kept {
    /// Keeps what `say` says.
    fn set(&mut self, say: impl FnOnce(&mut Vec<u8>)) {
        self.text.clear();
        say(&mut self.text);
        let length = self.text.len().min(self.start.len());
        self.start[..length].copy_from_slice(&self.text[..length]);
    }

    #[inline(always)]
    fn push(&self, page: &mut Page) {
        match self.text.len() <= self.start.len() {
            true => page.push_first(&self.start, self.text.len()),
            false => page.push(&self.text),
        }
    }
}

/// The lines of a group; `ends` are those of its subdomains where values are numbers.
pub(super) fn push_lines(
    page: &mut Page,
    name: &str,
    ends: Option<&Ends>,
    records: u32,
    scale: u32,
) {
    let mut group = Kept::default();
    group.set(|text| {
        push_field(text, name, 0, b',');
        text.push(b',');
    });
    let Some(ends) = ends else {
        for selected in 1..=records {
            group.push(page);
            page.push_decimal(selected.into(), 0);
            page.push_byte(b'\n');
        }
        return;
    };
    let mut extremes = Kept::default();
    let mut last = None;
    for line in ends.lines(records) {
        group.push(page);
        page.push_decimal(line.selected.into(), 0);
        page.push_byte(b',');
        page.push_decimal(line.sum.0, scale);
        page.push_byte(b',');
        page.push_decimal(line.sum.1, scale);
        if last != Some((line.min, line.max)) {
            last = Some((line.min, line.max));
            extremes.set(|text| {
                for end in [line.min.0, line.min.1, line.max.0, line.max.1] {
                    text.push(b',');
                    push_decimal(text, end, scale);
                }
                text.push(b'\n');
            });
        }
        extremes.push(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Against the lines said one by one, number by number.
    #[test]
    fn lines_are_the_bounds_of_each_number_of_records() {
        let mut random = Random::new(11);
        for round in 0..200 {
            let largest = [9, 5_000, 3_000_000_000_000][round % 3];
            let subdomains: Vec<(i64, i64, u32)> = (0..random.between(1, 12))
                .map(|_| {
                    let low = random.between(-largest, largest);
                    (low, low + random.between(0, largest), random.between(1, 4) as u32)
                })
                .collect();
            let ends = Ends::new(subdomains.iter().copied());
            let (name, field) =
                [("a", "a"), ("a,b", "\"a,b\""), ("a group with a name that is long", "")]
                    [round % 3];
            let field = if field.is_empty() { name } else { field };
            let mut wanted = String::new();
            for line in ends.lines(ends.len() as u32) {
                wanted += &format!("{field},{}", line.selected);
                for end in [line.sum.0, line.sum.1, line.min.0, line.min.1, line.max.0, line.max.1]
                {
                    wanted += &format!(",{end}");
                }
                wanted += "\n";
            }
            let mut found = Page::default();
            push_lines(&mut found, name, Some(&ends), ends.len() as u32, 0);
            assert_eq!(String::from_utf8_lossy(found.bytes()), wanted);
        }
    }
}
