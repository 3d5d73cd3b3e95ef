//! The state of a run: its settings, and the messages for the caller besides the result.

use std::path::PathBuf;

use modbox_argument_spec::Secrets;
use modbox_python_json::Dict;

use crate::internal_args::InternalArgs;
use crate::panic_secrets;

/// The current run.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) name: String,
    pub(crate) internal: InternalArgs,
    pub(crate) parameters: Dict,
    pub(crate) secrets: Secrets,
    pub(crate) warnings: Vec<String>,
    pub(crate) deprecations: Vec<Deprecation>,
}

/// A deprecated feature that the caller uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deprecation {
    /// The feature, and its replacement.
    pub message: String,
    /// The version that removes it.
    pub version: Option<String>,
    /// The date of the release that removes it.
    pub date: Option<String>,
    /// The collection of the version or date.
    pub collection_name: Option<String>,
}

impl Module {
    /// Returns the name of the module in the call.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the module must not change anything, and reports what it would change.
    #[must_use]
    pub fn check_mode(&self) -> bool {
        self.internal.check_mode
    }

    /// Returns whether the caller asked for differences. If not, [`Exit::diff`](crate::Exit::diff) ignores them, so the
    /// module need not compute them.
    #[must_use]
    pub fn diff_wanted(&self) -> bool {
        self.internal.diff
    }

    /// Returns the verbosity: the number of `-v`.
    #[must_use]
    pub fn verbosity(&self) -> i64 {
        self.internal.verbosity
    }

    /// Returns the caller's settings.
    #[must_use]
    pub fn internal_args(&self) -> &InternalArgs {
        &self.internal
    }

    /// Returns whether the caller follows this release of ansible-core or a newer one, for what modules do in another way since
    /// then. A caller that does not say its version follows the newest.
    #[must_use]
    pub fn is_since(&self, major: u32, minor: u32) -> bool {
        let Some(version) = self.internal.version.as_deref() else { return true };
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(first), Some(second)) => (first, second) >= (major, minor),
            _ => true,
        }
    }

    /// Returns the validated arguments as a dict.
    #[must_use]
    pub fn parameters(&self) -> &Dict {
        &self.parameters
    }

    /// Returns a folder for temporary files, which the caller removes.
    #[must_use]
    pub fn tmpdir(&self) -> PathBuf {
        self.internal.tmpdir.as_deref().unwrap_or("/tmp").into()
    }

    /// Adds a warning for the caller. Repetitions are ignored.
    pub fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        if !self.warnings.contains(&message) {
            self.warnings.push(message);
        }
    }

    /// Adds a deprecation for the caller. Repetitions are ignored.
    pub fn deprecate(&mut self, deprecation: Deprecation) {
        if !self.deprecations.contains(&deprecation) {
            self.deprecations.push(deprecation);
        }
    }

    /// Masks a text in everything that this module prints from now on.
    pub fn add_secret(&mut self, secret: impl Into<String>) {
        self.secrets.add(secret);
        panic_secrets::remember(&self.secrets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_follow_the_release_that_they_name_or_the_newest() {
        for (version, is_since) in [
            (Some("2.19.14"), false),
            (Some("2.20.0"), true),
            (Some("2.22.0rc1"), true),
            (Some("3.0"), true),
            (Some("1.9"), false),
            (Some("unknown"), true),
            (None, true),
        ] {
            let internal = InternalArgs { version: version.map(str::to_owned), ..InternalArgs::default() };
            let module = Module {
                name: String::new(),
                internal,
                parameters: Dict::new(),
                secrets: Secrets::default(),
                warnings: Vec::new(),
                deprecations: Vec::new(),
            };
            assert_eq!(module.is_since(2, 20), is_since, "{version:?}");
        }
    }
}
