//! What the operator's policy files grant to plugins.

use std::path::Path;
use std::sync::Arc;

use modbox_policy::Policy;

use crate::cli::exit::error_words;
use crate::cli::identity::Identity;
use crate::cli::settings::{ModuleIdentity, Settings};

/// The rules for plugins, those of policy files.
#[derive(Clone)]
pub(crate) struct PluginRules {
    pub(crate) settings: Arc<Settings>,
    /// Whether plugins get what the rules grant. They do not where the play is only read or explained.
    pub(crate) is_applied: bool,
}

impl PluginRules {
    /// Returns what is granted to the file of a plugin, by its digest; `None` if there is no rule for it.
    ///
    /// # Errors
    ///
    /// A rule cannot be followed.
    pub(super) fn of_file(&self, path: &str, text: &str) -> Result<Option<Policy>, String> {
        self.granted("", &Identity::of_file("plugin", &modbox_run::digest(text.as_bytes())), path)
    }

    /// Returns what is granted to a plugin of a collection, by its full name; `None` if there is no rule for it.
    ///
    /// # Errors
    ///
    /// A rule cannot be followed.
    pub(super) fn of_name(&self, name: &str) -> Result<Option<Policy>, String> {
        // Its file is not known, so no digest is its own.
        self.granted(name, &Identity::of_file("plugin", ""), name)
    }

    fn granted(&self, name: &str, identity: &Identity, path: &str) -> Result<Option<Policy>, String> {
        let plugin = ModuleIdentity { name, identity, path: Path::new(path), signature: None };
        self.settings.for_plugin(plugin).map_err(|error| error_words(&error))
    }
}
