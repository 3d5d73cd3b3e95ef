//! Where a Python module runs, as reports say it.

use serde::Serialize;

/// The place of a guest, in the report.
pub(in crate::app) const GUEST: &str = "wasm";

/// Where a Python module runs, for the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PythonRun {
    /// `wasm` in the sandbox, or `native`.
    pub place: &'static str,
    /// Reason.
    pub reason: String,
    /// Function that the module called and the sandbox does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}
