//! Differences of text between two states of a file, within bounds of size and time.
//!
//! Binary files and long ones are told apart and not compared. The caller masks secrets: no line leaves this file
//! without passing through the caller's function. This file reads no files.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use similar::{Algorithm, ChangeTag, TextDiff};

/// Upper bounds of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffBounds {
    /// Largest content that is compared, in bytes.
    pub content: usize,
    /// Largest difference, in bytes.
    pub text: usize,
    /// Time for the comparison. A later result is correct, but longer than needed.
    pub time: Duration,
}

impl Default for DiffBounds {
    fn default() -> Self {
        Self { content: 1 << 20, text: 64 << 10, time: Duration::from_millis(200) }
    }
}

/// Difference of the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentDiff {
    /// The content is equal.
    Same,
    /// Lines that are different.
    Text {
        /// The difference in the unified format, without the lines that name the files.
        diff: String,
        /// Number of lines that were added.
        added: u64,
        /// Number of lines that were removed.
        removed: u64,
    },
    /// A secret file. Only numbers of lines are told.
    Secret {
        /// Number of lines that were added.
        added: u64,
        /// Number of lines that were removed.
        removed: u64,
    },
    /// At least one state is not text.
    Binary,
    /// A state or the difference is longer than the bounds.
    TooLong,
}

/// Whether the lines of a file may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Lines are shown.
    Shown,
    /// Only their numbers are told.
    Hidden,
}

impl Visibility {
    /// Returns the visibility of a file whose modes before and after are given, unless lines of all files are asked for.
    /// What other users may not read is hidden.
    #[must_use]
    pub fn of_modes(modes: impl IntoIterator<Item = u32>, all: bool) -> Self {
        let is_open = modes.into_iter().all(|mode| mode & 0o004 != 0);
        if all || is_open { Self::Shown } else { Self::Hidden }
    }
}

/// Compares two states of a file. Content that does not exist is empty. `mask` gets the text of both states before it
/// is compared, and returns it without secrets.
pub fn compare(
    before: &[u8],
    after: &[u8],
    visibility: Visibility,
    bounds: DiffBounds,
    mask: impl Fn(&str) -> String,
) -> ContentDiff {
    if before == after {
        return ContentDiff::Same;
    }
    if before.len().max(after.len()) > bounds.content {
        return ContentDiff::TooLong;
    }
    let (Some(before), Some(after)) = (text(before), text(after)) else { return ContentDiff::Binary };
    let deadline = Instant::now() + bounds.time;
    let (added, removed) = lines(&differing(before, after, deadline));
    if visibility == Visibility::Hidden {
        return ContentDiff::Secret { added, removed };
    }
    // Masked as a whole, since a secret can have several lines.
    let (before, after) = (mask(before), mask(after));
    if before.len().max(after.len()) > bounds.content.saturating_mul(4) {
        return ContentDiff::TooLong;
    }
    match unified(&differing(&before, &after, deadline), bounds.text) {
        Some(diff) => ContentDiff::Text { diff, added, removed },
        None => ContentDiff::TooLong,
    }
}

/// Returns content as text, if it is text: UTF-8 without zero bytes.
fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

fn differing<'a>(before: &'a str, after: &'a str, deadline: Instant) -> TextDiff<'a, 'a, str> {
    // `diff_lines` would end a line at a lone carriage return, too, and put the sign of the next one into its middle.
    let (before, after) = (split(before), split(after));
    TextDiff::configure().algorithm(Algorithm::Myers).deadline(deadline).diff_slices(&before, &after)
}

/// Returns the lines of a text, with their ends.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns the numbers of added and removed lines.
fn lines(diff: &TextDiff<'_, '_, str>) -> (u64, u64) {
    let (mut added, mut removed) = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    (added, removed)
}

/// Returns the unified format, or `None` if it is longer than `bound`.
fn unified(diff: &TextDiff<'_, '_, str>, bound: usize) -> Option<String> {
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        let _ = writeln!(text, "{}", hunk.header());
        for change in hunk.iter_changes() {
            let _ = write!(text, "{}{}", change.tag(), change.value());
            if !change.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
        if text.len() > bound {
            return None;
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(before: &[u8], after: &[u8], visibility: Visibility) -> ContentDiff {
        compare(before, after, visibility, DiffBounds::default(), |text| text.replace("hunter2", "********"))
    }

    #[test]
    fn a_carriage_return_ends_no_line() {
        let expected = ContentDiff::Text { diff: "@@ -1 +1 @@\n-a\n+safe\r-real\n".into(), added: 1, removed: 1 };
        assert_eq!(diff(b"a\n", b"safe\r-real\n", Visibility::Shown), expected);
        let expected = "@@ -1 +1 @@\n-a\r\n\\ No newline at end of file\n+b\r\n";
        let ContentDiff::Text { diff, .. } = diff(b"a\r", b"b\r\n", Visibility::Shown) else { panic!("no text") };
        assert_eq!(diff, expected);
    }

    #[test]
    fn lines_of_text_are_compared() {
        let expected = ContentDiff::Text { diff: "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n".into(), added: 2, removed: 1 };
        assert_eq!(diff(b"a\nb\n", b"a\nc\nd\n", Visibility::Shown), expected);
        assert_eq!(diff(b"a", b"a", Visibility::Shown), ContentDiff::Same);
        let without_end = diff(b"a\n", b"a", Visibility::Shown);
        assert!(
            matches!(&without_end, ContentDiff::Text { diff, .. } if diff.contains("No newline")),
            "{without_end:?}"
        );
    }

    #[test]
    fn secrets_are_masked_or_hidden() {
        let masked = diff(b"password: hunter2\n", b"password: other\n", Visibility::Shown);
        let expected = "@@ -1 +1 @@\n-password: ********\n+password: other\n";
        assert_eq!(masked, ContentDiff::Text { diff: expected.into(), added: 1, removed: 1 });
        assert_eq!(diff(b"a\n", b"b\nc\n", Visibility::Hidden), ContentDiff::Secret { added: 2, removed: 1 });
    }

    #[test]
    fn binary_and_long_content_is_told() {
        assert_eq!(diff(b"a\0", b"b", Visibility::Shown), ContentDiff::Binary);
        assert_eq!(diff(b"\xff", b"b", Visibility::Hidden), ContentDiff::Binary);
        assert_eq!(diff(&vec![b'a'; (1 << 20) + 1], b"", Visibility::Shown), ContentDiff::TooLong);
        let many: String = (0..20_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(diff(many.as_bytes(), b"", Visibility::Shown), ContentDiff::TooLong);
    }

    #[test]
    fn the_worst_input_ends_in_time() {
        let lines = |seed: u32| -> String {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 16
            };
            (0..200_000).map(|_| format!("{}\n", next() % 1000)).collect()
        };
        let (before, after) = (lines(1), lines(2));
        let begun = Instant::now();
        let found = diff(before.as_bytes(), after.as_bytes(), Visibility::Shown);
        assert_eq!(found, ContentDiff::TooLong);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    #[test]
    fn files_that_others_may_not_read_are_hidden() {
        assert_eq!(Visibility::of_modes([0o644, 0o644], false), Visibility::Shown);
        assert_eq!(Visibility::of_modes([0o644, 0o600], false), Visibility::Hidden);
        assert_eq!(Visibility::of_modes([0o600], true), Visibility::Shown);
    }
}
