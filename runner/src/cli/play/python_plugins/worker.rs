//! The process of plugins as a play sees it: started when it is needed, again after it broke a limit, and asked one message at a
//! time. While a plugin runs, it asks for variables, and what makes them may call further plugins, within the same process and
//! the same time.
//!
//! Templates are evaluated by one thread at a time. An answer that is not to the last question ends the process, so that
//! nothing is taken for the answer to another call.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use modbox_contract::{Dict, Value, decode, encode};
use modbox_policy::Policy;
use modbox_run::{PluginError, PluginPlace, PluginProcess, PluginRights, Runner, SandboxPlace, ShownPath};
use modbox_template::{CallVariables, PluginKind, Variable};
use modbox_vocabulary::error_chain;

use super::limits::{MAX_REASON, bounded};
use crate::cli::play::files::tree::PlayTree;

/// How many mappings of variables lie around one that a plugin asks for.
const MAX_PATH: usize = 16;

/// How many values an answer may have, since each takes many times its bytes in memory. A template may make no more.
const MAX_VALUES: usize = 8 << 20;

/// A file with plugins that is not one of a collection.
#[derive(Debug, Clone)]
pub(super) struct OwnFile {
    pub(super) kind: PluginKind,
    pub(super) path: String,
    pub(super) text: String,
    /// Whether a setting names its folder, so that files beside the play and in roles hide its names, also those that are
    /// loaded later.
    pub(super) is_configured: bool,
}

/// What a process of plugins may do besides reading the files of the play.
#[derive(Debug, Clone)]
pub(super) struct WorkerGrants {
    /// What a rule for one plugin grants.
    pub(super) of_rule: Policy,
    /// The policy of modules, of which only the confinement that is accepted counts.
    pub(super) every_module: Policy,
}

/// A process of plugins with its rights.
#[derive(Debug)]
pub(super) struct PluginWorker {
    runner: Arc<Runner>,
    place: PluginPlace,
    /// The component in which they run; without one they run natively.
    sandbox: Option<SandboxPlace>,
    tree: Arc<PlayTree>,
    grants: WorkerGrants,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    process: Option<PluginProcess>,
    /// Which process it is, from 1.
    generation: u64,
    /// Why no process can be started.
    refusal: Option<String>,
    /// What the process is shown of the play, and the folders of collections that there were.
    shown: (Vec<ShownPath>, Vec<PathBuf>),
    /// Files that were loaded, in their order. A new process loads them again.
    files: Vec<OwnFile>,
    /// Number of the last message.
    last: i64,
    /// When the outermost call that runs has to have ended.
    deadline: Option<Instant>,
}

/// A message that was sent.
struct Sent {
    number: i64,
    generation: u64,
    deadline: Instant,
}

impl PluginWorker {
    /// Returns a process that is started by its first message: in the sandbox if there is a component, else natively.
    pub(super) fn new(
        runner: Arc<Runner>,
        (place, sandbox): (PluginPlace, Option<SandboxPlace>),
        tree: Arc<PlayTree>,
        grants: WorkerGrants,
    ) -> Self {
        Self { runner, place, sandbox, tree, grants, state: Mutex::default() }
    }

