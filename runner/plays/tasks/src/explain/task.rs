//! Explains one task: its keywords, its arguments, and the calls of modules that its action would make.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};
use modbox_template::{Origin, Provenance, Scope};
use modbox_yaml::Source;

use crate::actions::context::{ActionContext, Findings, entry};
use crate::actions::table::{self, Action};
use crate::explain::arguments::{self, KnownArguments};
use crate::explain::explanation::{TaskExplanation, UnknownReason};
use crate::fields::Fields;
use crate::fields::conditions;
use crate::fields::defaults;
use crate::keywords::Keyword;
use crate::load::values;
use crate::model::task::{Task, is_builtin, is_one_of, short_name};
use crate::report::outcome::Outcome;
use crate::run::ends::projections::{self, Projection};
use crate::run::playbooks::tags;
use crate::run::session::Session;
use crate::run::steps::become_user::{self, BecomeError};
use crate::run::steps::finalize::Finalizer;
use crate::run::steps::item_scopes;
use crate::run::steps::looping;
use crate::run::steps::prepare;
use crate::run::steps::task;
use crate::run::steps::task_fields::{self, TaskFields};
use crate::run::steps::task_run::TaskRun;

/// Maximum number of items of a loop that are looked at.
const MAX_ITEMS: usize = 100;

/// Actions that run modules. The others do nothing to the machine.
const RUN_MODULES: [&str; 17] = [
    "assemble",
    "async_status",
    "command",
    "copy",
    "dnf",
    "fetch",
    "gather_facts",
    "package",
    "raw",
    "script",
    "service",
    "shell",
    "template",
    "unarchive",
    "uri",
    "yum",
    "normal",
];

/// Explains a task. Returns what includes of it would read, too.
pub(super) fn explain(session: &mut Session<'_>, task: &Arc<Task>) -> (TaskExplanation, Vec<Outcome>) {
    let info = task::info(session, task);
    let scope = session.scope(Some(task));
    let tags = tags::of_task(session.engine, &scope, task);
    let mut explanation = TaskExplanation {
        play: session.play.name.clone(),
        name: info.name.clone(),
        short_name: info.short_name.clone(),
        role: task.frame.role().map(|role| role.full_name()),
        action: task.action_text().to_owned(),
        position: task.position.to_string(),
        is_handler: task.is_handler(),
        conditions: conditions::when(task).iter().map(shown).collect(),
        refused: refusals(session, &scope, task),
        ..TaskExplanation::default()
    };
    match tags {
        Ok(tags) => explanation.tags = tags.into_iter().collect(),
        Err(error) => explanation.notes.push(format!("tags: {error}")),
    }
    let run = TaskRun { task, info: &info, scope, earlier: None };
    let mut outcomes = Vec::new();
    for (index, scope) in scopes(&run, session, &mut explanation) {
        let run = TaskRun { task, info: &info, scope, earlier: None };
        let mut explained = Explained { session, run: &run, explanation: &mut explanation };
        if let Some(mut outcome) = explained.once() {
            if let Some(index) = index {
                item_scopes::mark(&run, session, &index, &mut outcome);
            }
            outcomes.push(outcome);
        }
    }
    let no_log = run.field(session, |fields, task| fields.flag(task, Keyword::NoLog, session.options.no_log));
    explanation.is_hidden = no_log.unwrap_or(true);
    if explanation.is_hidden {
        hide_faults(&mut explanation);
    }
    remember_result(session, task, &explanation);
    (explanation, outcomes)
}

fn shown(source: &Source) -> String {
    values::scalar_text(source)
        .unwrap_or_else(|| source.to_data().map_or_else(|_| String::new(), |data| modbox_python_json::encode(&data)))
}

/// Hides why templates cannot be evaluated: the reason can have a part of a value.
fn hide_faults(explanation: &mut TaskExplanation) {
    for (_, reason) in &mut explanation.unknown {
        if let UnknownReason::Fault(text) = reason {
            "not known, for a reason that `no_log` hides".clone_into(text);
        }
    }
}

