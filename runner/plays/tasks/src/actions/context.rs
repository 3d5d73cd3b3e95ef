//! What an action works with: its arguments, the task's variables, and the caller's host.

use std::sync::Arc;

use indexmap::IndexMap;
use modbox_python_json::{Dict, Value};
use modbox_template::{Engine, Origin, Provenance, Scope, TemplateError};
use modbox_yaml::{Position, Source};

use crate::action_host::{ActionHost, HostErrorKind, ModuleCall, ModuleOptions, PrivateFile};
use crate::actions::error::ActionError;
use crate::fields::defaults;
use crate::load::find;
use crate::model::path_arguments::may_name_a_path;
use crate::model::task::{Argument, Task};
use crate::report::events::{Event, Events};
use crate::report::message::{Excerpt, Message};
use crate::report::result;
use crate::scalars;
use crate::vars::{layer, magic};

/// What an action works with.
pub struct ActionContext<'a> {
    /// The task.
    pub task: &'a Task,
    /// The name of the action, evaluated, as the task writes it.
    pub action: String,
    /// The arguments, evaluated. Free form is `_raw_params`.
    pub args: Dict,
    /// Arguments that the action evaluates itself.
    pub sources: IndexMap<Arc<str>, Argument>,
    /// Where the arguments come from.
    pub provenance: Vec<(String, Provenance)>,
    /// The variables.
    pub scope: &'a Scope,
    /// The template engine.
    pub engine: &'a Engine,
    /// The caller's host.
    pub host: &'a mut dyn ActionHost,
    /// Where events go.
    pub events: &'a mut dyn Events,
    /// How modules run.
    pub options: ModuleOptions,
    /// What the action found besides its result.
    pub findings: Findings,
}

/// What an action found besides its result.
#[derive(Debug, Default)]
pub struct Findings {
    /// Warnings.
    pub warnings: Vec<Message>,
    /// Deprecated things that the task uses.
    pub deprecations: Vec<Message>,
    /// Reports of modules.
    pub reports: Vec<Value>,
    /// Why the module that ran last failed.
    pub module_error: Option<Message>,
    /// What stopped a job that the task waited for.
    pub failure: Option<HostErrorKind>,
    /// Variables of files of the play, for the rest of the play.
    pub included: Vec<(Arc<str>, Source)>,
}

impl std::fmt::Debug for ActionContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActionContext").field("action", &self.action).finish_non_exhaustive()
    }
}

