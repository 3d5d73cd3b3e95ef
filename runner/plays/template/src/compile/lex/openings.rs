//! Where tags and comments begin in the text around them.
//!
//! Jinja looks with one regular expression: the first place at which anything begins, and there the longest delimiter.
//! Here each delimiter remembers the next place at which it is, so that a text is searched once for each.

use super::blanks::is_blank;
use crate::options::TemplateOptions;

/// What begins. Of delimiters of the same length at the same place, the last one here counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Opening {
    Block,
    Comment,
    LineComment,
    LineStatement,
    Variable,
}

/// A place at which something begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) opening: Opening,
    /// The first byte, which may be a blank before the prefix of a line.
    pub(super) at: usize,
    /// The byte after the delimiter.
    pub(super) end: usize,
}

/// The delimiters of a text.
#[derive(Debug)]
pub(super) struct Openings<'t>(Vec<Delimiter<'t>>);

#[derive(Debug)]
struct Delimiter<'t> {
    opening: Opening,
    written: &'t str,
    /// The next place, once it was looked for.
    next: Option<Option<(usize, usize)>>,
}

impl<'t> Openings<'t> {
    pub(super) fn new(options: &'t TemplateOptions) -> Self {
        let delimiter = |opening, written| Delimiter { opening, written, next: None };
        let mut all = vec![
            delimiter(Opening::Block, options.block_start.as_str()),
            delimiter(Opening::Variable, &options.variable_start),
            delimiter(Opening::Comment, &options.comment_start),
        ];
        let statement = options.line_statement_prefix.as_deref();
        all.extend(statement.map(|prefix| delimiter(Opening::LineStatement, prefix)));
        let comment = options.line_comment_prefix.as_deref();
        all.extend(comment.map(|prefix| delimiter(Opening::LineComment, prefix)));
        all.sort_by_key(|delimiter| std::cmp::Reverse((delimiter.written.len(), delimiter.opening)));
        Self(all)
    }

    /// Returns the first byte from one on at which anything begins, and what begins there, the longest first.
    pub(super) fn next(&mut self, text: &str, from: usize) -> Option<Vec<Place>> {
        let mut found: Vec<Place> = Vec::new();
        for delimiter in &mut self.0 {
            let Some((at, end)) = delimiter.find(text, from) else { continue };
            let first = found.first().map_or(usize::MAX, |place| place.at);
            if at < first {
                found.clear();
            }
            if at <= first {
                found.push(Place { opening: delimiter.opening, at, end });
            }
        }
        (!found.is_empty()).then_some(found)
    }
}

impl Delimiter<'_> {
    fn find(&mut self, text: &str, from: usize) -> Option<(usize, usize)> {
        match self.next {
            Some(None) => return None,
            Some(Some((at, end))) if at >= from => return Some((at, end)),
            _ => {}
        }
        let found = match self.opening {
            Opening::LineStatement => line_statement(text, self.written, from),
            Opening::LineComment => line_comment(text, self.written, from),
            _ => text[from..].find(self.written).map(|at| (from + at, from + at + self.written.len())),
        };
        self.next = Some(found);
        found
    }
}

/// Finds a line that begins with a prefix, after blanks.
fn line_statement(text: &str, prefix: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    if !is_line_start(text, at) {
        at += text[at..].find('\n')? + 1;
    }
    loop {
        let rest = text[at..].trim_start_matches([' ', '\t', '\u{b}']);
        if rest.starts_with(prefix) {
            return Some((at, text.len() - rest.len() + prefix.len()));
        }
        at += text[at..].find('\n')? + 1;
    }
}

/// Finds a prefix at the start of a line or after a character that is not a blank, with the blanks before it.
fn line_comment(text: &str, prefix: &str, from: usize) -> Option<(usize, usize)> {
    let mut start = from;
    loop {
        let found = start + text[start..].find(prefix)?;
        let at = from + text[from..found].trim_end_matches(|c| is_blank(c) && c != '\n').len();
        let is_after_text = text[..at].chars().next_back().is_some_and(|before| !is_blank(before));
        if is_after_text || is_line_start(text, at) {
            return Some((at, found + prefix.len()));
        }
        start = found + prefix.len();
    }
}

fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, from: usize, expect: Option<(Opening, usize, usize)>) {
        let options = TemplateOptions {
            line_statement_prefix: Some("%".to_owned()),
            line_comment_prefix: Some("##".to_owned()),
            ..TemplateOptions::default()
        };
        let found = Openings::new(&options).next(text, from);
        let first = found.and_then(|places| places.first().copied());
        assert_eq!(first.map(|place| (place.opening, place.at, place.end)), expect, "{text:?}");
    }

    #[test]
    fn the_first_place_counts_and_there_the_longest_delimiter() {
        check("a {{ b }} {% c %}", 0, Some((Opening::Variable, 2, 4)));
        check("a {{ b }} {% c %}", 3, Some((Opening::Block, 10, 12)));
        check("{ % } plain", 0, None);
        check("a\n  % for", 0, Some((Opening::LineStatement, 2, 5)));
        check("a % b", 0, None);
        check("a   ## b", 0, Some((Opening::LineComment, 1, 6)));
        check("  ## b", 0, Some((Opening::LineComment, 0, 4)));
        check("a  ## b", 2, None);
    }
}
