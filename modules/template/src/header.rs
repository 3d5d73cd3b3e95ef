//! The syntax of a template: the options, and the `#jinja2:` line that may be first.

use minijinja::syntax::SyntaxConfig;
use modbox_sdk::Failure;

/// The syntax of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Syntax {
    pub(crate) block: (String, String),
    pub(crate) variable: (String, String),
    pub(crate) comment: (String, String),
    pub(crate) trim_blocks: bool,
    pub(crate) lstrip_blocks: bool,
    /// The line end in the rendered text.
    pub(crate) newline: String,
}

const HEADER: &str = "#jinja2:";

impl Syntax {
    /// Removes the first line of a template if it changes the syntax.
    ///
    /// # Errors
    ///
    /// An entry is not `key: value`, or a key is unknown.
    pub(crate) fn with_header(mut self, template: &str) -> Result<(Self, &str), Failure> {
        let Some(behind) = template.strip_prefix(HEADER) else { return Ok((self, template)) };
        let (line, rest) = behind.split_once('\n').unwrap_or((behind, ""));
        for entry in line.split(',') {
            let bad = || Failure::new(format!("failed to parse jinja2 override '{}'", entry.trim()));
            let (key, value) = entry.split_once(':').ok_or_else(bad)?;
            let value = literal(value.trim());
            let truth = match value.as_str() {
                "True" => Some(true),
                "False" => Some(false),
                _ => None,
            };
            match key.trim() {
                "block_start_string" => self.block.0 = value,
                "block_end_string" => self.block.1 = value,
                "variable_start_string" => self.variable.0 = value,
                "variable_end_string" => self.variable.1 = value,
                "comment_start_string" => self.comment.0 = value,
                "comment_end_string" => self.comment.1 = value,
                "newline_sequence" => self.newline = value,
                "trim_blocks" => self.trim_blocks = truth.ok_or_else(bad)?,
                "lstrip_blocks" => self.lstrip_blocks = truth.ok_or_else(bad)?,
                _ => return Err(bad()),
            }
        }
        Ok((self, rest))
    }

    /// Returns the syntax for the engine.
    ///
    /// # Errors
    ///
    /// Delimiters cannot be distinguished.
    pub(crate) fn config(&self) -> Result<SyntaxConfig, Failure> {
        SyntaxConfig::builder()
            .block_delimiters(self.block.0.clone(), self.block.1.clone())
            .variable_delimiters(self.variable.0.clone(), self.variable.1.clone())
            .comment_delimiters(self.comment.0.clone(), self.comment.1.clone())
            .trim_blocks(self.trim_blocks)
            .lstrip_blocks(self.lstrip_blocks)
            .keep_trailing_newline(false)
            .build()
            .map_err(|error| Failure::new(format!("the template's delimiters are invalid: {error}")))
    }
}

/// Returns a text without its quotes, with the escapes of line ends replaced.
fn literal(text: &str) -> String {
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('\'').or_else(|| quoted('"')).unwrap_or(text).replace("\\n", "\n").replace("\\r", "\r")
}
