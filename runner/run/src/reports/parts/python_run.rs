//! Where a Python module runs, as reports say it.

use serde::Serialize;

/// The place of a guest, in the report.
pub(crate) const GUEST: &str = "wasm";

/// Where a Python module runs, for the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PythonRun {
    /// `wasm` in the sandbox, or `native`.
    pub place: &'static str,
    /// Why the module runs there, as a sentence for people.
    pub reason: String,
    /// Function that the module called and the sandbox does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Why a command that the module ran failed, where modules do not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl PythonRun {
    /// Returns a run in a place, of which nothing else is known yet.
    pub(crate) fn new(place: &'static str, reason: String) -> Self {
        Self { place, reason, needs: None, failure: None }
    }

    /// Returns what the sandbox has to say about a failed result with a message, unless the message says it.
    pub(crate) fn tips(&self, message: &str) -> Vec<String> {
        let needs = self.needs.as_ref().filter(|needs| !message.contains(needs.as_str()));
        let needs = needs.map(|needs| {
            format!("the module needs {needs}, which the sandbox does not have; `--python native` runs it natively")
        });
        needs.into_iter().chain(self.failure.clone().filter(|failure| !message.contains(failure.as_str()))).collect()
    }
}
