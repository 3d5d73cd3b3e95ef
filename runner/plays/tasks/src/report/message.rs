//! Messages of errors and warnings: what went wrong, where it is written, what caused it, and what helps.

use std::fmt::Write as _;

use modbox_yaml::Position;

use crate::files::PlayFiles;

/// An error or a warning, with its causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What went wrong.
    pub text: String,
    /// What helps.
    pub help: Option<String>,
    /// Where it is written.
    pub excerpt: Option<Excerpt>,
    /// What caused it.
    pub cause: Option<Box<Message>>,
    /// Whether it says that a task failed.
    pub is_of_task: bool,
}

/// A place in a file, with the lines before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The place.
    pub position: Position,
    /// The line, after at most two lines before it. Empty if the file cannot be read.
    pub lines: Vec<String>,
    /// Whether the lines are left out since they may have a secret.
    pub is_withheld: bool,
}

/// How many lines an excerpt has.
const LINES: usize = 3;

/// How many characters a line of an excerpt has, with its number.
const WIDTH: usize = 120;

impl Message {
    /// Returns the file, line and column that the message is about, if they are known.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        self.excerpt.as_ref().map(|excerpt| excerpt.position.to_string())
    }

    /// Returns a message without a place.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), help: None, excerpt: None, cause: None, is_of_task: false }
    }

    /// Returns the message with a place.
    #[must_use]
    pub fn at(mut self, excerpt: Option<Excerpt>) -> Self {
        self.excerpt = excerpt;
        self
    }

    /// Returns the message with what helps.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns a message that this one caused. If the lines of this one are withheld, so are those of the other.
    #[must_use]
    pub fn causing(self, text: impl Into<String>, excerpt: Option<Excerpt>) -> Self {
        let is_withheld = self.excerpt.as_ref().is_some_and(|excerpt| excerpt.is_withheld);
        let excerpt = if is_withheld { excerpt.map(Excerpt::withheld) } else { excerpt };
        Self { text: text.into(), help: None, excerpt, cause: Some(Box::new(self)), is_of_task: false }
    }

    /// Returns the message of the task that this one made fail. One that is of the task already stays as it is.
    #[must_use]
    pub fn failing_task(self, excerpt: Option<Excerpt>) -> Self {
        match self.is_of_task {
            true => self,
            false => Self { is_of_task: true, ..self.causing("Task failed.", excerpt) },
        }
    }

    /// Adds what Ansible says about a file that the controller lacks.
    #[must_use]
    pub fn about_missing_file(self) -> Self {
        self.with_help(
            "If you are using a module and expect the file to exist on the remote, see the remote_src option.",
        )
    }

    /// Returns the texts of the message and its causes as one.
    #[must_use]
    pub fn brief(&self) -> String {
        let mut texts: Vec<&str> = vec![&self.text];
        let mut message = self;
        while let Some(cause) = &message.cause {
            texts.push(&cause.text);
            message = cause;
        }
        join(&texts)
    }

    /// Returns everything that the message says, as Ansible writes it below `[ERROR]:`.
    #[must_use]
    pub fn verbose(&self) -> String {
        let mut segments = Vec::new();
        let mut message = self;
        loop {
            let mut texts: Vec<&str> = vec![&message.text];
            let mut cause = message.cause.as_deref();
            while let Some(inner) = cause {
                if message.hides(inner) {
                    break;
                }
                texts.push(&inner.text);
                cause = inner.cause.as_deref();
            }
            segments.push(format!("{}\n", message.paragraph(&join(&texts))));
            match cause {
                None => break,
                Some(inner) => {
                    segments.push("\n<<< caused by >>>\n\n".to_owned());
                    message = inner;
                }
            }
        }
        if segments.len() > 1 {
            segments.insert(0, format!("{}\n\n", self.brief()));
        }
        let text = segments.concat();
        let text = text.trim();
        if text.contains('\n') { format!("{text}\n\n") } else { format!("{text}\n") }
    }

    /// Says whether a cause has a place or help of its own that this message would hide.
    fn hides(&self, cause: &Self) -> bool {
        (cause.excerpt.is_some() || cause.help.is_some()) && (cause.excerpt != self.excerpt || cause.help != self.help)
    }

    fn paragraph(&self, text: &str) -> String {
        match (&self.excerpt, &self.help) {
            (None, Some(help)) if !text.contains('\n') && !help.contains('\n') => format!("{text} {help}"),
            (excerpt, help) => {
                let mut lines = text.to_owned();
                if let Some(excerpt) = excerpt {
                    let _ = write!(lines, "\n{}", excerpt.text());
                }
                if let Some(help) = help {
                    let _ = write!(lines, "\n\n{help}");
                }
                lines
            }
        }
    }
}

/// Joins a message with the messages of its causes. A message that ends with its cause stands for both.
fn join(texts: &[&str]) -> String {
    let mut texts = texts.iter().rev();
    let mut joined = texts.next().map_or_else(String::new, |text| (*text).to_owned());
    for text in texts {
        if text.ends_with(&joined) {
            (*text).clone_into(&mut joined);
        } else {
            joined = format!("{}: {joined}", text.trim_end_matches(['.', ' ']));
        }
    }
    joined
}

