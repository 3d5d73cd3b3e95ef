//! Errors of reading plays: what is wrong, and where.
//!
//! A file can have several. Reading goes on after one where that makes sense, so that all errors of a file are reported
//! at once. Errors of a task that runs are results, in `run`.

use std::fmt;

use modbox_template::{Finding, TemplateError};
use modbox_yaml::{Position, YamlError};

use crate::files::FileError;
use crate::keywords::{Kind, Place};
use crate::python_plugins::PythonPlugin;

/// Something in a play that modbox cannot or may not run.
#[derive(Debug, thiserror::Error)]
#[error("{position}: {problem}")]
pub struct LoadError {
    /// Where it is written.
    pub position: Position,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// What helps with the name of a module, where nothing else is known.
const CHECK_NAME: &str = "; check its spelling, install its collection, or name a folder with modules";

/// What is wrong with a play.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages document the fields")]
pub enum Problem {
    #[error("unknown keyword `{key}` of a {place}{}", nearest.map_or_else(String::new, |word| format!("; did you mean `{word}`?")))]
    UnknownKeyword { key: String, place: Place, nearest: Option<&'static str> },
    #[error("unknown module or keyword `{key}`, since the task has the action `{action}` already{}", nearest.map_or_else(String::new, |word| format!("; did you mean `{word}`?")))]
    TwoActions { action: String, key: String, nearest: Option<&'static str> },
    #[error("the task names no module; write a module's name as a key, such as `command: uptime`")]
    NoAction,
    #[error("failed to find the action or module `{name}`{}", reason.as_ref().map_or_else(|| CHECK_NAME.to_owned(), |reason| format!(": {reason}")))]
    UnknownAction { name: String, collections: Vec<String>, reason: Option<String> },
    #[error(
        "`{name}` is done by a plugin in Python (`{file}`), which Ansible runs unconfined in its controller; modbox runs \
         modules alone, so write it as a module in `library`, or leave this task to ansible-playbook"
    )]
    PythonAction { name: String, file: String },
    #[error("`{keyword}` is not supported: {reason}")]
    Refused { keyword: String, reason: String },
    #[error("failed to read `{what}`: expected {expected}, found {found}")]
    WrongType { what: String, expected: String, found: &'static str },
    #[error("failed to read `{keyword}`: expected a {expected}, found `{found}`")]
    WrongValue { keyword: String, expected: Kind, found: String },
    #[error("`{keyword}` needs a value")]
    Missing { keyword: String },
    #[error("No file specified for {action}; name one with `file`")]
    NoFile { action: String },
    #[error("Expected a string for {option} but got a {found}; write the name of one file")]
    NotAFile { option: &'static str, found: &'static str },
    #[error("Invalid variable name {}; use letters, digits and underscores, not starting with a digit", modbox_python_json::str_repr(.name))]
    VariableName { name: String },
    #[error("`{keyword}` cannot be used with `{other}`; {remedy}")]
    Conflict { keyword: String, other: String, remedy: &'static str },
    #[error("Invalid options for {action}: {option}; expected one of: {expected}")]
    UnknownOption { action: String, option: String, expected: String },
    #[error("failed to find {kind} `{name}`; looked at: {}", searched.join(", "))]
    NotFound { kind: &'static str, name: String, searched: Vec<String> },
    #[error("{0}")]
    File(#[source] FileError),
    // The position is that of the load error.
    #[error("failed to read the file: {}", .0.explanation())]
    Yaml(#[source] YamlError),
    #[error("the file is encrypted with Ansible Vault; give its password by `--vault-password-file`")]
    Encrypted,
    #[error("failed to decrypt the value: {0}")]
    Vault(String),
    #[error("failed to evaluate the text: {}", .0.message())]
    Template(#[source] TemplateError),
    #[error("{}", text_problem(.finding, .plugin.as_deref()))]
    Text { finding: Box<Finding>, plugin: Option<Box<PythonPlugin>> },
    #[error("{kind} include each other more than {limit} levels deep; look for one that includes itself")]
    TooDeep { kind: &'static str, limit: usize },
    #[error("{0}")]
    Other(String),
}

/// The message for a mistake in the YAML of an encrypted file. It shows no part of the text.
pub const HIDDEN_MISTAKE: &str =
    "the decrypted text has a mistake in its YAML, which is not shown; find it with `ansible-vault edit`";

/// All errors of reading plays, in the order in which they were found.
#[derive(Debug, Default, thiserror::Error)]
pub struct LoadErrors(pub Vec<LoadError>);

impl fmt::Display for LoadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl LoadError {
    /// Returns an error at a position.
    #[must_use]
    pub fn new(position: &Position, problem: Problem) -> Self {
        Self { position: position.clone(), problem }
    }
}

impl From<LoadError> for LoadErrors {
    fn from(error: LoadError) -> Self {
        Self(vec![error])
    }
}

/// Returns what is wrong with a text, and in which of its lines.
fn text_problem(finding: &Finding, plugin: Option<&PythonPlugin>) -> String {
    let mut text = plugin.map_or_else(|| finding.problem.to_string(), ToString::to_string);
    if finding.line > 1 {
        text.push_str(&format!(" (in line {} of the text)", finding.line));
    }
    text
}

/// Returns the position of a file's beginning, for errors that belong to a file as a whole.
#[must_use]
pub fn beginning(file: &str) -> Position {
    Position { file: file.into(), line: 1, column: 1 }
}
