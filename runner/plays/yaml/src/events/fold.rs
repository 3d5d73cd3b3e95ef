//! Folding: a line break in a plain or quoted scalar is a space, and further ones are line breaks.

/// The text of a scalar, and white space that is dropped if nothing follows.
#[derive(Debug, Default)]
pub(super) struct Fold {
    text: String,
    spaces: String,
    first_break: Option<char>,
    more_breaks: String,
    is_broken: bool,
}

impl Fold {
    /// Says whether the line was broken since the last character.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Adds a character, after the white space before it.
    pub(super) fn push(&mut self, character: char) {
        if self.is_broken || !self.spaces.is_empty() {
            self.flush();
        }
        self.text.push(character);
    }

    /// Adds a space or a tab. At the start of a line it is indentation.
    pub(super) fn blank(&mut self, blank: char) {
        if !self.is_broken {
            self.spaces.push(blank);
        }
    }

    /// Adds a line break, which drops the spaces before it.
    pub(super) fn line_break(&mut self, line_break: char) {
        if self.is_broken {
            self.more_breaks.push(line_break);
        } else {
            self.spaces.clear();
            self.first_break = Some(line_break);
            self.is_broken = true;
        }
    }

    /// Adds a line break behind a backslash: it counts as nothing.
    pub(super) fn escaped_break(&mut self) {
        self.flush();
        self.is_broken = true;
    }

    /// Adds the white space for good.
    pub(super) fn flush(&mut self) {
        if self.is_broken {
            match self.first_break.take() {
                Some('\n') if self.more_breaks.is_empty() => self.text.push(' '),
                Some('\n') | None => {}
                Some(other) => self.text.push(other),
            }
            self.text.push_str(&self.more_breaks);
            self.more_breaks.clear();
            self.is_broken = false;
        } else {
            self.text.push_str(&self.spaces);
        }
        self.spaces.clear();
    }

    /// Returns the text without white space that was not flushed.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}
