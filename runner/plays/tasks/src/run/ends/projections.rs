//! What a task registers, and the variable `_task` by which expressions read its results.
//!
//! `register` is the name of a variable, or since ansible-core 2.21 a mapping of names and expressions. The expressions see the
//! task's results as `_task.result`, `_task.loop_result` and `_task.polymorphic_result`; so do conditions and items after the
//! first one. A variable holds its expression until the task has ended, and the value of it from then on.

use std::sync::Arc;

use modbox_jinja::values as convert;
use modbox_python_json::Value as Json;
use modbox_template::{Layer, Origin, Provenance, Scope, Slot, Value};
use modbox_yaml::{Map, Node, Position, Source};

use crate::keywords::Keyword;
use crate::load::values;
use crate::model::task::Task;
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::run::session::Session;
use crate::vars::layer;

/// The variable with the results of the task itself.
const TASK: &str = "_task";

/// Messages of ansible-core 2.21 for `_task` before the first result, and outside of a loop.
const NO_RESULT: &str = "No task result has been recorded.";
const NO_LOOP: &str = "The current task is not a loop.";

/// A variable that a task registers.
#[derive(Debug, Clone)]
pub struct Projection {
    /// The name.
    pub name: String,
    /// The expression of its value; `None` for the whole result.
    expression: Option<Source>,
}

impl Projection {
    /// Returns the variable while the task runs.
    fn slot(&self, result: &Value) -> Slot {
        let origin = Origin::Result(self.name.as_str().into());
        match &self.expression {
            None => Slot::value(result.clone(), origin),
            Some(source) => {
                let provenance = Arc::new([origin].into_iter().collect());
                match source.node() {
                    Node::Text(text) => {
                        Slot::source_made(Source::template_of(text, source.position().clone()), provenance)
                    }
                    _ => Slot::source_made(source.clone(), provenance),
                }
            }
        }
    }
}

/// Returns the variables that a task registers.
#[must_use]
pub fn of(task: &Task) -> Vec<Projection> {
    let Some(source) = task.keyword(Keyword::Register) else { return Vec::new() };
    match source.as_map() {
        Some(map) => of_map(map),
        None => {
            let name = values::scalar_text(source);
            name.map(|name| Projection { name, expression: None }).into_iter().collect()
        }
    }
}

fn of_map(map: &Map) -> Vec<Projection> {
    map.iter()
        .map(|(key, entry)| Projection { name: values::key_text(key), expression: Some(entry.value.clone()) })
        .collect()
}

/// The results of the items of a loop so far.
#[derive(Debug, Clone, Default)]
pub struct LoopSoFar {
    results: Vec<Value>,
    changed: bool,
    failed: bool,
    ran: bool,
}

impl LoopSoFar {
    /// Adds the result of an item.
    pub fn add(&mut self, outcome: &Outcome) {
        self.results.push(convert::from_json(&Json::Dict(outcome.registered())));
        self.changed |= outcome.is_changed();
        self.failed |= outcome.is_failed();
        self.ran |= !outcome.is_skipped();
    }

    fn with(&self, outcome: &Outcome) -> Self {
        let mut more = self.clone();
        more.add(outcome);
        more
    }

    /// Returns the result of the loop as if it had ended.
    fn result(&self) -> Value {
        let mut entries = vec![("results", Value::from(self.results.clone())), ("changed", Value::from(self.changed))];
        let text = match (self.ran, self.failed) {
            (false, _) => "All items skipped",
            (true, true) => "One or more items failed",
            (true, false) => "All items completed",
        };
        entries.push(("msg", Value::from(text)));
        entries.push(("failed", Value::from(self.failed)));
        if !self.ran {
            entries.push(("skipped", Value::from(true)));
        }
        Value::from_pairs(entries)
    }
}

/// Returns `_task` before there is a result.
#[must_use]
pub fn before() -> Layer {
    task_layer(None, None, None)
}

/// Returns `_task` and what the task registers, after a result of the task or of an item. `earlier` has the items before.
#[must_use]
pub fn after(task: &Task, outcome: &Outcome, earlier: Option<&LoopSoFar>) -> Layer {
    let result = convert::from_json(&Json::Dict(outcome.registered()));
    let whole = earlier.map(|earlier| earlier.with(outcome).result());
    let mut found = task_layer(Some(result.clone()), whole, Some(result.clone()));
    for projection in of(task) {
        let with_items = || convert::from_json(&Json::Dict(outcome.with_items()));
        let result = if projection.expression.is_none() { with_items() } else { result.clone() };
        found.insert(projection.name.as_str(), projection.slot(&result));
    }
    found
}

