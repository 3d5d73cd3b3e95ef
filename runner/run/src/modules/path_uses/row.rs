//! A row of the table: what a module does with the path in one option, and under which conditions.

use std::fmt;

use modbox_argument_spec::{Access, bool_of};
use modbox_contract::{Dict, Value};

/// What a module does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathUse {
    /// Nothing: it only passes the text on.
    None,
    /// Reads a file, or a folder with all in it.
    Read,
    /// Makes a link that says it: reads what it leads to, and passes a relative one on, since that belongs to the link's folder.
    Target,
    /// Makes or changes a file, or files in an existing folder. Follows links.
    Write,
    /// Makes a file or puts a new one in its place: also in the place of a link. Writes in an existing folder.
    Replace,
    /// Makes a folder, and writes in it.
    Folder,
    /// Makes a link or another entry in the folder around it.
    Entry,
    /// Removes it, whatever it is.
    Remove,
}

impl PathUse {
    pub(crate) const ALL: [Self; 8] =
        [Self::None, Self::Read, Self::Target, Self::Write, Self::Replace, Self::Folder, Self::Entry, Self::Remove];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Target => "target",
            Self::Write => "write",
            Self::Replace => "replace",
            Self::Folder => "folder",
            Self::Entry => "entry",
            Self::Remove => "remove",
        }
    }

    /// Returns the access that an argument spec declares for this use, or `None` if the path needs no grant.
    pub(crate) fn access(self) -> Option<Access> {
        match self {
            Self::None => None,
            Self::Read | Self::Target => Some(Access::Read),
            Self::Write | Self::Folder => Some(Access::Write),
            Self::Replace | Self::Entry | Self::Remove => Some(Access::Entry),
        }
    }
}

impl fmt::Display for PathUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Condition on another option: its value is one of these.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub(super) option: String,
    /// Null stands for an option that is not given.
    pub(super) values: Vec<Value>,
}

/// Use of an option's path, if the conditions hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Case {
    pub(super) path_use: PathUse,
    pub(super) conditions: Vec<Condition>,
}

/// Row of the table: an option.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    /// The first case whose conditions hold counts.
    pub(super) cases: Vec<Case>,
    /// Folder to which a bare name is relative.
    pub(super) folder: Option<String>,
    /// Option beside whose path the module leaves another file, such as a backup, if this option is true.
    pub(super) beside: Option<String>,
}

impl Row {
    /// Returns the use of the option's path with these arguments; `None` if the option is not a path.
    pub(super) fn path_use(&self, args: &Dict) -> Option<PathUse> {
        let case = self.cases.iter().find(|case| case.conditions.iter().all(|condition| condition.holds(args)))?;
        Some(case.path_use)
    }
}

impl Condition {
    fn holds(&self, args: &Dict) -> bool {
        let given = args.get(&self.option).filter(|value| **value != Value::Null);
        self.values.iter().any(|expected| match (expected, given) {
            (Value::Null, given) => given.is_none(),
            (_, None) => false,
            (Value::Bool(expected), Some(given)) => bool_of(given) == Ok(*expected),
            (expected, Some(given)) => given == expected,
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(option) = &self.beside {
            return write!(f, "makes a file beside `{option}`");
        }
        for (number, Case { path_use, conditions }) in self.cases.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", else " };
            write!(f, "{separator}{path_use}")?;
            for (number, Condition { option, values }) in conditions.iter().enumerate() {
                let word = if number == 0 { "if" } else { "and" };
                write!(f, " {word} {option} is ")?;
                for (number, value) in values.iter().enumerate() {
                    let separator = if number == 0 { "" } else { " or " };
                    write!(f, "{separator}{}", word_of(value))?;
                }
            }
        }
        match &self.folder {
            Some(folder) => write!(f, "; a name is one in {folder}"),
            None => Ok(()),
        }
    }
}

fn word_of(value: &Value) -> String {
    match value {
        Value::Null => "not given".to_owned(),
        Value::Bool(true) => "true".to_owned(),
        Value::Bool(false) => "false".to_owned(),
        value => modbox_contract::python_str(value),
    }
}
