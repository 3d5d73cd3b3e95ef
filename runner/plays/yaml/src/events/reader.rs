//! A cursor over the text.

use super::mark::Mark;

/// The rest of a text, and the place where it begins.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a str,
    mark: Mark,
}

impl<'a> Reader<'a> {
    /// Starts at the beginning, behind a byte order mark.
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.strip_prefix('\u{feff}').unwrap_or(text), mark: Mark::default() }
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// Returns the next character.
    pub(super) fn peek(&self) -> Option<char> {
        match self.rest.as_bytes().first()? {
            byte if byte.is_ascii() => Some((*byte).into()),
            _ => self.rest.chars().next(),
        }
    }

    /// Returns the character behind so many ASCII characters.
    pub(super) fn peek_behind(&self, ascii: usize) -> Option<char> {
        self.rest.get(ascii..)?.chars().next()
    }

    /// Says whether this is the next character.
    pub(super) fn is(&self, character: char) -> bool {
        self.peek() == Some(character)
    }

    /// Says whether the next character is one of these.
    pub(super) fn is_one_of(&self, characters: &str) -> bool {
        self.peek().is_some_and(|next| characters.contains(next))
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn is_blank(&self) -> bool {
        is_blank(self.peek())
    }

    pub(super) fn is_break(&self) -> bool {
        is_break(self.peek())
    }

    pub(super) fn is_break_or_end(&self) -> bool {
        self.is_at_end() || self.is_break()
    }

    /// Says whether white space, or the end, is next.
    pub(super) fn is_space_or_end(&self) -> bool {
        is_space_or_end(self.peek())
    }

    /// Says whether white space, or the end, is behind so many ASCII characters.
    pub(super) fn is_space_or_end_behind(&self, ascii: usize) -> bool {
        is_space_or_end(self.peek_behind(ascii))
    }

    /// Says whether `---` or `...` stands here as a line's first word.
    pub(super) fn is_document_indicator(&self) -> bool {
        self.mark.column == 0
            && (self.rest.starts_with("---") || self.rest.starts_with("..."))
            && self.is_space_or_end_behind(3)
    }

    /// Takes a character that is not a line break.
    pub(super) fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        self.mark.index += 1;
        self.mark.column += 1;
        Some(next)
    }

    /// Takes characters that are not line breaks.
    pub(super) fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.take();
        }
    }

    /// Takes a line break if one is next; returns what it counts as in a scalar.
    pub(super) fn take_break(&mut self) -> Option<char> {
        let next = self.peek().filter(|next| is_break(Some(*next)))?;
        let width = if self.rest.starts_with("\r\n") { 2 } else { next.len_utf8() };
        self.mark.index += self.rest[..width].chars().count();
        self.mark.line += 1;
        self.mark.column = 0;
        self.rest = &self.rest[width..];
        Some(if matches!(next, '\u{2028}' | '\u{2029}') { next } else { '\n' })
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank() {
            self.take();
        }
    }

    /// Skips a comment, if one is next.
    pub(super) fn skip_comment(&mut self) {
        if self.is('#') {
            while !self.is_break_or_end() {
                self.take();
            }
        }
    }

    /// Takes letters, digits, `_` and `-`.
    pub(super) fn take_word(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.peek().filter(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '-')) {
            word.push(next);
            self.take();
        }
        word
    }
}

fn is_blank(next: Option<char>) -> bool {
    matches!(next, Some(' ' | '\t'))
}

fn is_break(next: Option<char>) -> bool {
    matches!(next, Some('\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}'))
}

fn is_space_or_end(next: Option<char>) -> bool {
    next.is_none() || is_blank(next) || is_break(next)
}