impl Excerpt {
    /// Returns the lines around a position of a text.
    #[must_use]
    pub fn of_text(position: &Position, text: &str) -> Self {
        let last = usize::try_from(position.line).unwrap_or(usize::MAX);
        let skipped = last.saturating_sub(LINES);
        let lines: Vec<String> = text.lines().skip(skipped).take(last - skipped).map(str::to_owned).collect();
        let complete = lines.len() == last - skipped;
        Self { lines: if complete { lines } else { Vec::new() }, ..Self::without_lines(position) }
    }

    /// Returns the lines around a position of a file of the play; `None` for what is in no file.
    #[must_use]
    pub fn in_file(position: &Position, files: &dyn PlayFiles) -> Option<Self> {
        if !position.file.starts_with('/') {
            return None;
        }
        if files.is_encrypted(&position.file) {
            return Some(Self::without_lines(position));
        }
        let text = files.text(&position.file);
        Some(text.map_or_else(|_| Self::without_lines(position), |text| Self::of_text(position, &text)))
    }

    /// Returns an excerpt without lines.
    #[must_use]
    pub fn without_lines(position: &Position) -> Self {
        Self { position: position.clone(), lines: Vec::new(), is_withheld: false }
    }

    /// Returns the excerpt without its lines, which may have a secret.
    #[must_use]
    pub fn withheld(self) -> Self {
        Self { lines: Vec::new(), is_withheld: true, ..self }
    }

    /// Writes the place, and the lines with a mark below the column.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("Origin: {}", self.position);
        if self.is_withheld {
            return text + "\n\n(source not shown: content redacted)";
        }
        if self.lines.is_empty() {
            return text;
        }
        text.push('\n');
        let last = usize::try_from(self.position.line).unwrap_or(usize::MAX);
        let digits = last.to_string().len();
        let room = WIDTH - digits - 1;
        for (number, line) in (last + 1 - self.lines.len()..).zip(&self.lines) {
            let mut line = line.replace('\t', " ");
            if line.chars().count() > room {
                line = line.chars().take(room - 3).chain("...".chars()).collect();
            }
            let space = if line.is_empty() { "" } else { " " };
            let _ = write!(text, "\n{number:>digits$}{space}{line}");
        }
        let column = usize::try_from(self.position.column).unwrap_or(usize::MAX);
        if (1..=room).contains(&column) {
            let _ = write!(text, "\n{} {}", " ".repeat(digits), mark(column, room));
        }
        text
    }
}

/// Returns the mark below a column, with the column's number where there is room.
fn mark(column: usize, room: usize) -> String {
    let label = format!("column {column}");
    if column + 1 + label.len() > room {
        format!("{}{label} ^", " ".repeat((column - 1).saturating_sub(label.len() + 1)))
    } else {
        format!("{}^ {label}", " ".repeat(column - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(line: u32, column: u32) -> Position {
        Position { file: "/p.yml".into(), line, column }
    }

    #[test]
    fn a_message_that_ends_with_its_cause_stands_for_both() {
        let check = |texts: &[&str], expect: &str| assert_eq!(join(texts), expect);
        check(&["Task failed.", "'x' is undefined"], "Task failed: 'x' is undefined");
        check(&["Task failed: no", "no"], "Task failed: no");
        check(&["alone."], "alone.");
    }

    #[test]
    fn a_task_fails_once_whatever_the_cause_says() {
        let failed = Message::new("Task failed.").failing_task(None);
        assert_eq!(failed.cause.as_deref(), Some(&Message::new("Task failed.")));
        assert_eq!(failed.clone().failing_task(None), failed);
    }

    #[test]
    fn the_long_form_shows_each_place_once() {
        let text = "a\nb\nc\nd: e\n";
        let inner = Message::new("'x' is undefined").at(Some(Excerpt::of_text(&position(4, 4), text)));
        let outer = inner.failing_task(Some(Excerpt::of_text(&position(4, 1), text)));
        let expect = "Task failed: 'x' is undefined\n\nTask failed.\nOrigin: /p.yml:4:1\n\n2 b\n3 c\n4 d: e\n  ^ column 1\n\n\
                      <<< caused by >>>\n\n'x' is undefined\nOrigin: /p.yml:4:4\n\n2 b\n3 c\n4 d: e\n     ^ column 4\n\n";
        assert_eq!(outer.verbose(), expect);
    }

    #[test]
    fn a_cause_without_a_place_of_its_own_is_joined() {
        let outer = Message::new("bad")
            .causing("Action failed.", None)
            .failing_task(Some(Excerpt::of_text(&position(1, 3), "- fail:\n")));
        assert_eq!(
            outer.verbose(),
            "Task failed: Action failed: bad\nOrigin: /p.yml:1:3\n\n1 - fail:\n    ^ column 3\n\n"
        );
    }
}
