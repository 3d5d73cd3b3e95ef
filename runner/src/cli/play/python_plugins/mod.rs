//! Filters, tests and lookups of a play that are Python plugins: which files have them, and the process that runs them.
//!
//! The process has no grant but to read the files of the play, if no rule names the plugin. Files beside the play and in roles are read here, within the play's tree, and handed over as
//! text; plugins of collections are imported by ansible-core, which finds them as it does for Ansible.

mod answers;
mod collections;
mod folders;
mod limits;
mod listing;
mod places;
mod refused;
mod rules;
mod worker;
mod workers;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use modbox_contract::{Dict, Value};
use modbox_policy::Policy;
use modbox_run::{PluginPlace, Runner};
use modbox_tasks::files::PlayFiles as _;
use modbox_template::{PluginCall, PluginFailure, PluginKind, PythonPlugins};

use self::answers::{absent, lacks};
pub(crate) use self::collections::{collection_folders, folders_beside};
pub(crate) use self::folders::plugin_folders;
use self::limits::{MAX_REASON, MAX_WARNING, MAX_WARNINGS, bounded, is_of_collection, names};
pub(crate) use self::listing::PluginListing;
pub(crate) use self::rules::PluginRules;
use self::worker::{OwnFile, PluginWorker};
use self::workers::{Chosen, PluginWorkers};
use crate::cli::play::files::tree::PlayTree;
use crate::cli::printing::output;

/// Maximum bytes of a file with plugins. The longest that is published has a tenth of it.
const MAX_FILE: usize = 1 << 20;

/// How many files of a folder are loaded.
const MAX_FILES: usize = 200;

const NO_CORE: &str = "no ansible-core was found that could run it; install it, or name the Python that has it with \
                       `--interpreter python=PATH`";

const ONLY_OF_PLAY: &str = "a rule grants it something, and only a collection that came with the play has it; install the collection, \
                            or trust that of the play with `ANSIBLE_COLLECTIONS_PATH=FOLDER`";

/// The Python plugins of a play.
pub(crate) struct PlayPlugins {
    tree: Arc<PlayTree>,
    /// The processes; `None` without ansible-core.
    workers: Option<PluginWorkers>,
    /// Whether a file gave a name, so that most plays ask no further.
    has_own: AtomicBool,
    state: Mutex<State>,
}

/// What was loaded and found.
#[derive(Default)]
struct State {
    folders: HashSet<String>,
    /// Names that files gave, each with the process that has the file.
    own: HashMap<PluginKind, HashMap<String, Arc<PluginWorker>>>,
    /// Those that take undefined arguments.
    accepting: HashSet<(PluginKind, String)>,
    /// Names that were found in collections, or the reason where loading failed.
    of_collections: HashMap<(PluginKind, String), Result<Found, String>>,
    /// Files that were not loaded, and why.
    failures: HashMap<String, String>,
    /// Warnings that were shown.
    warnings: HashSet<String>,
    /// What was loaded and found, and what could not be.
    listings: Vec<PluginListing>,
}

/// A plugin of a collection that was found.
#[derive(Clone)]
struct Found {
    full_name: String,
    /// The process that has it.
    worker: Arc<PluginWorker>,
    /// What the process calls it.
    name: String,
    /// Whether modules are missing there that it imports.
    lacks: bool,
}

impl std::fmt::Debug for PlayPlugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlayPlugins").field("has_own", &self.has_own).finish_non_exhaustive()
    }
}

