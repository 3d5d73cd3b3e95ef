//! One check of `modbox doctor`: its name, its state, what was found and the remedy.

use modbox_python_json::Value;

use crate::cli::printing::output::clean_line;

/// State of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// As it should be.
    Ok,
    /// Runs work, but something is better with it.
    Note,
    /// Runs need it.
    Missing,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Missing => "missing",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Check {
    name: String,
    pub(super) state: State,
    found: String,
    remedy: Option<String>,
}

impl Check {
    /// Returns a check that is as it should be.
    pub(super) fn ok(name: &str, found: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: State::Ok, found: found.into(), remedy: None }
    }

    /// Returns a check of what is better to have. An empty remedy is left out.
    pub(super) fn note(name: &str, found: impl Into<String>, remedy: &str) -> Self {
        Self {
            state: State::Note,
            remedy: Some(remedy.to_owned()).filter(|text| !text.is_empty()),
            ..Self::ok(name, found)
        }
    }

    /// Returns a check of what runs need. An empty remedy is left out.
    pub(super) fn missing(name: &str, found: impl Into<String>, remedy: &str) -> Self {
        Self { state: State::Missing, ..Self::note(name, found, remedy) }
    }

    /// Returns the line for people.
    pub(super) fn to_line(&self) -> String {
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        let line = format!("{:<7}  {}: {}{remedy}", self.state.as_str(), self.name, self.found);
        clean_line(&line)
    }

    /// Returns the check as JSON.
    pub(super) fn to_value(&self) -> Value {
        [
            ("name", Value::from(self.name.as_str())),
            ("state", self.state.as_str().into()),
            ("found", self.found.as_str().into()),
            ("remedy", self.remedy.clone().into()),
        ]
        .into()
    }
}
