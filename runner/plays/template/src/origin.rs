//! Where a value came from, and the set of origins that an evaluation read.
//!
//! A report says of which data an argument was made, and a policy can refuse a path that was made from a module's
//! output. The set is an over-approximation: it has the origin of each variable that evaluation read, whether or not its
//! value became a part of the result.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexSet;
use modbox_yaml::Position;

/// Where the value of a variable came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Text of a play, a role or a file of variables.
    Play(Position),
    /// Variables on the command line.
    ExtraVars,
    /// Facts of the host.
    Facts,
    /// The result of a task, by the name that it was registered under, or by the task's own name.
    Result(Arc<str>),
    /// The result of a lookup, by the lookup's name.
    Lookup(Arc<str>),
    /// The result of a Python plugin, by the name of the filter or test.
    Plugin(Arc<str>),
    /// The item of a loop.
    LoopItem,
    /// A variable that the program sets itself.
    Magic,
    /// An answer that a person typed.
    Prompt,
}

impl Origin {
    /// Says whether a module made the value: facts, and results of tasks, lookups and Python plugins.
    #[must_use]
    pub fn is_result(&self) -> bool {
        matches!(self, Self::Facts | Self::Result(_) | Self::Lookup(_) | Self::Plugin(_))
    }

    /// Says whether a run of a module has to tell the value: facts and results.
    #[must_use]
    pub fn needs_run(&self) -> bool {
        matches!(self, Self::Facts | Self::Result(_))
    }

    /// Says whether a person wrote the value: in a play, on the command line, or as an answer.
    #[must_use]
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Play(_) | Self::ExtraVars | Self::Prompt)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Play(position) => write!(f, "text at {position}"),
            Self::ExtraVars => f.write_str("variables on the command line"),
            Self::Facts => f.write_str("facts"),
            Self::Result(name) => write!(f, "the result `{name}`"),
            Self::Lookup(name) => write!(f, "the lookup `{name}`"),
            Self::Plugin(name) => write!(f, "the Python plugin `{name}`"),
            Self::LoopItem => f.write_str("the item of a loop"),
            Self::Magic => f.write_str("a variable of the program"),
            Self::Prompt => f.write_str("a typed answer"),
        }
    }
}

/// The origins that an evaluation read, in the order of reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance(IndexSet<Origin>);

impl Provenance {
    /// Adds an origin.
    pub fn insert(&mut self, origin: Origin) {
        self.0.insert(origin);
    }

    /// Adds all origins of another set.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Iterates over the origins.
    pub fn iter(&self) -> impl Iterator<Item = &Origin> {
        self.0.iter()
    }

    /// Says whether nothing was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says whether anything came from a module: facts, results or lookups.
    #[must_use]
    pub fn has_results(&self) -> bool {
        self.0.iter().any(Origin::is_result)
    }
}

impl FromIterator<Origin> for Provenance {
    fn from_iter<T: IntoIterator<Item = Origin>>(origins: T) -> Self {
        Self(origins.into_iter().collect())
    }
}
