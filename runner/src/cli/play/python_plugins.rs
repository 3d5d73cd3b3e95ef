//! Filters and tests of a play that are Python plugins: which files have them, and the process that runs them.
//!
//! The process has no grant. Files beside the play and in roles are read here, within the play's tree, and handed over as
//! text; plugins of collections are imported by ansible-core, which finds them as it does for Ansible.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use modbox_contract::{Dict, Value, decode, encode};
use modbox_policy::Policy;
use modbox_run::{PluginError, PluginPlace, PluginProcess, Runner};
use modbox_tasks::files::PlayFiles as _;
use modbox_tasks::python_plugins::PluginKind as AnyKind;
use modbox_template::{PluginFailure, PluginKind, PythonPlugins};
use modbox_vocabulary::error_chain;

use crate::cli::play::files::tree::PlayTree;
use crate::cli::printing::output;

/// Maximum bytes of a file with plugins. The longest that is published has a tenth of it.
const MAX_FILE: usize = 1 << 20;

/// How many files of a folder are loaded.
const MAX_FILES: usize = 200;

/// Maximum characters of a warning that is shown, and how many of a play.
const MAX_WARNING: usize = 1000;
const MAX_WARNINGS: usize = 50;

/// The kinds, each with its folder beside a play or in a role and its word.
const KINDS: [(PluginKind, &str, &str); 2] =
    [(PluginKind::Filter, "filter_plugins", "filter"), (PluginKind::Test, "test_plugins", "test")];

const NO_CORE: &str = "no ansible-core was found that could run it; install it, or name the Python that has it with \
                       `--interpreter python=PATH`";

/// The Python plugins of a play.
pub(crate) struct PlayPlugins {
    tree: Arc<PlayTree>,
    runner: Arc<Runner>,
    policy: Policy,
    /// Where plugins run; `None` without ansible-core.
    place: Option<PluginPlace>,
    /// Whether a file gave a name, so that most plays ask no further.
    has_own: AtomicBool,
    state: Mutex<State>,
}

/// What was loaded and found.
#[derive(Default)]
struct State {
    process: Option<PluginProcess>,
    /// Why no process can be started.
    refusal: Option<String>,
    folders: HashSet<String>,
    /// Files that were loaded, in their order. A new process loads them again.
    files: Vec<OwnFile>,
    /// Names that files gave.
    own: HashMap<PluginKind, HashSet<String>>,
    /// Names that were looked for in collections, with the reason where loading failed.
    of_collections: HashMap<(PluginKind, String), Result<bool, String>>,
    /// Files that were not loaded, and why.
    failures: HashMap<String, String>,
    /// Warnings that were shown.
    warnings: HashSet<String>,
    /// Number of the last message.
    last: i64,
}

/// A file with plugins.
#[derive(Clone)]
struct OwnFile {
    kind: PluginKind,
    path: String,
    text: String,
}

impl std::fmt::Debug for PlayPlugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlayPlugins").field("place", &self.place).finish_non_exhaustive()
    }
}

