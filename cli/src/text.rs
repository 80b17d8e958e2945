//! Text for people: some of it is coloured on a terminal, and none of it can control one.
//!
//! A text knows which of its parts have a style. Whether styles are shown is decided where it is
//! printed: on a terminal, unless `NO_COLOR` or `CLICOLOR=0` says otherwise; `CLICOLOR_FORCE` asks
//! for them elsewhere. No meaning depends on colour alone.

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use std::fmt::{self, Write};
use std::io;
use std::ops::Range;

/// A heading.
pub const HEADING: Style = Style::new().bold();
/// What holds.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What fails.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What is worth knowing.
pub const NOTE: Style = AnsiColor::Yellow.on_default();

/// A text with styles.
#[derive(Default)]
pub struct Text {
    plain: String,
    /// Parts with a style, in their order; they do not overlap.
    styled: Vec<(Range<usize>, Style)>,
}

impl Text {
    /// A text that is passed on as it is, such as a script.
    pub fn raw(plain: String) -> Text {
        Text { plain, styled: Vec::new() }
    }

    /// Whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// Adds words with a style.
    pub fn add(&mut self, style: Style, words: &str) {
        let from = self.plain.len();
        let _ = self.write_str(words);
        self.styled.push((from..self.plain.len(), style));
    }

    /// Adds a table, indented, with the head of each column as a heading.
    pub fn table(&mut self, table: &comfy_table::Table) {
        for (number, line) in table.lines().enumerate() {
            let line = format!("  {}", line.trim_end());
            if number == 0 {
                self.add(HEADING, &line);
            } else {
                let _ = self.write_str(&line);
            }
            let _ = self.write_str("\n");
        }
    }

    /// The text for a stream, with escape codes if it shows styles.
    pub fn shown(&self, with_styles: bool) -> String {
        if !with_styles {
            return self.plain.clone();
        }
        let (mut text, mut end) = (String::new(), 0);
        for (range, style) in &self.styled {
            let words = &self.plain[range.clone()];
            let _ = write!(text, "{}{style}{words}{style:#}", &self.plain[end..range.start]);
            end = range.end;
        }
        text + &self.plain[end..]
    }
}

impl Write for Text {
    /// Adds words. Names and values may hold anything, so control characters are escaped.
    fn write_str(&mut self, words: &str) -> fmt::Result {
        for character in words.chars() {
            if character.is_control() && character != '\n' {
                self.plain.extend(character.escape_debug());
            } else {
                self.plain.push(character);
            }
        }
        Ok(())
    }
}

impl From<String> for Text {
    fn from(words: String) -> Text {
        let mut text = Text::default();
        let _ = text.write_str(&words);
        text
    }
}

/// Whether styles are shown on standard output.
pub fn on_output() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// Whether styles are shown on standard error.
pub fn on_error() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// An empty table: columns apart by spaces, numbers right-aligned in all columns but the first few.
pub fn table(head: &[&str], left: usize) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(head.iter().copied());
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number >= left {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_surround_their_words_and_nothing_else_is_changed() {
        let mut text = Text::default();
        let _ = write!(text, "one ");
        text.add(GOOD, "two");
        let _ = writeln!(text, " three");
        assert_eq!(text.shown(false), "one two three\n");
        assert_eq!(text.shown(true), "one \u{1b}[32mtwo\u{1b}[0m three\n");
    }

    #[test]
    fn a_value_cannot_control_a_terminal() {
        let text = Text::from("a\u{1b}[31mb\u{7}\r\n".to_string());
        assert_eq!(text.shown(false), "a\\u{1b}[31mb\\u{7}\\r\n");
        assert_eq!(Text::raw("\t".into()).shown(true), "\t");
    }

    #[test]
    fn a_table_has_no_lines_and_no_spaces_at_the_end() {
        let mut table = table(&["name", "number"], 1);
        table.add_row(["a", "1"]).add_row(["long name", "1000"]);
        let mut text = Text::default();
        text.table(&table);
        assert_eq!(
            text.shown(false),
            "  name       number\n  a               1\n  long name    1000\n"
        );
    }
}
