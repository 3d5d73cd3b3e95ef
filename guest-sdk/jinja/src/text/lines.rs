//! `str.splitlines`, and wrapping of text as `textwrap.wrap` does.

/// `str.splitlines`, which knows ten kinds of line ends.
pub(crate) fn split_lines(text: &str, keep_ends: bool) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_end =
            matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        if !is_end {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
            end += 1;
        }
        out.push(&text[start..if keep_ends { end } else { at }]);
        start = end;
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// Options of [`wrap`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wrapping {
    pub(crate) width: usize,
    pub(crate) break_long_words: bool,
    pub(crate) break_on_hyphens: bool,
}

const BLANKS: &[char] = &['\t', '\n', '\u{b}', '\u{c}', '\r', ' '];

/// `textwrap.wrap` with `expand_tabs` and `replace_whitespace` off.
pub(crate) fn wrap(text: &str, options: Wrapping) -> Vec<String> {
    let mut chunks: Vec<String> = chunks(text, options.break_on_hyphens);
    chunks.reverse();
    let mut lines: Vec<String> = Vec::new();
    while !chunks.is_empty() {
        if !lines.is_empty() && chunks.last().is_some_and(|chunk| is_blank(chunk)) {
            chunks.pop();
        }
        let line = take_line(&mut chunks, options);
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

fn is_blank(chunk: &str) -> bool {
    chunk.chars().all(crate::values::is_python_space)
}

/// Takes the chunks of one line from the end of a list.
fn take_line(chunks: &mut Vec<String>, options: Wrapping) -> String {
    let (mut line, mut length) = (Vec::new(), 0);
    while let Some(chunk) = chunks.last() {
        let size = chunk.chars().count();
        if length + size > options.width {
            break;
        }
        length += size;
        line.extend(chunks.pop());
    }
    if chunks.last().is_some_and(|chunk| chunk.chars().count() > options.width) {
        take_long_word(chunks, &mut line, length, options);
    }
    if line.last().is_some_and(|chunk: &String| is_blank(chunk)) {
        line.pop();
    }
    line.concat()
}

fn take_long_word(chunks: &mut Vec<String>, line: &mut Vec<String>, length: usize, options: Wrapping) {
    let space = if options.width < 1 { 1 } else { options.width.saturating_sub(length) };
    if !options.break_long_words {
        if line.is_empty() {
            line.extend(chunks.pop());
        }
        return;
    }
    let Some(chunk) = chunks.last_mut() else { return };
    let head: String = chunk.chars().take(space).collect();
    let mut end = head.len();
    if options.break_on_hyphens
        && chunk.chars().count() > space
        && let Some(hyphen) = head.rfind('-').filter(|at| *at > 0 && head[..*at].contains(|c| c != '-'))
    {
        end = hyphen + 1;
    }
    let rest = chunk.split_off(end);
    line.push(std::mem::replace(chunk, rest));
}

/// Splits a text into words and blanks, and words at their hyphens.
fn chunks(text: &str, break_on_hyphens: bool) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let blank = BLANKS.contains(&first);
        let end = rest.find(|c| BLANKS.contains(&c) != blank).unwrap_or(rest.len());
        let chunk = &rest[..end];
        if blank || !break_on_hyphens {
            out.push(chunk.to_owned());
        } else {
            split_hyphens(chunk, &mut out);
        }
        rest = &rest[end..];
    }
    out
}

/// Splits a word after each hyphen between letters, and before and after dashes between words.
fn split_hyphens(word: &str, out: &mut Vec<String>) {
    let chars: Vec<char> = word.chars().collect();
    let letter = |at: usize| chars.get(at).is_some_and(|c| c.is_alphabetic() || *c == '_');
    let word_or_mark = |at: usize| chars.get(at).is_some_and(|c| c.is_alphanumeric() || "_!\"'&.,?".contains(*c));
    let (mut start, mut at) = (0, 0);
    while at < chars.len() {
        if chars[at] != '-' {
            at += 1;
            continue;
        }
        let run = chars[at..].iter().take_while(|c| **c == '-').count();
        if run >= 2
            && at > start
            && word_or_mark(at - 1)
            && chars.get(at + run).is_some_and(|c| c.is_alphanumeric() || *c == '_')
        {
            out.push(chars[start..at].iter().collect());
            out.push(chars[at..at + run].iter().collect());
            (start, at) = (at + run, at + run);
        } else if run == 1
            && at >= start + 2
            && letter(at - 1)
            && (letter(at - 2) || (chars[at - 2] == '-' && at >= start + 3))
            && letter(at + 1)
            && (letter(at + 2) || chars.get(at + 2) == Some(&'-'))
        {
            out.push(chars[start..=at].iter().collect());
            (start, at) = (at + 1, at + 1);
        } else {
            at += run;
        }
    }
    if start < chars.len() {
        out.push(chars[start..].iter().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_lines() {
        assert_eq!(split_lines("a\r\nb\n\nc\u{2028}", false), ["a", "b", "", "c"]);
        assert_eq!(split_lines("a\r\nb", true), ["a\r\n", "b"]);
        assert_eq!(split_lines("", false), Vec::<&str>::new());
    }

    #[test]
    fn wraps_as_python_does() {
        let options = Wrapping { width: 10, break_long_words: true, break_on_hyphens: true };
        assert_eq!(wrap("the quick brown fox", options), ["the quick", "brown fox"]);
        assert_eq!(wrap("abcdefghijklmno p", options), ["abcdefghij", "klmno p"]);
        assert_eq!(wrap("well-known long-winded", options), ["well-known", "long-", "winded"]);
        let whole = Wrapping { break_long_words: false, ..options };
        assert_eq!(wrap("abcdefghijklmno p", whole), ["abcdefghijklmno", "p"]);
    }
}