/// Returns why a task would not run.
fn refusals(session: &Session<'_>, scope: &Scope, task: &Task) -> Vec<String> {
    let fields = Fields { engine: session.engine, scope };
    let mut refused = Vec::new();
    if let Err(error @ BecomeError::NotRoot { .. }) = become_user::target(&fields, session.options, task) {
        refused.push(error.to_string());
    }
    let delegate = fields.text(task, Keyword::DelegateTo).ok().flatten();
    if let Some(host) = delegate.filter(|host| !session.is_here(host)) {
        refused.push(format!("delegated to `{host}`: modbox runs tasks on this host only"));
    }
    refused
}

/// Returns the variables for each item of the loop, with its number; those of the task if it has no loop.
fn scopes(
    run: &TaskRun<'_>,
    session: &Session<'_>,
    explanation: &mut TaskExplanation,
) -> Vec<(Option<item_scopes::ItemNumber>, Scope)> {
    if !run.task.has_loop() {
        return vec![(None, run.scope.clone())];
    }
    let items = looping::items(run, session).ok().flatten().map(Arc::new);
    let scopes = items.as_ref().and_then(|items| item_scopes::scopes(run, session, items, MAX_ITEMS));
    if let (Some(items), Some(scopes)) = (items, scopes) {
        let more = items.len().saturating_sub(scopes.len());
        let and_more = if more > 0 { format!(", of which the last {more} are not looked at") } else { String::new() };
        explanation.repeats = Some(format!("{} items{and_more}", items.len()));
        return scopes.into_iter().map(|(number, scope)| (Some(number), scope)).collect();
    }
    let (scope, provenance) = item_scopes::unknown_item(run, session);
    let results = arguments::results(provenance.iter());
    let from = if results.is_empty() { "what is not known yet".to_owned() } else { results };
    explanation.repeats = Some(format!("items from {from}"));
    vec![(None, scope)]
}

/// Notes that what a task registers is not known.
fn remember_result(session: &mut Session<'_>, task: &Task, explanation: &TaskExplanation) {
    for Projection { name, .. } in projections::of(task) {
        let origin = format!("{name}` of `{}` ({})", explanation.name, explanation.position);
        session.vars.set(&name, &Value::Null, made_of(&origin));
    }
}

/// Returns the provenance of a result. The text ends a quoted name.
fn made_of(name: &str) -> Arc<Provenance> {
    Arc::new([Origin::Result(name.trim_end_matches('`').into())].into_iter().collect())
}

struct Explained<'w, 's> {
    session: &'w mut Session<'s>,
    run: &'w TaskRun<'w>,
    explanation: &'w mut TaskExplanation,
}

impl Explained<'_, '_> {
    /// Explains the task for one item. Returns the outcome of an include.
    fn once(&mut self) -> Option<Outcome> {
        let task = self.run.task;
        let name = task.action_text().to_owned();
        let action = if task.is_include() { &table::INCLUDE } else { table::find(&name).unwrap_or(&table::NORMAL) };
        let full_name = match table::find(&name) {
            Some(action) => Some(action.full_name()),
            None => self.session.host.resolve(&name, &self.session.collections(task)),
        };
        let defaults = full_name.map(|name| defaults::defaults(task, &name, self.session.host)).unwrap_or_default();
        let finalizer = Finalizer { engine: self.session.engine, scope: &self.run.scope, action };
        let known = arguments::known(&finalizer, &task.args, &defaults);
        for (name, reason) in &known.unknown {
            let entry = (name.clone(), reason.clone());
            if !self.explanation.unknown.contains(&entry) {
                self.explanation.unknown.push(entry);
            }
        }
        for (name, templates) in &known.templates {
            let entry = (name.clone(), templates.clone());
            if !self.explanation.templates.contains(&entry) {
                self.explanation.templates.push(entry);
            }
        }
        if task.is_include() {
            return self.include(&known);
        }
        let short = short_name(&name);
        if is_one_of(&name, &["set_fact", "include_vars"]) {
            self.variables(action, known);
        } else if table::find(&name).is_none_or(Action::needs_collection) || RUN_MODULES.contains(&short) {
            self.act(action, known);
        }
        None
    }