    /// Says whether the process runs in the sandbox.
    pub(super) fn is_sandboxed(&self) -> bool {
        self.sandbox.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why no process can be started.
    pub(super) fn refusal(&self) -> Option<String> {
        self.state().refusal.clone()
    }

    /// Loads a file, and returns the answer.
    ///
    /// # Errors
    ///
    /// The process cannot be started, or what the file raised.
    pub(super) fn load(&self, file: OwnFile) -> Result<Dict, String> {
        self.start()?;
        let answer = self.exchange("load", load_message(&file), None)?;
        self.state().files.push(file);
        Ok(answer)
    }

    /// Forgets a file that was loaded, so that a new process does not load it. The names that it gave are not called here.
    pub(super) fn forget(&self, path: &str) {
        self.state().files.retain(|file| file.path != path);
    }

    /// Sends a message, and returns the answer. The variables are those that a plugin may ask for meanwhile.
    ///
    /// # Errors
    ///
    /// The process cannot be started, broke a limit, or what the plugin raised.
    pub(super) fn ask(
        &self,
        operation: &str,
        message: Dict,
        variables: Option<&dyn CallVariables>,
    ) -> Result<Dict, String> {
        self.start()?;
        self.exchange(operation, message, variables)
    }

    /// Starts the process if it does not run, with all files that were loaded before.
    fn start(&self) -> Result<(), String> {
        let files = {
            let mut state = self.state();
            if state.process.is_some() {
                return Ok(());
            }
            if let Some(refusal) = &state.refusal {
                return Err(refusal.clone());
            }
            let WorkerGrants { of_rule, every_module } = &self.grants;
            state.shown = self.shown();
            let rights = PluginRights::new(of_rule.clone(), every_module, &state.shown.0);
            let started = match &self.sandbox {
                Some(sandbox) => self.runner.start_sandboxed_plugins(sandbox, &self.place, &rights),
                None => self.runner.start_plugins(&self.place, &rights),
            };
            match started {
                Ok(process) => {
                    state.process = Some(process);
                    state.generation += 1;
                }
                Err(error) => {
                    let refusal = error_chain(&error);
                    state.refusal = Some(refusal.clone());
                    return Err(refusal);
                }
            }
            state.files.clone()
        };
        for file in &files {
            let loaded = self.exchange("load", load_message(file), None);
            if let Err(reason) = loaded {
                // Without one of its files it would answer for others. The next call tries again.
                self.state().process = None;
                let (path, reason) = (&file.path, bounded(&reason, MAX_REASON));
                return Err(format!("its process ended, and a new one could not load `{path}` again: {reason}"));
            }
        }
        Ok(())
    }

    /// Returns what a process that starts now is shown.
    fn shown(&self) -> (Vec<ShownPath>, Vec<PathBuf>) {
        // ansible-core looks only into those that are there when it starts.
        let collections = self.place.collections.iter().map(|folder| folder.path.join("ansible_collections"));
        (self.tree.shown(&self.place.installed()), collections.filter(|folder| folder.is_dir()).collect())
    }

    /// Ends the process if one that starts now would be shown other folders, such as those of collections that a task
    /// installed, and says whether it did. A call that runs keeps its process.
    pub(super) fn ends_if_outdated(&self) -> bool {
        let mut state = self.state();
        let is_outdated = state.process.is_some() && state.deadline.is_none() && state.shown != self.shown();
        if is_outdated {
            state.process = None;
        }
        is_outdated
    }

    fn exchange(&self, operation: &str, message: Dict, variables: Option<&dyn CallVariables>) -> Result<Dict, String> {
        let is_outermost = self.state().deadline.is_none();
        let answered = self.exchange_within(operation, message, variables);
        if is_outermost {
            self.state().deadline = None;
        }
        let answer = answered?;
        match answer.get("error") {
            Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
            None => Ok(answer),
        }
    }

    fn exchange_within(
        &self,
        operation: &str,
        mut message: Dict,
        variables: Option<&dyn CallVariables>,
    ) -> Result<Dict, String> {
        let sent = {
            let mut state = self.state();
            state.last += 1;
            let deadline = *state.deadline.get_or_insert_with(PluginProcess::deadline);
            Sent { number: state.last, generation: state.generation, deadline }
        };
        message.insert("op".to_owned(), operation.into());
        message.insert("id".to_owned(), sent.number.into());
        self.send(&sent, message)?;
        loop {
            let answer = self.receive(&sent)?;
            let Some(question) = answer.get("ask") else { return Ok(answer) };
            // No lock is held: what makes a variable may call a plugin.
            let reply = reply(question, variables);
            if let Err(reason) = self.send(&sent, reply) {
                // It waits for the reply, and would take the next message for it.
                self.end(&sent);
                return Err(reason);
            }
        }
    }

    fn send(&self, sent: &Sent, message: Dict) -> Result<(), String> {
        let bytes = encode(&Value::Dict(message));
        self.with(sent, |process| process.send(bytes.as_bytes(), sent.deadline))
    }

    /// Ends the process that a message was sent to.
    fn end(&self, sent: &Sent) {
        let mut state = self.state();
        if state.generation == sent.generation {
            state.process = None;
        }
    }

    /// Waits for a message to the call that runs.
    fn receive(&self, sent: &Sent) -> Result<Dict, String> {
        let bytes = self.with(sent, |process| process.receive(sent.deadline))?;
        let text = std::str::from_utf8(&bytes).ok();
        if text.is_some_and(|text| !has_few_values(text)) {
            self.end(sent);
            return Err(format!("its answer has more than {MAX_VALUES} values, and its process was ended"));
        }
        match text.and_then(|text| decode(text).ok()) {
            Some(Value::Dict(answer)) if answer.get("id").and_then(Value::as_int) == Some(sent.number) => Ok(answer),
            _ => {
                self.end(sent);
                Err("its process sent something else than the answer, and was ended".to_owned())
            }
        }
    }

    /// Uses the process that a message was sent to. A process that fails is not used again.
    fn with<T>(
        &self,
        sent: &Sent,
        use_it: impl FnOnce(&mut PluginProcess) -> Result<T, PluginError>,
    ) -> Result<T, String> {
        let mut state = self.state();
        // A call within this one may have ended the process, and another one may have started the next.
        let generation = state.generation;
        let process = state.process.as_mut().filter(|_| generation == sent.generation);
        let used = use_it(process.ok_or("its process has ended")?);
        used.map_err(|error| {
            if !matches!(error, PluginError::TooLarge) {
                state.process = None;
            }
            error_chain(&error)
        })
    }
}

/// Says whether a text of JSON has no more values than are read.
fn has_few_values(json: &str) -> bool {
    let (mut count, mut is_text, mut is_escaped) = (1_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count <= MAX_VALUES
}

fn load_message(file: &OwnFile) -> Dict {
    let texts = [("kind", file.kind.word()), ("path", &file.path), ("text", &file.text)];
    let mut message: Dict = texts.map(|(key, text)| (key.to_owned(), Value::from(text))).into();
    message.insert("configured".to_owned(), Value::Bool(file.is_configured));
    message
}

/// Answers a question of a plugin about variables. One that makes no sense has an empty answer.
fn reply(question: &Value, variables: Option<&dyn CallVariables>) -> Dict {
    let none = Dict::new;
    let Some((variables, question)) = variables.zip(question.as_dict()) else { return none() };
    if let Some(path) = question.get("names").and_then(path) {
        let names = variables.names(&path).iter().map(|name| Value::from(&**name)).collect();
        return Dict::from([("names".to_owned(), Value::List(names))]);
    }
    let Some(path) = question.get("variable").and_then(path) else { return none() };
    match variables.read(&path) {
        Variable::Missing => none(),
        Variable::Mapping => Dict::from([("mapping".to_owned(), Value::Bool(true))]),
        Variable::Value(value) => Dict::from([("value".to_owned(), value)]),
    }
}

fn path(value: &Value) -> Option<Vec<&str>> {
    let names = value.as_list()?;
    (names.len() <= MAX_PATH).then(|| names.iter().map(Value::as_str).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_an_answer_are_counted_outside_of_texts() {
        let many = |part: &str| part.repeat(MAX_VALUES + 1);
        assert!(has_few_values(&format!("[\"{}\", \"\\\"{}\"]", many(","), many("["))));
        for part in ["1,", "[", "{"] {
            assert!(!has_few_values(&format!("[\"\\\\\", {}", many(part))), "{part}");
        }
    }
}