impl PlayPlugins {
    /// Makes the plugins of a play. Nothing is loaded yet.
    pub(crate) fn new(tree: Arc<PlayTree>, runner: Arc<Runner>, policy: Policy, place: Option<PluginPlace>) -> Self {
        Self { tree, runner, policy, place, has_own: AtomicBool::new(false), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the plugins of a play's or a role's folder, once.
    pub(crate) fn folder_found(&self, folder: &str) {
        if !self.state().folders.insert(folder.to_owned()) {
            return;
        }
        for (kind, name, _) in KINDS {
            let folder = format!("{}/{name}", folder.trim_end_matches('/'));
            if !self.tree.is_folder(&folder) {
                continue;
            }
            let names = self.tree.list(&folder).unwrap_or_default();
            let sources = names.iter().filter(|name| name.ends_with(".py") && *name != "__init__.py");
            for source in sources.take(MAX_FILES) {
                self.load_file(kind, format!("{folder}/{source}"));
            }
        }
    }

    fn load_file(&self, kind: PluginKind, path: String) {
        let mut state = self.state();
        let loaded = self.source(&path).and_then(|text| {
            let place = self.place.as_ref().ok_or(NO_CORE)?;
            let file = OwnFile { kind, path: path.clone(), text };
            let names = self.process(&mut state, place).and_then(|()| state.load(&file))?;
            Ok((file, names))
        });
        match loaded {
            Ok((file, names)) => {
                self.has_own.store(true, Ordering::Relaxed);
                state.own.entry(kind).or_default().extend(names);
                state.files.push(file);
            }
            // As Ansible does: the file is left out, and a template that needs it fails.
            Err(reason) => {
                let is_told = state.failures.values().any(|told| *told == reason);
                if !is_told {
                    output::print_note(&format!("the plugins in `{path}` are left out: {reason}"));
                }
                state.failures.insert(path, reason);
            }
        }
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

    /// Starts the process if it does not run, with all files that were loaded before.
    fn process(&self, state: &mut State, place: &PluginPlace) -> Result<(), String> {
        if state.process.is_some() {
            return Ok(());
        }
        if let Some(refusal) = &state.refusal {
            return Err(refusal.clone());
        }
        match self.runner.start_plugins(place, &self.policy) {
            Ok(process) => state.process = Some(process),
            Err(error) => {
                let refusal = error_chain(&error);
                state.refusal = Some(refusal.clone());
                return Err(refusal);
            }
        }
        for file in state.files.clone() {
            state.load(&file)?;
        }
        Ok(())
    }

    /// Says why a filter or test cannot be used. `file` is the one that seems to have it.
    pub(crate) fn failure(&self, kind: AnyKind, name: &str, file: Option<&str>) -> Option<String> {
        let kind = match kind {
            AnyKind::Filter => PluginKind::Filter,
            AnyKind::Test => PluginKind::Test,
            AnyKind::Lookup => return None,
        };
        if self.place.is_none() {
            return Some(NO_CORE.to_owned());
        }
        let state = self.state();
        let of_file = || file.and_then(|file| state.failures.get(file)).cloned();
        let of_name = || state.of_collections.get(&(kind, name.to_owned()))?.as_ref().err().cloned();
        let unknown = || match name.rsplit_once('.') {
            Some((collection, _)) => format!("the collection `{collection}` is not installed, or does not have it"),
            None => "the file does not give it".to_owned(),
        };
        Some(of_file().or_else(|| state.refusal.clone()).or_else(of_name).unwrap_or_else(unknown))
    }

    fn find(&self, kind: PluginKind, name: &str) -> Result<bool, String> {
        let Some(place) = &self.place else { return Ok(false) };
        let mut state = self.state();
        let key = (kind, name.to_owned());
        if let Some(known) = state.of_collections.get(&key) {
            return known.clone();
        }
        let found = self.process(&mut state, place).and_then(|()| {
            let answer = state.ask("find", [("kind", word(kind)), ("name", name)].map(texts).into())?;
            Ok(answer.get("found").and_then(Value::as_bool).unwrap_or(false))
        });
        state.of_collections.insert(key, found.clone());
        found
    }
}

impl State {
    /// Loads a file, and returns the names that it gives.
    fn load(&mut self, file: &OwnFile) -> Result<Vec<String>, String> {
        let fields = [("kind", word(file.kind)), ("path", &file.path), ("text", &file.text)];
        let answer = self.ask("load", fields.map(texts).into())?;
        let names = answer.get("names").and_then(Value::as_list).unwrap_or_default();
        Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Shows what the plugins warn of, each text once.
    fn warn(&mut self, answer: &Dict) {
        let warnings = answer.get("warnings").and_then(Value::as_list).unwrap_or_default();
        for text in warnings.iter().filter_map(Value::as_str) {
            let text: String = text.chars().take(MAX_WARNING).collect();
            if self.warnings.len() < MAX_WARNINGS && self.warnings.insert(text.clone()) {
                output::print_note(&format!("a Python plugin warns: {text}"));
            }
        }
    }

    /// Sends a message, and returns the answer. A process that ended, or whose answer is invalid, is not used again.
    fn ask(&mut self, operation: &str, mut message: Dict) -> Result<Dict, String> {
        self.last += 1;
        message.insert("op".to_owned(), operation.into());
        message.insert("id".to_owned(), self.last.into());
        let process = self.process.as_mut().ok_or("its process has ended")?;
        let bytes = match process.exchange(encode(&Value::Dict(message)).as_bytes()) {
            Ok(bytes) => bytes,
            Err(error) => {
                if !matches!(error, PluginError::TooLarge) {
                    self.process = None;
                }
                return Err(error_chain(&error));
            }
        };
        let Some(answer) = answer(&bytes, self.last) else {
            self.process = None;
            return Err("its process answered another call, and was ended".to_owned());
        };
        self.warn(&answer);
        match answer.get("error") {
            Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
            None => Ok(answer),
        }
    }
}

/// Reads the answer to a message of a number.
fn answer(bytes: &[u8], number: i64) -> Option<Dict> {
    match decode(std::str::from_utf8(bytes).ok()?).ok()? {
        Value::Dict(answer) if answer.get("id").and_then(Value::as_int) == Some(number) => Some(answer),
        _ => None,
    }
}

fn texts((key, text): (&str, &str)) -> (String, Value) {
    (key.to_owned(), text.into())
}

fn word(kind: PluginKind) -> &'static str {
    KINDS.iter().find(|(known, ..)| *known == kind).map_or("", |(_, _, word)| word)
}

impl PythonPlugins for PlayPlugins {
    fn hides(&self, kind: PluginKind, name: &str) -> bool {
        self.has_own.load(Ordering::Relaxed) && self.state().own.get(&kind).is_some_and(|names| names.contains(name))
    }

    fn has(&self, kind: PluginKind, name: &str) -> bool {
        self.find(kind, name).unwrap_or(false)
    }

    fn call(&self, kind: PluginKind, name: &str, arguments: Value) -> Result<Value, PluginFailure> {
        let Some(place) = &self.place else { return Err(PluginFailure::Raised(NO_CORE.to_owned())) };
        let is_own = self.hides(kind, name);
        let mut state = self.state();
        let mut message: Dict = [("kind", word(kind)), ("name", name)].map(texts).into();
        message.insert("own".to_owned(), Value::Bool(is_own));
        message.insert("arguments".to_owned(), arguments);
        self.process(&mut state, place).map_err(PluginFailure::Raised)?;
        let answer = state.ask("call", message).map_err(PluginFailure::Raised)?;
        if let Some(type_name) = answer.get("type").and_then(Value::as_str) {
            return Err(PluginFailure::Type(type_name.to_owned()));
        }
        let none = || PluginFailure::Raised("its process sent no result".to_owned());
        answer.into_iter().find_map(|(key, value)| (key == "value").then_some(value)).ok_or_else(none)
    }
}