    fn include(&mut self, known: &KnownArguments) -> Option<Outcome> {
        if !known.unknown.is_empty() {
            return None;
        }
        prepare::include(self.run, self.session).map_err(|error| self.note(&error.brief())).ok()
    }

    fn note(&mut self, text: &str) {
        let text = text.to_owned();
        if !self.explanation.notes.contains(&text) {
            self.explanation.notes.push(text);
        }
    }

    /// Carries out the action, on a host that runs no module.
    fn act(&mut self, action: &'static Action, known: KnownArguments) {
        let is_whole = known.unknown.is_empty();
        let args = known.found.args.clone();
        let mut context = self.context(known);
        let result = (action.run)(&mut context);
        // What an action does before its own module does not show what that needs.
        let is_step = |report: &Value| report.as_str().is_some_and(|name| short_name(name) == "stat");
        if context.findings.reports.iter().all(is_step)
            && let Some((module, args)) = own_module(action.name, args)
        {
            drop(context.run_module(module, args));
        }
        if let Err(error) = result
            && is_whole
        {
            self.note(&error.to_string());
        }
    }

    /// Sets the variables that the task sets, if it sets them in any case.
    fn variables(&mut self, action: &'static Action, known: KnownArguments) {
        let task = self.run.task;
        let is_certain = conditions::when(task).is_empty() && !task.has_loop() && known.unknown.is_empty();
        let origin = format!("{}` ({})", task.action_text(), task.position);
        if is_builtin(task.action_text(), "set_fact") {
            let unknown: Vec<String> = known.unknown.keys().cloned().collect();
            for name in unknown.iter().chain(known.found.args.keys()) {
                self.session.vars.set(name, &Value::Null, made_of(&origin));
            }
            if is_certain {
                for (name, provenance) in known.found.provenance {
                    let value = known.found.args.get(&name).cloned().unwrap_or_default();
                    self.session.vars.set(&name, &value, Arc::new(provenance));
                }
            }
            return;
        }
        let mut context = self.context(known);
        let result = (action.run)(&mut context);
        let included = std::mem::take(&mut context.findings.included);
        let failed = |result: &Dict| result.get("message").map(modbox_python_json::str);
        match result.map(|result| failed(&result)) {
            Ok(None) => {}
            Ok(Some(message)) => self.note(&message),
            Err(error) => self.note(&error.to_string()),
        }
        for (name, source) in included {
            self.session.vars.include(&name, source);
        }
    }

    fn context(&mut self, known: KnownArguments) -> ActionContext<'_> {
        let fields = task_fields::evaluate(self.run, self.session);
        let fields = fields.unwrap_or_else(|error| {
            self.note(&error.brief());
            TaskFields::default()
        });
        let collections = self.session.collections(self.run.task);
        let options = task_fields::module_options(self.run, self.session, &fields, collections);
        ActionContext {
            task: self.run.task,
            action: self.run.task.action_text().to_owned(),
            args: known.found.args,
            sources: known.found.sources,
            provenance: known.found.provenance,
            scope: &self.run.scope,
            engine: self.session.engine,
            host: &mut *self.session.host,
            events: &mut *self.session.events,
            options,
            findings: Findings::default(),
        }
    }
}

/// Returns the module that an action runs, with those of the task's arguments that are known to be the module's.
fn own_module(action: &str, args: Dict) -> Option<(&'static str, Dict)> {
    let only = |args: &Dict, name: &str| args.get(name).map(|value| entry(name, value.clone()));
    match action {
        "template" | "copy" | "assemble" => Some(("ansible.legacy.copy", only(&args, "dest")?)),
        "fetch" => Some(("ansible.legacy.slurp", only(&args, "src")?)),
        "unarchive" => Some(("ansible.legacy.unarchive", args)),
        "uri" => Some(("ansible.legacy.uri", args)),
        _ => None,
    }
}
