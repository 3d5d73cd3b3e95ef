//! Options of the syntax of a template file.

/// Delimiters and the treatment of white space. The defaults are Ansible's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateOptions {
    /// `{%`
    pub block_start: String,
    /// `%}`
    pub block_end: String,
    /// `{{`
    pub variable_start: String,
    /// `}}`
    pub variable_end: String,
    /// `{#`
    pub comment_start: String,
    /// `#}`
    pub comment_end: String,
    /// What makes a whole line a statement.
    pub line_statement_prefix: Option<String>,
    /// What makes the rest of a line a comment.
    pub line_comment_prefix: Option<String>,
    /// Whether the line end after a block is removed.
    pub trim_blocks: bool,
    /// Whether blanks before a block are removed.
    pub lstrip_blocks: bool,
    /// Whether the last line end of the file is kept.
    pub keep_trailing_newline: bool,
    /// What line ends of the text are written as: `\n`, `\r\n` or `\r`.
    pub newline_sequence: &'static str,
    /// Whether backslashes in string literals between `{{` and `}}` are escapes, as in a file of its own, or stay as they
    /// are, as in a play, where YAML has its own escapes.
    pub process_escapes: bool,
}

impl Default for TemplateOptions {
    fn default() -> Self {
        Self {
            block_start: "{%".to_owned(),
            block_end: "%}".to_owned(),
            variable_start: "{{".to_owned(),
            variable_end: "}}".to_owned(),
            comment_start: "{#".to_owned(),
            comment_end: "#}".to_owned(),
            line_statement_prefix: None,
            line_comment_prefix: None,
            trim_blocks: true,
            lstrip_blocks: false,
            keep_trailing_newline: false,
            newline_sequence: "\n",
            process_escapes: false,
        }
    }
}