impl ActionContext<'_> {
    /// Runs a module with the task's options, and cleans its result.
    ///
    /// # Errors
    ///
    /// The module cannot be run.
    pub fn run_module(&mut self, name: &str, args: Dict) -> Result<Dict, ActionError> {
        self.run_module_with(name, args, Vec::new())
    }

    /// Runs a module to its end, although the task may run as a job: a step before the task's own module.
    ///
    /// # Errors
    ///
    /// The module cannot be run.
    pub fn run_step(&mut self, name: &str, args: Dict) -> Result<Dict, ActionError> {
        let job = self.options.job.take();
        let result = self.run_module(name, args);
        self.options.job = job;
        result
    }

    /// Runs a module with files that the action makes for it.
    ///
    /// # Errors
    ///
    /// The module cannot be run.
    pub fn run_module_with(&mut self, name: &str, args: Dict, files: Vec<PrivateFile>) -> Result<Dict, ActionError> {
        let call = self.call(name, args, files);
        let run = self.host.run_module(&call)?;
        // A job that was started has no report yet.
        self.findings.reports.extend(Some(run.report).filter(|report| *report != Value::Null));
        Ok(self.received(run.result))
    }

    /// Cleans the result of a module, and takes note of its warnings and of why it failed.
    pub fn received(&mut self, result: Dict) -> Dict {
        let mut cleaned = result::clean(result);
        self.findings.warnings.append(&mut cleaned.warnings);
        self.findings.module_error = module_error(&mut cleaned.data);
        cleaned.data
    }

    /// Returns where an argument of a module comes from. One that the action made of the task's arguments comes from all
    /// that may be in a path.
    fn provenance_of(&self, name: &str, value: &Value) -> Provenance {
        let is_given = self.args.get(name) == Some(value) || !may_name_a_path(name);
        let counts = |of: &str| if is_given { of == name } else { may_name_a_path(of) };
        let mut all = Provenance::default();
        let counted = self.provenance.iter().filter(|(of, _)| counts(of));
        counted.for_each(|(_, provenance)| all.extend(provenance));
        all
    }

    /// Notes that an argument is made of a module's result, too.
    pub fn note_result(&mut self, argument: &str, module: &str) {
        let result = Origin::Result(module.into());
        self.provenance.push((argument.to_owned(), [result].into_iter().collect()));
    }

    /// Looks for resources of a provider of libral, or updates one, with the task's options.
    ///
    /// # Errors
    ///
    /// The provider cannot be run.
    pub fn manage_resource(&mut self, provider: &str, args: Dict) -> Result<Dict, ActionError> {
        let call = self.call(provider, args, Vec::new());
        let run = self.host.manage_resource(&call)?;
        self.findings.reports.extend(run.reports);
        let mut cleaned = result::clean(run.result);
        self.findings.warnings.append(&mut cleaned.warnings);
        self.findings.module_error = module_error(&mut cleaned.data);
        Ok(cleaned.data)
    }

    fn call(&self, name: &str, args: Dict, files: Vec<PrivateFile>) -> ModuleCall {
        let provenance = args.iter().map(|(name, value)| (name.clone(), self.provenance_of(name, value))).collect();
        ModuleCall { name: name.to_owned(), args, provenance, files, options: self.options.clone() }
    }

    /// Evaluates a source with the task's variables.
    ///
    /// # Errors
    ///
    /// The template fails.
    pub fn evaluate(&self, source: &Source) -> Result<Value, TemplateError> {
        Ok(layer::to_json(&self.engine.evaluate(source, self.scope)?.value))
    }

    /// Returns the text of an argument. `None` if the task does not give it, or gives null.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.args.get(name).filter(|value| **value != Value::Null).map(modbox_python_json::str)
    }

    /// Returns the truth of an argument.
    ///
    /// # Errors
    ///
    /// The value is not a boolean or a word for one.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, ActionError> {
        let Some(value) = self.args.get(name).filter(|value| **value != Value::Null) else { return Ok(default) };
        scalars::truth(value).ok_or_else(|| {
            let found = modbox_python_json::repr(value);
            ActionError::failed(format!(
                "The value {found} is not a valid boolean.  Valid booleans include: 0, 1, '0', '1', 'f', 'false', 'n', \
                 'no', 'off', 'on', 't', 'true', 'y', 'yes'"
            ))
        })
    }

    /// Returns the truth of an argument. What is not a word for true is false, as Ansible's own actions take it.
    #[must_use]
    pub fn flag_of(&self, args: &Dict, name: &str, default: bool) -> bool {
        match args.get(name) {
            None => default,
            Some(value) => scalars::truth(value).unwrap_or(false),
        }
    }

    /// Returns the arguments of another module than the task's: those of the task over the defaults of that module.
    ///
    /// # Errors
    ///
    /// A default cannot be evaluated.
    pub fn with_defaults(&self, full_name: &str, args: Dict) -> Result<Dict, ActionError> {
        let mut all = Dict::new();
        for source in defaults::defaults(self.task, full_name, self.host) {
            if let Value::Dict(entries) = self.evaluate(&source)? {
                all.extend(entries);
            }
        }
        all.extend(args);
        Ok(all)
    }

    /// Checks that the task gives no other arguments than these.
    ///
    /// # Errors
    ///
    /// The task gives another one.
    pub fn check_args(&self, valid: &[&str]) -> Result<(), ActionError> {
        let invalid = self.other_args(|name| valid.contains(&name));
        if invalid.is_empty() {
            return Ok(());
        }
        Err(ActionError::failed(format!("Invalid options for {}: {}", self.action, invalid.join(","))))
    }

    /// Checks the arguments as [`ActionContext::check_args`] does, for an action whose options Ansible checks as those of
    /// a module. `options` is the list of them as messages show it, without aliases.
    ///
    /// # Errors
    ///
    /// The task gives another one.
    pub fn check_options(&self, options: &[&str], aliases: &[&str]) -> Result<(), ActionError> {
        let invalid = self.other_args(|name| options.contains(&name) || aliases.contains(&name));
        if invalid.is_empty() {
            return Ok(());
        }
        let aliases = if aliases.is_empty() { String::new() } else { format!(" ({})", aliases.join(", ")) };
        Err(ActionError::failed(format!(
            "Unsupported parameters for ({}) module: {}. Supported parameters include: {}{aliases}.",
            self.action,
            invalid.join(", "),
            options.join(", ")
        )))
    }

    /// Returns the sorted names of arguments that are not those of the action.
    fn other_args(&self, is_own: impl Fn(&str) -> bool) -> Vec<&str> {
        let given = self.args.keys().map(String::as_str).chain(self.sources.keys().map(|name| &**name));
        let mut others: Vec<&str> = given.filter(|name| !is_own(name)).collect();
        others.sort_unstable();
        others
    }

    /// Replaces `~` or `~user` at the beginning of a path.
    fn with_home(&self, path: &str) -> String {
        let Some(rest) = path.strip_prefix('~') else { return path.to_owned() };
        let (user, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        match self.host.home(Some(user).filter(|user| !user.is_empty())) {
            Some(home) => format!("{}{below}", home.trim_end_matches('/')),
            None => path.to_owned(),
        }
    }

    /// Finds a file that the task names: in the folders of its role and play, first in the one for such files.
    ///
    /// # Errors
    ///
    /// There is no such file, or the policy does not allow to look for it.
    pub fn find_file(&self, kind: &str, name: &str) -> Result<String, ActionError> {
        let search = magic::search_path(self.task);
        let name = &self.with_home(name);
        let candidates = find::stack(self.host.files(), &search, kind, name, &self.options.play_folder);
        for path in &candidates {
            // A path that may not be looked at is not one that does not exist: the denial names its switch.
            if self.host.files().kind(path)?.is_some() {
                return Ok(path.clone());
            }
        }
        let searched = candidates.iter().map(|path| format!("\n\t{path}")).collect::<String>();
        let text = format!("Could not find or access '{name}'\nSearched in:{searched} on the Ansible Controller.");
        Err(ActionError::Failed(Box::new(Message::new(text).about_missing_file())))
    }

    /// Returns the lines around a position of the play, for a message.
    #[must_use]
    pub fn excerpt(&self, position: &Position) -> Option<Excerpt> {
        Excerpt::in_file(position, self.host.files())
    }

    /// Returns the lines around the name of an argument, for a message.
    #[must_use]
    pub fn excerpt_of_name(&self, name: &str) -> Option<Excerpt> {
        self.excerpt(self.named(name)?.key.position())
    }

    /// Returns an argument as the task writes it.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Argument> {
        self.task.args.named.get(name)
    }

    /// Shows a text to the person at the terminal.
    pub fn display(&mut self, text: &str) {
        self.events.event(Event::Display { text });
    }

    /// Adds a warning to the result.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.findings.warnings.push(Message::new(text));
    }
}

/// Takes the exception out of a module's result, and returns why the module failed.
fn module_error(data: &mut Dict) -> Option<Message> {
    let exception = data.shift_remove("exception").filter(Value::is_truthy);
    let failed = data.get("failed").is_some_and(Value::is_truthy);
    if !failed && exception.is_none() {
        return None;
    }
    if let Some(summary) =
        exception.filter(|exception| exception.as_dict().is_some_and(|dict| dict.contains_key("event")))
    {
        let message = result::message(&summary);
        data.entry("msg".to_owned()).or_insert_with(|| Value::from(message.brief()));
        return Some(message);
    }
    let text = data.get("msg").map_or_else(|| "Unknown error.".to_owned(), modbox_python_json::str);
    Some(Message::new(text))
}

/// Returns a result with one entry.
#[must_use]
pub fn entry(name: &str, value: impl Into<Value>) -> Dict {
    std::iter::once((name.to_owned(), value.into())).collect()
}
