//! The processes of a play's plugins: one for all that are granted nothing, and one for each plugin that a rule grants
//! something.
//!
//! What the shared process says decides nothing about grants: a plugin with a rule is called by the name in the rule, in a
//! process that has never run anything else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use modbox_policy::Policy;
use modbox_run::{PluginPlace, Runner};

use super::rules::PluginRules;
use super::worker::{PluginWorker, WorkerGrants};
use crate::cli::play::files::tree::PlayTree;

/// What processes of plugins are made of.
pub(super) struct PluginWorkers {
    runner: Arc<Runner>,
    place: PluginPlace,
    tree: Arc<PlayTree>,
    every_module: Policy,
    rules: PluginRules,
    shared: Arc<PluginWorker>,
    /// Plugins of collections by their full names, each with the process that a rule gives it, if there is one.
    of_names: Mutex<HashMap<String, Option<Arc<PluginWorker>>>>,
}

impl PluginWorkers {
    pub(super) fn new(
        runner: Arc<Runner>,
        place: PluginPlace,
        tree: Arc<PlayTree>,
        every_module: Policy,
        rules: PluginRules,
    ) -> Self {
        let grants = WorkerGrants { of_rule: Policy::default(), every_module: every_module.clone() };
        let shared = PluginWorker::new(Arc::clone(&runner), place.clone(), Arc::clone(&tree), grants);
        Self { runner, place, tree, every_module, rules, shared: Arc::new(shared), of_names: Mutex::default() }
    }

    /// Returns the process without grants.
    pub(super) fn shared(&self) -> &Arc<PluginWorker> {
        &self.shared
    }

    /// Returns the process for a file beside the play or in a role: one of its own if a rule names its digest.
    ///
    /// # Errors
    ///
    /// A rule cannot be followed.
    pub(super) fn of_file(&self, path: &str, text: &str) -> Result<Arc<PluginWorker>, String> {
        let granted = self.rules.of_file(path, text)?;
        Ok(granted.map_or_else(|| Arc::clone(&self.shared), |policy| self.granted(policy)))
    }

    /// Returns the process of a plugin of a collection, by its full name, if a rule gives it one.
    ///
    /// # Errors
    ///
    /// A rule cannot be followed.
    pub(super) fn of_name(&self, name: &str) -> Result<Option<Arc<PluginWorker>>, String> {
        let mut of_names = self.of_names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = of_names.get(name) {
            return Ok(known.clone());
        }
        let worker = self.rules.of_name(name)?.map(|policy| self.granted(policy));
        of_names.insert(name.to_owned(), worker.clone());
        Ok(worker)
    }

    fn granted(&self, of_rule: Policy) -> Arc<PluginWorker> {
        let grants = WorkerGrants { of_rule, every_module: self.every_module.clone() };
        Arc::new(PluginWorker::new(Arc::clone(&self.runner), self.place.clone(), Arc::clone(&self.tree), grants))
    }
}