impl PlayPlugins {
    /// Makes the plugins of a play. Nothing is loaded yet.
    pub(crate) fn new(
        tree: Arc<PlayTree>,
        runner: Arc<Runner>,
        (policy, rules): (&Policy, PluginRules),
        place: Option<PluginPlace>,
    ) -> Self {
        let workers = place.map(|place| PluginWorkers::new(runner, place, Arc::clone(&tree), policy.clone(), rules));
        Self { tree, workers, has_own: AtomicBool::new(false), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workers(&self) -> Result<&PluginWorkers, String> {
        self.workers.as_ref().ok_or_else(|| NO_CORE.to_owned())
    }

    /// Returns the plugins that the play has or uses, in the order in which they were found.
    pub(crate) fn listings(&self) -> Vec<PluginListing> {
        self.state().listings.clone()
    }

    /// Loads the plugins of a play's or a role's folder, once.
    pub(crate) fn folder_found(&self, folder: &str) {
        if !self.state().folders.insert(folder.to_owned()) {
            return;
        }
        for kind in PluginKind::ALL {
            self.load_folder(kind, &format!("{}/{}", folder.trim_end_matches('/'), kind.folder()), false);
        }
    }

    /// Loads the plugins of a folder that a setting names, and those of the folders in it to a depth of two, as Ansible does.
    pub(crate) fn configured_folder(&self, kind: PluginKind, folder: &str) {
        let inner = self.folders_in(folder);
        let innermost: Vec<String> = inner.iter().flat_map(|inner| self.folders_in(inner)).collect();
        for folder in inner.iter().chain(&innermost).take(MAX_FILES).map(String::as_str).chain([folder]) {
            self.load_folder(kind, folder, true);
        }
    }

    fn folders_in(&self, folder: &str) -> Vec<String> {
        let names = self.tree.list(folder).unwrap_or_default();
        names.iter().map(|name| format!("{folder}/{name}")).filter(|inner| self.tree.is_folder(inner)).collect()
    }

    fn load_folder(&self, kind: PluginKind, folder: &str, is_configured: bool) {
        if !self.tree.is_folder(folder) {
            return;
        }
        let names = self.tree.list(folder).unwrap_or_default();
        let sources = names.iter().filter(|name| name.ends_with(".py") && *name != "__init__.py");
        for source in sources.take(MAX_FILES) {
            self.load_file(kind, format!("{folder}/{source}"), is_configured);
        }
    }

    fn load_file(&self, kind: PluginKind, path: String, is_configured: bool) {
        let text = self.source(&path);
        let mut listing = PluginListing::of_file(kind, &path, text.as_deref().ok());
        let loaded = text
            .and_then(|text| self.load_text(OwnFile { kind, path: path.clone(), text, is_configured }, &mut listing));
        let mut state = self.state();
        match loaded {
            Ok((worker, names, accepting)) => {
                self.has_own.store(true, Ordering::Relaxed);
                listing.set_names(&names);
                let own = state.own.entry(kind).or_default();
                // The first file that gives a name keeps it.
                let accepting = accepting.into_iter().filter(|name| !own.contains_key(name)).map(|name| (kind, name));
                let accepting = accepting.collect::<Vec<_>>();
                for name in names {
                    own.entry(name).or_insert_with(|| Arc::clone(&worker));
                }
                state.accepting.extend(accepting);
            }
            // As Ansible does: the file is left out, and a template that needs it fails.
            Err(reason) => {
                listing.set_failure(&reason);
                let is_told = state.failures.values().any(|told| *told == reason);
                if !is_told {
                    output::print_note(&format!("the plugins in `{path}` are left out: {reason}"));
                }
                state.failures.insert(path, reason);
            }
        }
        state.listings.push(listing);
    }

    /// Loads a file in the first place that has all that it imports. Loading does nothing else, so it is tried in each of them.
    fn load_text(&self, file: OwnFile, listing: &mut PluginListing) -> Result<LoadedFile, String> {
        let workers = self.workers()?;
        let Chosen { candidates, is_granted } = workers.of_file(&file.path, &file.text)?;
        listing.is_granted = is_granted;
        let mut why_not = None;
        for (index, worker) in candidates.iter().enumerate() {
            let is_last = index + 1 == candidates.len();
            match worker.load(file.clone()) {
                Err(reason) if is_last => return Err(bounded(&reason, MAX_REASON)),
                Err(reason) => why_not = Some(format!("it does not load in the sandbox: {reason}")),
                Ok(answer) if !is_last && lacks(&answer) => {
                    worker.forget(&file.path);
                    why_not = Some(format!("the sandbox lacks {}", absent(&answer)));
                }
                Ok(answer) => {
                    self.warn(&answer);
                    let reason = why_not.map(|reason| bounded(&reason, MAX_REASON)).or_else(|| workers.reason(worker));
                    listing.set_place(worker.is_sandboxed(), reason);
                    return Ok((Arc::clone(worker), names(&answer, "names")?, names(&answer, "accepting")?));
                }
            }
        }
        Err(NO_CORE.to_owned())
    }

    /// Reads a file of the play. What a task may have written is not the author's code.
    fn source(&self, path: &str) -> Result<String, String> {
        if self.tree.is_new(path).map_err(|error| error.to_string())? {
            return Err("it was written since the run began; run the play again to use it".to_owned());
        }
        let text = self.tree.text(path).map_err(|error| error.to_string())?;
        if text.len() > MAX_FILE {
            return Err(format!("the file is larger than {MAX_FILE} bytes"));
        }
        Ok(text)
    }

    /// Says why a plugin cannot be used. `file` is the one that seems to have it.
    pub(crate) fn failure(&self, kind: PluginKind, name: &str, file: Option<&str>) -> Option<String> {
        let Some(workers) = &self.workers else { return Some(NO_CORE.to_owned()) };
        let state = self.state();
        let of_file = || file.and_then(|file| state.failures.get(file)).cloned();
        let of_name = || state.of_collections.get(&(kind, name.to_owned()))?.as_ref().err().cloned();
        let unknown = || match name.rsplit_once('.') {
            Some((collection, _)) => format!("the collection `{collection}` is not installed, or does not have it"),
            None => "the file does not give it".to_owned(),
        };
        let refusal = || match workers.shared() {
            Ok(shared) => shared.iter().find_map(|worker| worker.refusal()),
            Err(reason) => Some(reason),
        };
        Some(of_file().or_else(refusal).or_else(of_name).unwrap_or_else(unknown))
    }

    /// Returns a plugin of a collection. One that is not found is looked for again the next time, since a task may install its
    /// collection.
    fn find(&self, kind: PluginKind, name: &str) -> Result<Option<Found>, String> {
        let Some(workers) = &self.workers else { return Ok(None) };
        let key = (kind, name.to_owned());
        if let Some(Ok(known)) = self.state().of_collections.get(&key) {
            return Ok(Some(known.clone()));
        }
        let found = self.look_for(workers, kind, name).transpose();
        let Some(found) = found else { return Ok(None) };
        if let Ok(Found { full_name, worker, .. }) = &found {
            let is_granted = workers.of_name(full_name).is_ok_and(|chosen| chosen.is_granted);
            let mut listing = PluginListing::of_collection(kind, full_name, is_granted);
            listing.set_place(worker.is_sandboxed(), workers.reason(worker));
            self.state().listings.push(listing);
        }
        self.state().of_collections.insert(key, found.clone());
        found.map(Some)
    }

    /// Looks for a plugin in each place, until one has all that it imports.
    fn look_for(&self, workers: &PluginWorkers, kind: PluginKind, name: &str) -> Result<Option<Found>, String> {
        let shared = workers.shared()?;
        let mut last = Ok(None);
        for (index, worker) in shared.iter().enumerate() {
            last = self.look_in(workers, worker, (kind, name));
            if index + 1 == shared.len() || matches!(&last, Ok(Some(found)) if !found.lacks) {
                break;
            }
        }
        last
    }

    fn look_in(
        &self,
        workers: &PluginWorkers,
        shared: &Arc<PluginWorker>,
        (kind, name): (PluginKind, &str),
    ) -> Result<Option<Found>, String> {
        let found_by = |worker: &PluginWorker, name: &str| {
            let answer = worker.ask("find", [("kind", kind.word()), ("name", name)].map(texts).into(), None)?;
            self.warn(&answer);
            Ok::<_, String>(answer)
        };
        // What ansible-core has itself is not run there: modbox has its own, and a rule for it would be one for a module.
        let full_name_in = |answer: &Dict| {
            let name = answer.get("name").and_then(Value::as_str);
            name.filter(|name| is_of_collection(name)).map(str::to_owned)
        };
        let mut answer = found_by(shared, name)?;
        if full_name_in(&answer).is_none() && shared.ends_if_outdated() {
            answer = found_by(shared, name)?;
        }
        let Some(full_name) = full_name_in(&answer) else { return Ok(None) };
        let chosen = workers.of_name(&full_name)?;
        let worker = Arc::clone(chosen.beside(shared).unwrap_or(shared));
        let is_apart = workers.is_apart(&worker);
        if is_apart && full_name_in(&found_by(&worker, &full_name)?).is_none() {
            return Err(ONLY_OF_PLAY.to_owned());
        }
        if answer.get("accepting").and_then(Value::as_bool) == Some(true) {
            self.state().accepting.insert((kind, name.to_owned()));
        }
        let name = if is_apart { full_name.clone() } else { name.to_owned() };
        Ok(Some(Found { full_name, worker, name, lacks: lacks(&answer) }))
    }

    fn answer(&self, call: &PluginCall<'_>) -> Result<Dict, String> {
        let (worker, name, is_own) = self.callee(call)?;
        let mut message: Dict = [("kind", call.kind.word()), ("name", &*name)].map(texts).into();
        message.insert("own".to_owned(), Value::Bool(is_own));
        message.insert("arguments".to_owned(), call.arguments.clone());
        let answer = worker.ask("call", message, Some(call.variables));
        if let Err(failure) = &answer {
            self.note_refusal(call, failure);
        }
        let answer = answer?;
        self.warn(&answer);
        Ok(answer)
    }

    /// Tells once which rule would grant what a call was refused.
    fn note_refusal(&self, call: &PluginCall<'_>, failure: &str) {
        let mut state = self.state();
        let full_name = match state.of_collections.get(&(call.kind, call.name.to_owned())) {
            Some(Ok(found)) => found.full_name.clone(),
            _ => call.name.to_owned(),
        };
        let mut listings = state.listings.iter().rev();
        let listing = listings.find(|listing| listing.kind == call.kind && listing.names.contains(&full_name));
        let Some(note) = listing.and_then(|listing| refused::note(listing, &full_name, failure)) else { return };
        let note = bounded(&note, MAX_WARNING);
        if state.warnings.len() < MAX_WARNINGS && state.warnings.insert(note.clone()) {
            output::print_note(&note);
        }
    }

    /// Returns the process that has a plugin, the name of the plugin there, and whether it comes from a file of the play.
    fn callee(&self, call: &PluginCall<'_>) -> Result<(Arc<PluginWorker>, String, bool), String> {
        let workers = self.workers()?;
        if let Some(own) = self.state().own.get(&call.kind).and_then(|own| own.get(call.name)) {
            return Ok((Arc::clone(own), call.name.to_owned(), true));
        }
        if let Some(Found { worker, name, .. }) = self.find(call.kind, call.name)? {
            return Ok((worker, name, false));
        }
        // It says itself that it does not have the plugin.
        let first = workers.shared()?.first().ok_or(NO_CORE)?;
        Ok((Arc::clone(first), call.name.to_owned(), false))
    }

    /// Shows what the plugins warn of, each text once.
    fn warn(&self, answer: &Dict) {
        let warnings = answer.get("warnings").and_then(Value::as_list).unwrap_or_default();
        let mut state = self.state();
        for text in warnings.iter().filter_map(Value::as_str) {
            let text = bounded(text, MAX_WARNING);
            if state.warnings.len() < MAX_WARNINGS && state.warnings.insert(text.clone()) {
                output::print_note(&format!("a Python plugin warns: {text}"));
            }
        }
    }
}

/// A file that was loaded: the process that has it, the names that it gives, and those of them that take undefined arguments.
type LoadedFile = (Arc<PluginWorker>, Vec<String>, Vec<String>);

fn texts((key, text): (&str, &str)) -> (String, Value) {
    (key.to_owned(), text.into())
}

impl PythonPlugins for PlayPlugins {
    fn hides(&self, kind: PluginKind, name: &str) -> bool {
        self.has_own.load(Ordering::Relaxed)
            && self.state().own.get(&kind).is_some_and(|names| names.contains_key(name))
    }

    fn has(&self, kind: PluginKind, name: &str) -> bool {
        matches!(self.find(kind, name), Ok(Some(_)))
    }

    fn accepts_undefined(&self, kind: PluginKind, name: &str) -> bool {
        self.state().accepting.contains(&(kind, name.to_owned()))
    }

    fn call(&self, call: &PluginCall<'_>) -> Result<Value, PluginFailure> {
        let answer = self.answer(call).map_err(PluginFailure::Raised)?;
        if let Some(type_name) = answer.get("type").and_then(Value::as_str) {
            return Err(PluginFailure::Type(type_name.to_owned()));
        }
        let none = || PluginFailure::Raised("its process sent no result".to_owned());
        answer.into_iter().find_map(|(key, value)| (key == "value").then_some(value)).ok_or_else(none)
    }
}
