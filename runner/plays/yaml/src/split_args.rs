//! Splits `a=1 b="two words" c={{ x }}` into its parts, as Ansible does.
//!
//! Words are separated by single spaces and newlines. A part goes on over them while a quote or a template block is
//! open, and keeps its quotes. A backslash in front of a newline joins two lines. More spaces than one stay at the end
//! of the part before them, so that joining the parts again gives the same text.

/// Returns the parts of a text; `None` if a quote or a template block is open at the end.
pub(crate) fn split_args(text: &str) -> Option<Vec<String>> {
    let mut splitter = Splitter::default();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let is_continued = splitter.line(line);
        if lines.peek().is_some() && !is_continued {
            splitter.append("\n");
        }
    }
    let is_open = splitter.is_in_block() || splitter.quote.is_some();
    (!is_open).then_some(splitter.parts)
}

/// The parts so far, and what is open.
#[derive(Debug, Default)]
struct Splitter {
    parts: Vec<String>,
    quote: Option<char>,
    /// How many blocks of each kind of [`BLOCKS`] are open.
    blocks: [usize; 3],
}

/// What opens and closes blocks of templates.
const BLOCKS: [(&str, &str); 3] = [("{{", "}}"), ("{%", "%}"), ("{#", "#}")];

impl Splitter {
    /// Takes the words of a line; returns whether it ends with a backslash that stands alone.
    fn line(&mut self, line: &str) -> bool {
        let mut is_continued = false;
        for (index, word) in line.split(' ').enumerate() {
            if word.is_empty() && index != 0 {
                self.append(" ");
            } else if word == "\\" && self.quote.is_none() {
                is_continued = true;
            } else {
                self.word(word, index == 0);
            }
        }
        is_continued
    }

    fn word(&mut self, word: &str, is_first: bool) {
        let (was_quoted, was_in_block) = (self.quote.is_some(), self.is_in_block());
        self.quote = quote_behind(word, self.quote);
        let is_quoted = self.quote.is_some();
        let begins_quote = is_quoted && !was_quoted && !was_in_block;
        let goes_on = !begins_quote && (was_in_block || is_quoted || was_quoted);
        if begins_quote {
            self.parts.push(word.to_owned());
        } else if goes_on {
            if !is_first {
                self.append(" ");
            }
            self.append(word);
        }
        let is_block_edge = self.count_blocks(word);
        let stands_alone = is_block_edge || (!self.is_in_block() && !is_quoted && !word.is_empty());
        if !begins_quote && !goes_on && stands_alone {
            self.parts.push(word.to_owned());
        }
    }

    /// Counts the blocks that a word opens and closes; returns whether a number of open blocks has changed.
    fn count_blocks(&mut self, word: &str) -> bool {
        let before = self.blocks;
        for (open, (begin, end)) in self.blocks.iter_mut().zip(BLOCKS) {
            *open = (*open + word.matches(begin).count()).saturating_sub(word.matches(end).count());
        }
        self.blocks != before
    }

    fn is_in_block(&self) -> bool {
        self.blocks.iter().any(|open| *open > 0)
    }

    /// Appends to the last part.
    fn append(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(last) => last.push_str(text),
            None => self.parts.push(text.to_owned()),
        }
    }
}

/// Returns the quote that is open behind a word. A backslash before a quote makes it a common character.
fn quote_behind(word: &str, mut quote: Option<char>) -> Option<char> {
    let mut previous = None;
    for character in word.chars() {
        if matches!(character, '"' | '\'') && previous != Some('\\') {
            quote = match quote {
                Some(open) if open == character => None,
                Some(open) => Some(open),
                None => Some(character),
            };
        }
        previous = Some(character);
    }
    quote
}

/// Joins parts again: with a space, except behind a newline.
pub(crate) fn join_args(parts: &[String]) -> String {
    let mut joined = String::new();
    for part in parts {
        if !joined.is_empty() && !joined.ends_with('\n') {
            joined.push(' ');
        }
        joined.push_str(part);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: Option<&[&str]>) {
        let parts = split_args(text);
        assert_eq!(parts.as_ref().map(|parts| parts.iter().map(String::as_str).collect::<Vec<_>>()).as_deref(), wanted);
    }

    #[test]
    fn quotes_and_blocks_keep_a_part_together() {
        check("", Some(&[]));
        check("a=1 b=2", Some(&["a=1", "b=2"]));
        check("a=\"b c\" d", Some(&["a=\"b c\"", "d"]));
        check("a={{ b }} c", Some(&["a={{ b }}", "c"]));
        check("{{ a }} b", Some(&["{{ a }}", "b"]));
        check("a={{ 'b  c' }}", Some(&["a={{ 'b  c' }}"]));
        check("{% if a %} b {% endif %}", Some(&["{% if a %}", "b", "{% endif %}"]));
        check("a  b", Some(&["a ", "b"]));
        check("a\nb", Some(&["a\n", "b"]));
        check("a \\\nb", Some(&["a", "b"]));
        check(" a", Some(&["a"]));
        check("  a", Some(&[" ", "a"]));
        check("a=\"b\nc\"", Some(&["a=\"b\nc\""]));
        check("a='b", None);
        check("a={{ b", None);
        check("a=\\\"b", Some(&["a=\\\"b"]));
    }

    #[test]
    fn joining_gives_the_text_again() {
        for text in ["a  b", "a\nb c", "echo 'x  y'\n\nz", "{{ a }} b"] {
            assert_eq!(join_args(&split_args(text).unwrap()), text);
        }
    }
}
