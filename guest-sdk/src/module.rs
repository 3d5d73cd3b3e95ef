//! What a module's function can ask about its run, and tell its caller besides the result.

use std::path::PathBuf;

use modbox_argument_spec::Secrets;
use modbox_python_json::Dict;

use crate::internal_args::InternalArgs;
use crate::panic_secrets;

/// The run that a module's function is in.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) name: String,
    pub(crate) internal: InternalArgs,
    pub(crate) parameters: Dict,
    pub(crate) secrets: Secrets,
    pub(crate) warnings: Vec<String>,
    pub(crate) deprecations: Vec<Deprecation>,
}

/// Something the caller uses that will go away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deprecation {
    /// What goes away, and what to use instead.
    pub message: String,
    /// The version that no longer has it.
    pub version: Option<String>,
    /// The day of the release that no longer has it.
    pub date: Option<String>,
    /// The collection whose version or date that is.
    pub collection_name: Option<String>,
}

impl Module {
    /// Returns the name under which the module was called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the module may change nothing, and reports what it would change.
    #[must_use]
    pub fn check_mode(&self) -> bool {
        self.internal.check_mode
    }

    /// Returns whether the caller asks for differences: those given to
    /// [`Exit::diff`](crate::Exit::diff) are left out otherwise, so costly ones can be spared.
    #[must_use]
    pub fn diff_wanted(&self) -> bool {
        self.internal.diff
    }

    /// Returns how much the caller wants to know: the number of `-v`.
    #[must_use]
    pub fn verbosity(&self) -> i64 {
        self.internal.verbosity
    }

    /// Returns all that the caller says about the run.
    #[must_use]
    pub fn internal_args(&self) -> &InternalArgs {
        &self.internal
    }

    /// Returns the validated arguments, as a dict.
    #[must_use]
    pub fn parameters(&self) -> &Dict {
        &self.parameters
    }

    /// Returns a folder for temporary files that the caller removes.
    #[must_use]
    pub fn tmpdir(&self) -> PathBuf {
        self.internal.tmpdir.as_deref().unwrap_or("/tmp").into()
    }

    /// Tells the caller something, though nothing is wrong. Repetitions are dropped.
    pub fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        if !self.warnings.contains(&message) {
            self.warnings.push(message);
        }
    }

    /// Tells the caller that something will go away. Repetitions are dropped.
    pub fn deprecate(&mut self, deprecation: Deprecation) {
        if !self.deprecations.contains(&deprecation) {
            self.deprecations.push(deprecation);
        }
    }

    /// Keeps a text out of everything that this module prints from now on.
    pub fn add_secret(&mut self, secret: impl Into<String>) {
        self.secrets.add(secret);
        panic_secrets::remember(&self.secrets);
    }
}
