//! What a module's output is by the rules of a release.

use modbox_python_json::Dict;

use crate::secrets::NewSecrets;

/// A result that was made of an output. Like its secrets, it has no `Debug`.
pub(crate) struct ParsedOutput {
    /// The result.
    pub(crate) dict: Dict,
    /// Whether it is the module's own.
    pub(crate) parsed: bool,
    /// The secrets that the module told; `None` if it does not tell any.
    pub(crate) secrets: Option<NewSecrets>,
}
