//! Pages of HTML that need nothing else: no file, no network, and a script only for sorting and filtering their table.
//!
//! What the pages show is hostile. All of it goes through [`Escaped`], none of it into the script, the style or an attribute
//! without quotes; and the page's policy lets the browser run only the one script that belongs to the page.

use std::fmt::{self, Write as _};
use std::io;

use sha2::{Digest, Sha256};

use crate::cli::printing::clean::clean_line;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Statuses with a colour.
const STATUSES: [&str; 11] = [
    "ok",
    "changed",
    "skipped",
    "failed",
    "ignored",
    "denied",
    "limit",
    "crashed",
    "cancelled",
    "interrupted",
    "unreachable",
];

/// Returns the class of a status, for its colour.
pub(crate) fn status_class(status: &str) -> &str {
    if STATUSES.contains(&status) { status } else { "other" }
}

/// Writes a page up to its body. The body is the caller's, up to the rows of the table `runs`.
///
/// # Errors
///
/// The output cannot be written.
pub(crate) fn begin(mut out: impl io::Write, title: &str) -> io::Result<()> {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(STYLE)),
        base64(&Sha256::digest(SCRIPT)),
    );
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n"
    )
}

/// Writes the end of a page, after the rows of its table.
///
/// # Errors
///
/// The output cannot be written.
pub(crate) fn end(mut out: impl io::Write) -> io::Result<()> {
    write!(out, "</table>\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")?;
    out.flush()
}

/// Text from outside as HTML text, up to a number of characters. Control characters are written out, and no character has a
/// meaning in HTML.
pub(crate) struct Escaped<'a>(pub(crate) &'a str, pub(crate) usize);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.char_indices().nth(self.1).map(|(end, _)| end);
        for c in clean_line(&self.0[..end.unwrap_or(self.0.len())]).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        if end.is_some() { f.write_str("…") } else { Ok(()) }
    }
}

/// Returns bytes as base64 with padding, for the hashes of the page's policy.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (at, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            match at <= chunk.len() {
                true => text.push(char::from(DIGITS[(bits >> shift & 63) as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        let encoded = [&b""[..], b"f", b"fo", b"foo", b"foob", b"\xff\xfe\xfd"].map(base64);
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "//79"]);
    }

    #[test]
    fn text_is_never_markup() {
        assert_eq!(
            Escaped("<a href='x\"'>&\u{1b}\n", 99).to_string(),
            "&lt;a href=&#39;x&quot;&#39;&gt;&amp;\\u{1b}\\u{a}"
        );
        assert_eq!(Escaped("ééé", 2).to_string(), "éé…");
    }
}
