//! How is a portrait shown?
//!
//! As one HTML page that needs nothing else: styles and charts are inside, nothing is loaded, and
//! there is no script. Cell values, column names and the policy are hostile input. The template
//! escapes every text, charts escape their own, and characters that would change how others
//! are shown are spelled out. A content security policy allows the page its own style sheet only.

mod columns;
mod comparison;
mod meaning;
mod measures;
mod parts;
mod svg;
mod view;

use crate::portrait::Portrait;
use askama::Template;
use sha2::{Digest, Sha256};
use view::View;

/// The style sheet of every page.
const STYLE: &str = include_str!("../../templates/style.css");

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    view: View<'a>,
    style: Style,
}

/// The style sheet with its hash, by which the content security policy allows it.
struct Style {
    text: &'static str,
    hash: String,
}

impl Style {
    fn new() -> Style {
        Style { text: STYLE, hash: base64(&Sha256::digest(STYLE)) }
    }
}

impl Portrait {
    /// The portrait as one HTML page.
    pub fn to_html(&self) -> String {
        let page = ReportPage { view: View::new(self), style: Style::new() };
        // Writing to a string cannot fail.
        page.render().unwrap_or_default()
    }
}

/// Bytes as a content security policy names them.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(*three.get(at).unwrap_or(&0)));
        for digit in 0..4 {
            let at = (bits >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[at]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_its_end() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("~~~", "fn5+")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
