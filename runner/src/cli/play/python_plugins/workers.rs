//! The processes of a play's plugins: one for all that are granted nothing, and one for each plugin that a rule grants
//! something.
//!
//! What the shared process says decides nothing about grants: a plugin with a rule is called by the name in the rule, in a
//! process that has never run anything else. Such a process finds no collection that came with the play, since that may have any
//! name: it would run code of the play with what the rule grants.

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
    of_names: Mutex<HashMap<String, Chosen>>,
}

/// The process of a plugin.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) worker: Arc<PluginWorker>,
    /// Whether a rule names the plugin.
    pub(super) is_granted: bool,
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
    pub(super) fn of_file(&self, path: &str, text: &str) -> Result<Chosen, String> {
        Ok(self.chosen(self.rules.of_file(path, text)?))
    }

    /// Returns the process of a plugin of a collection, by its full name: one of its own if a rule names it.
    ///
    /// # Errors
    ///
    /// A rule cannot be followed.
    pub(super) fn of_name(&self, name: &str) -> Result<Chosen, String> {
        let mut of_names = self.of_names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = of_names.get(name) {
            return Ok(known.clone());
        }
        let chosen = self.chosen(self.rules.of_name(name)?);
        of_names.insert(name.to_owned(), chosen.clone());
        Ok(chosen)
    }

    /// Says whether a process has what a rule grants.
    pub(super) fn is_apart(&self, worker: &Arc<PluginWorker>) -> bool {
        !Arc::ptr_eq(worker, &self.shared)
    }

    fn chosen(&self, of_rule: Option<Policy>) -> Chosen {
        let is_granted = of_rule.is_some();
        let of_rule = of_rule.filter(|_| self.rules.is_applied);
        let worker = of_rule.map_or_else(|| Arc::clone(&self.shared), |policy| self.granted(policy));
        Chosen { worker, is_granted }
    }

    fn granted(&self, of_rule: Policy) -> Arc<PluginWorker> {
        let grants = WorkerGrants { of_rule, every_module: self.every_module.clone() };
        let place = self.place.clone().without_play();
        Arc::new(PluginWorker::new(Arc::clone(&self.runner), place, Arc::clone(&self.tree), grants))
    }
}
