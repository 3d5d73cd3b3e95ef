//! The processes of a play's plugins: one in each place for all that are granted nothing, and one for each plugin that a rule grants
//! something.
//!
//! What the shared processes say decides nothing about grants: a plugin with a rule is called by the name in the rule, in a
//! process that has never run anything else. Such a process finds no collection that came with the play, since that may have any
//! name: it would run code of the play with what the rule grants.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use modbox_policy::{Policy, PythonPlace};
use modbox_run::{PluginPlace, Runner, SandboxPlace};

use super::places::Places;
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
    /// Where plugins run, and the processes without grants; decided when the first plugin is found.
    shared: OnceLock<Shared>,
    /// Plugins of collections by their full names, each with the process that a rule gives it, if there is one.
    of_names: Mutex<HashMap<String, Chosen>>,
}

struct Shared {
    places: Places,
    candidates: Vec<Arc<PluginWorker>>,
}

/// The processes in which a plugin may run: one in each place, the preferred one first. It is never empty.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) candidates: Vec<Arc<PluginWorker>>,
    /// Whether a rule names the plugin.
    pub(super) is_granted: bool,
}

impl Chosen {
    /// Returns the process in the place of another process, or else the preferred one.
    pub(super) fn beside(&self, other: &PluginWorker) -> Option<&Arc<PluginWorker>> {
        let same = self.candidates.iter().find(|worker| worker.is_sandboxed() == other.is_sandboxed());
        same.or_else(|| self.candidates.first())
    }
}

impl PluginWorkers {
    pub(super) fn new(
        runner: Arc<Runner>,
        place: PluginPlace,
        tree: Arc<PlayTree>,
        every_module: Policy,
        rules: PluginRules,
    ) -> Self {
        Self { runner, place, tree, every_module, rules, shared: OnceLock::new(), of_names: Mutex::default() }
    }

    fn shared_ones(&self) -> &Shared {
        self.shared.get_or_init(|| {
            let places = Places::decide(&self.runner, &self.place, &self.every_module);
            let candidates = self.candidates(&places, &self.place, &Policy::default());
            Shared { places, candidates }
        })
    }

    /// Returns a process in each place, the preferred one first. `place` has what they are shown.
    fn candidates(&self, places: &Places, place: &PluginPlace, of_rule: &Policy) -> Vec<Arc<PluginWorker>> {
        let worker = |sandbox: Option<SandboxPlace>| {
            let grants = WorkerGrants { of_rule: of_rule.clone(), every_module: self.every_module.clone() };
            let worker =
                PluginWorker::new(Arc::clone(&self.runner), (place.clone(), sandbox), Arc::clone(&self.tree), grants);
            Arc::new(worker)
        };
        let sandboxed = places.sandbox().map(|sandbox| worker(Some(sandbox.clone())));
        sandboxed.into_iter().chain(places.has_native().then(|| worker(None))).collect()
    }

    /// Returns the processes without grants, one in each place, the preferred one first.
    ///
    /// # Errors
    ///
    /// There is a place for no plugin.
    pub(super) fn shared(&self) -> Result<&[Arc<PluginWorker>], String> {
        match self.shared_ones() {
            Shared { places: Places::Nowhere(reason), .. } => Err(reason.clone()),
            shared => Ok(&shared.candidates),
        }
    }

    /// Returns why a plugin that was loaded runs in a process.
    pub(super) fn reason(&self, worker: &PluginWorker) -> Option<String> {
        self.shared_ones().places.reason(worker.is_sandboxed())
    }

    /// Returns the processes for a file beside the play or in a role: its own if a rule names its digest.
    ///
    /// # Errors
    ///
    /// A rule cannot be followed, or there is a place for no plugin.
    pub(super) fn of_file(&self, path: &str, text: &str) -> Result<Chosen, String> {
        self.chosen(self.rules.of_file(path, text)?)
    }

    /// Returns the processes of a plugin of a collection, by its full name: its own if a rule names it.
    ///
    /// # Errors
    ///
    /// A rule cannot be followed, or there is a place for no plugin.
    pub(super) fn of_name(&self, name: &str) -> Result<Chosen, String> {
        let mut of_names = self.of_names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = of_names.get(name) {
            return Ok(known.clone());
        }
        let chosen = self.chosen(self.rules.of_name(name)?)?;
        of_names.insert(name.to_owned(), chosen.clone());
        Ok(chosen)
    }

    /// Says whether a process has what a rule grants.
    pub(super) fn is_apart(&self, worker: &Arc<PluginWorker>) -> bool {
        !self.shared_ones().candidates.iter().any(|shared| Arc::ptr_eq(worker, shared))
    }

    fn chosen(&self, of_rule: Option<Policy>) -> Result<Chosen, String> {
        let is_granted = of_rule.is_some();
        let shared = self.shared()?.to_vec();
        let candidates = match of_rule.filter(|_| self.rules.is_applied) {
            Some(policy) => self.granted(&policy)?,
            None => shared,
        };
        Ok(Chosen { candidates, is_granted })
    }

    /// Returns the processes for a plugin with a rule, which may say where the plugin runs. The stricter word holds.
    fn granted(&self, of_rule: &Policy) -> Result<Vec<Arc<PluginWorker>>, String> {
        let place = self.place.clone().without_play();
        let mut workers = self.candidates(&self.shared_ones().places, &place, of_rule);
        match of_rule.python_place() {
            PythonPlace::Wasm => workers.retain(|worker| worker.is_sandboxed()),
            PythonPlace::Native if workers.iter().any(|worker| !worker.is_sandboxed()) => {
                workers.retain(|worker| !worker.is_sandboxed());
            }
            PythonPlace::Native | PythonPlace::Auto => {}
        }
        if workers.is_empty() {
            let reason = SandboxPlace::find(&self.runner, &self.place).err();
            let reason = reason.unwrap_or_else(|| "`--python wasm` is needed for it".to_owned());
            return Err(format!("the rule for it says `wasm`, and {reason}"));
        }
        Ok(workers)
    }
}
