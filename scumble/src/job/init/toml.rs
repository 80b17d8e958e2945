//! TOML and comments, as a policy has them.

use std::fmt::Write;

/// The width of comments.
const WIDTH: usize = 100;

/// A comment of as many lines as it needs; what begins with spaces keeps them.
pub(super) fn comment(text: &str) -> String {
    let indent = &text[..text.len() - text.trim_start().len()];
    let (mut lines, mut line) = (String::new(), format!("# {indent}"));
    let begin = line.len();
    for word in text.split_whitespace() {
        if line.len() > begin && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += line.trim_end();
            lines.push('\n');
            line = format!("# {indent}");
        }
        if line.len() > begin {
            line.push(' ');
        }
        line += word;
    }
    lines + line.trim_end() + "\n"
}

pub(super) fn capital(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

/// A number with groups of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A name in a comment: on one line.
pub(super) fn shown(name: &str) -> String {
    name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

/// A key of TOML, quoted where it must be.
pub(super) fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_string() } else { quoted(name) }
}

/// A basic string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_at_most_a_hundred_columns_wide() {
        let text = comment(&"word ".repeat(60));
        assert!(
            text.lines().all(|line| line.len() <= WIDTH && line.starts_with("# word")),
            "{text}"
        );
        assert_eq!(text.lines().count(), 4);
        assert_eq!(comment("  a b"), "#   a b\n");
    }

    #[test]
    fn strings_of_toml_are_escaped() {
        assert_eq!(key("a_b-1"), "a_b-1");
        assert_eq!(key("a \"b\"\n"), "\"a \\\"b\\\"\\u000A\"");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