/// Returns the layer with `_task`. A result that there is not is undefined, and says why.
fn task_layer(result: Option<Value>, loop_result: Option<Value>, polymorphic_result: Option<Value>) -> Layer {
    let entries = [
        ("result", result, NO_RESULT),
        ("loop_result", loop_result, NO_LOOP),
        ("polymorphic_result", polymorphic_result, NO_RESULT),
    ];
    let origin = || Origin::Result(TASK.into());
    let slot = |(name, value, why): (&str, Option<Value>, &str)| {
        let undefined = || {
            let text = format!("undef('The _task.{name} property is unavailable: {why}')");
            Slot::source_from(Source::template_of(&text, Position::start_of(TASK)), origin())
        };
        (Arc::from(name), value.map_or_else(undefined, |value| Slot::value(value, origin())))
    };
    let results: Layer = entries.into_iter().map(slot).collect();
    let mut layer = Layer::default();
    layer.insert(TASK, Slot::scope(Scope::new().with(Arc::new(results)), origin()));
    layer
}

/// A variable after the end of its task.
#[derive(Debug, Clone)]
pub enum Registered {
    /// Its value, and where that comes from.
    Value(Json, Arc<Provenance>),
    /// The reason why it has none.
    Undefined(String),
}

/// What a mapping of `register` came to.
#[derive(Debug, Default)]
pub struct RegisteredMap {
    /// The variables; empty unless `register` is a mapping.
    pub variables: Vec<(String, Registered)>,
    /// The failure of the task, if an expression failed.
    pub failure: Option<Message>,
}

/// Evaluates the expressions of a task that has ended. `scope` has the variables of the last item. `last` is its result, and
/// `whole` that of the loop.
#[must_use]
pub fn finish(
    session: &Session<'_>,
    task: &Task,
    scope: &Scope,
    last: &Outcome,
    whole: Option<&Outcome>,
) -> RegisteredMap {
    let projections: Vec<(String, Source)> =
        of(task).into_iter().filter_map(|found| Some((found.name, found.expression?))).collect();
    if projections.is_empty() {
        return RegisteredMap::default();
    }
    let value = |outcome: &Outcome| convert::from_json(&Json::Dict(outcome.registered()));
    let result = value(last);
    let whole = whole.map(value);
    let polymorphic = whole.clone().unwrap_or_else(|| result.clone());
    let mut layer = task_layer(Some(result.clone()), whole, Some(polymorphic));
    for projection in of(task) {
        layer.insert(projection.name.as_str(), projection.slot(&result));
    }
    let scope = scope.with(Arc::new(layer));
    let mut found = RegisteredMap::default();
    let (count, mut failures) = (projections.len(), Vec::new());
    for (name, source) in projections {
        let evaluated = match source.node() {
            Node::Text(_) => session.engine.expression(&source, &scope),
            _ => session.engine.evaluate(&source, &scope),
        };
        let registered = match evaluated {
            Ok(made) => {
                let mut provenance = made.provenance;
                provenance.insert(Origin::Result(name.as_str().into()));
                Registered::Value(layer::to_json(&made.value), Arc::new(provenance))
            }
            Err(error) => {
                let why = error.message();
                failures.push(format!("Register projection '{name}' failed. {why}"));
                Registered::Undefined(format!(
                    "The variable '{name}' is undefined because its register expression failed: {why}"
                ))
            }
        };
        found.variables.push((name, registered));
    }
    found.failure = (!failures.is_empty()).then(|| {
        let text = format!(
            "Task failed due to errors in {} out of {count} register projections. {}",
            failures.len(),
            failures.join(" ")
        );
        Message::new(text).at(session.excerpt(&task.position))
    });
    found
}

/// Sets the variables that a task registers.
pub fn register(session: &mut Session<'_>, task: &Task, variables: &[(String, Registered)]) {
    for (name, registered) in variables {
        match registered {
            Registered::Value(value, provenance) => session.vars.set(name, value, Arc::clone(provenance)),
            Registered::Undefined(why) => {
                let literal = modbox_python_json::repr(&Json::from(why.as_str()));
                let source = Source::template_of(&format!("undef({literal})"), task.position.clone());
                session.vars.set_source(name, source, Origin::Result(name.as_str().into()));
            }
        }
    }
}

/// Says whether anything of a task may read `_task` or what it registers while it runs.
#[must_use]
pub fn is_read(task: &Task) -> bool {
    let conditions = [Keyword::ChangedWhen, Keyword::FailedWhen, Keyword::Until, Keyword::Register];
    task.has_loop() || conditions.into_iter().any(|keyword| task.keyword(keyword).is_some())
}

/// Marks a task as failed whose expressions failed.
pub fn fail(outcome: &mut Outcome, failure: Message) {
    outcome.data.insert("failed".to_owned(), Json::Bool(true));
    outcome.data.entry("msg".to_owned()).or_insert_with(|| Json::from(failure.text.as_str()));
    outcome.is_failed_by_register = true;
    outcome.error = Some(failure);
}
