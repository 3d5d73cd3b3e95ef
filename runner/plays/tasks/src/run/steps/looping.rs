//! Loops: their items, the variables of an item, and the result of them all.

use std::sync::Arc;
use std::time::Duration;

use modbox_jinja::values as convert;
use modbox_python_json::{Dict, Value as Json};
use modbox_template::{Layer, Origin, Provenance, Scope, Slot, Value};
use modbox_yaml::Source;

use crate::action_host::HostErrorKind;
use crate::fields::Fields;
use crate::fields::conditions;
use crate::keywords::Keyword;
use crate::model::task::is_builtin;
use crate::report::events::Event;
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::run::ends::facts;
use crate::run::ends::projections::{self, LoopSoFar};
use crate::run::errors;
use crate::run::session::Session;
use crate::run::steps::attempt::{self, AttemptEnd};
use crate::run::steps::finalize;
use crate::run::steps::task_run::TaskRun;
use crate::scalars::{float, truth};
use crate::vars::layer;

/// The items of a loop, and where they come from.
#[derive(Debug)]
pub struct Items {
    values: Vec<Value>,
    /// The same items as text of the play, where that says the same: for items without templates, and for conditions.
    sources: Vec<Option<Source>>,
    pub(crate) provenance: Arc<Provenance>,
    /// Whether they are for conditions, so that results keep their text.
    are_conditions: bool,
}

impl Items {
    /// Says whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }
}

/// Why there are no items.
#[derive(Debug)]
pub enum LoopError {
    /// Something is undefined, which does not matter if the task is skipped.
    Undefined(Message),
    /// The loop is wrong.
    Wrong(Message),
}

/// `loop_control`, evaluated.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) variable: String,
    pub(crate) index: Option<String>,
    pause: Duration,
    extended: bool,
    all_items: bool,
    break_when: Vec<Source>,
}

/// Returns the items of a task's loop; `None` if it has no loop.
///
/// # Errors
///
/// The loop cannot be evaluated, or is not a list.
pub fn items(run: &TaskRun<'_>, session: &Session<'_>) -> Result<Option<Items>, LoopError> {
    if let Some((name, terms)) = &run.task.lookup {
        return lookup(run, session, name, terms).map(Some);
    }
    let Some(source) = run.task.keywords.get(Keyword::Loop) else { return Ok(None) };
    let evaluated = evaluate(run, session, source)?;
    let Some(values) = list(&evaluated.0) else {
        let found = convert::type_name(&evaluated.0);
        let message = Message::new(format!("The `loop` value must resolve to a 'list', not '{found}'."))
            .at(session.excerpt(source.position()))
            .with_help("Provide a list of items/templates, or a template resolving to a list.");
        return Err(LoopError::Wrong(message));
    };
    let conditions = is_builtin(run.task.action_text(), "assert");
    let same = |item: &Source| Some(item.clone()).filter(|item| conditions || !modbox_template::is_template(item));
    let written = session.engine.written(source, &run.scope).ok().and_then(|written| written.value);
    let written = written.as_ref().unwrap_or(source).as_list().unwrap_or_default();
    let sources = match written.len() == values.len() {
        true => written.iter().map(same).collect(),
        false => Vec::new(),
    };
    Ok(Some(Items { values, sources, provenance: provenance(evaluated.1, source), are_conditions: conditions }))
}

/// Returns the results of the lookup of a `with_` keyword.
fn lookup(run: &TaskRun<'_>, session: &Session<'_>, name: &str, terms: &Source) -> Result<Items, LoopError> {
    let evaluated = session.engine.loop_items(name, terms, &run.scope).map_err(|error| {
        if error.is_denied() {
            session.note_failure(HostErrorKind::Denied);
        }
        let message = Message::new(error.message()).at(session.excerpt(terms.position()));
        if error.is_undefined() { LoopError::Undefined(message) } else { LoopError::Wrong(message) }
    })?;
    let sources = if name == "items" { flat(terms, evaluated.value.len()) } else { Vec::new() };
    Ok(Items {
        values: evaluated.value,
        sources,
        provenance: provenance(evaluated.provenance, terms),
        are_conditions: false,
    })
}

/// Returns the items of `with_items` as text of the play, where they are those that the play lists.
fn flat(terms: &Source, count: usize) -> Vec<Option<Source>> {
    let is_plain = |item: &Source| item.as_list().is_none() && !modbox_template::is_template(item);
    match terms.as_list() {
        Some(written) if written.len() == count && written.iter().all(is_plain) => {
            written.iter().cloned().map(Some).collect()
        }
        _ => Vec::new(),
    }
}

fn evaluate(run: &TaskRun<'_>, session: &Session<'_>, source: &Source) -> Result<(Value, Provenance), LoopError> {
    match session.engine.evaluate(source, &run.scope) {
        Ok(evaluated) => Ok((evaluated.value, evaluated.provenance)),
        Err(error) => {
            let message = errors::of_template(session, &error);
            Err(if error.is_undefined() { LoopError::Undefined(message) } else { LoopError::Wrong(message) })
        }
    }
}

/// Returns the items of a list.
fn list(value: &Value) -> Option<Vec<Value>> {
    matches!(convert::view(value), convert::View::List).then(|| convert::items(value).ok()).flatten()
}

/// Returns where items come from: from what the loop read, and from its own text.
fn provenance(mut read: Provenance, source: &Source) -> Arc<Provenance> {
    finalize::add_text(&mut read, source);
    read.insert(Origin::LoopItem);
    Arc::new(read)
}

/// How a loop ended.
#[derive(Debug)]
pub struct LoopEnd {
    /// How its items ended.
    pub parts: Vec<AttemptEnd>,
    /// The result of them all.
    pub whole: Outcome,
    /// The variables of the last item.
    pub scope: Scope,
}

/// Runs a task for each item.
///
/// # Errors
///
/// `loop_control` cannot be evaluated.
pub fn run(run: &TaskRun<'_>, session: &mut Session<'_>, items: &Items) -> Result<LoopEnd, Message> {
    let control = control(run, session)?;
    if run.scope.get(&control.variable).is_some() {
        let help = "You should set the `loop_var` value in the `loop_control` option for the task to something else to \
                    avoid variable collisions and unexpected behavior.";
        let text = format!("The loop variable '{}' is already in use.", control.variable);
        session.events.event(Event::Warning(&Message::new(text).with_help(help)));
    }
    let mut ends: Vec<AttemptEnd> = Vec::new();
    let mut registered: Option<Arc<Layer>> = None;
    let mut so_far = Arc::new(LoopSoFar::default());
    let mut last = run.scope.clone();
    let mut set = Dict::new();
    // Where the facts of items come from.
    let mut made = Outcome::default();
    for index in 0..items.values.len() {
        if index > 0 && !control.pause.is_zero() {
            session.host.sleep(control.pause);
        }
        let mut scope = run.scope.clone();
        facts::of_items(session, run.task, &made, &set).into_iter().for_each(|layer| scope.push(Arc::new(layer)));
        registered.take().into_iter().for_each(|layer| scope.push(layer));
        scope.push(Arc::new(item_layer(&control, items, index)));
        let item_run = TaskRun { task: run.task, info: run.info, scope, earlier: Some(Arc::clone(&so_far)) };
        let mut end = attempt::run(&item_run, session, None);
        let found = end.outcome.data.get("ansible_facts").and_then(Json::as_dict);
        set.extend(found.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
        made.provenance.extend(end.outcome.provenance.iter().cloned());
        complete(&control, items, index, &mut end.outcome);
        let after = Arc::new(projections::after(run.task, &end.outcome, Some(&so_far)));
        let scope = item_run.scope.with(Arc::clone(&after));
        drop(item_run);
        registered = Some(after);
        let is_last = breaks(session, &control, &scope, &mut end.outcome);
        label(run, session, &control, &scope, &mut end.outcome);
        session.events.event(Event::Item { task: run.info, outcome: &end.outcome });
        Arc::make_mut(&mut so_far).add(&end.outcome);
        last = scope;
        ends.push(end);
        if is_last || session.host.is_interrupted() {
            break;
        }
    }
    let whole = whole(&mut ends);
    Ok(LoopEnd { parts: ends, whole, scope: last })
}

/// Evaluates `break_when` after an item. Returns whether the loop ends, and notes that in the item's result. A condition that
/// fails ends the loop, and fails the item (ansible-core 2.21, `set_break_when_result`).
fn breaks(session: &Session<'_>, control: &Control, scope: &Scope, outcome: &mut Outcome) -> bool {
    if control.break_when.is_empty() {
        return false;
    }
    let found = conditions::first_false(session.engine, scope, &control.break_when);
    let (ends, shown) = match found {
        Ok(first_false) => (first_false.is_none(), Json::Bool(first_false.is_none())),
        Err(error) => {
            let message = errors::of_template(session, &error);
            let place = message.excerpt.clone();
            let shown = Json::from(message.brief());
            outcome.data.insert("failed".to_owned(), Json::Bool(true));
            outcome.error = Some(message.causing("A 'break_when' expression failed.", place));
            (true, shown)
        }
    };
    outcome.data.insert("break_when_result".to_owned(), shown);
    ends
}

/// Evaluates `loop_control`.
///
/// # Errors
///
/// A keyword of it cannot be evaluated.
pub(crate) fn control(run: &TaskRun<'_>, session: &Session<'_>) -> Result<Control, Message> {
    let given = &run.task.loop_control;
    let fields = Fields { engine: session.engine, scope: &run.scope };
    let value = |keyword| match given.get(keyword) {
        None => Ok(None),
        Some(source) => fields.source(keyword, source).map_err(|error| errors::of_field(session, &error)),
    };
    let text = |keyword| Ok::<_, Message>(value(keyword)?.map(|value: Json| modbox_python_json::str(&value)));
    let flag = |keyword, default| match value(keyword)? {
        None => Ok(default),
        Some(value) => truth(&value).ok_or_else(|| wrong(session, given.get(keyword), &value, "bool")),
    };
    let pause = match value(Keyword::Pause)? {
        None => 0.0,
        Some(value) => float(&value).ok_or_else(|| wrong(session, given.get(Keyword::Pause), &value, "float"))?,
    };
    Ok(Control {
        variable: text(Keyword::LoopVar)?.unwrap_or_else(|| "item".to_owned()),
        index: text(Keyword::IndexVar)?,
        pause: Duration::try_from_secs_f64(pause).unwrap_or_default(),
        extended: flag(Keyword::Extended, false)?,
        all_items: flag(Keyword::ExtendedAllitems, true)?,
        break_when: given.get(Keyword::BreakWhen).map(conditions::conditions).unwrap_or_default(),
    })
}

fn wrong(session: &Session<'_>, source: Option<&Source>, value: &Json, kind: &str) -> Message {
    let text = format!("The value {} could not be converted to '{kind}'.", modbox_python_json::repr(value));
    Message::new(text).at(source.and_then(|source| session.excerpt(source.position())))
}

/// Returns the variables of an item.
pub(crate) fn item_layer(control: &Control, items: &Items, index: usize) -> Layer {
    let mut layer = Layer::default();
    let item = items.values.get(index).cloned().unwrap_or_default();
    layer.insert("ansible_loop_var", Slot::value(Value::from(control.variable.as_str()), Origin::Magic));
    let slot = match items.sources.get(index) {
        Some(Some(source)) if !items.provenance.has_results() => Slot::source(source.clone()),
        Some(Some(source)) => Slot::source_made(source.clone(), Arc::clone(&items.provenance)),
        _ => Slot::made(item, Arc::clone(&items.provenance)),
    };
    layer.insert(control.variable.as_str(), slot);
    if let Some(name) = &control.index {
        layer.insert("ansible_index_var", Slot::value(Value::from(name.as_str()), Origin::Magic));
        layer.insert(name.as_str(), Slot::value(Value::from(index), Origin::Magic));
    }
    if control.extended {
        layer.insert("ansible_loop", Slot::made(extended(control, items, index), Arc::clone(&items.provenance)));
    }
    layer
}

/// Returns `ansible_loop`.
fn extended(control: &Control, items: &Items, index: usize) -> Value {
    let length = items.values.len();
    let mut entries = vec![
        ("index", Value::from(index + 1)),
        ("index0", Value::from(index)),
        ("first", Value::from(index == 0)),
        ("last", Value::from(index + 1 == length)),
        ("length", Value::from(length)),
        ("revindex", Value::from(length - index)),
        ("revindex0", Value::from(length - index - 1)),
    ];
    if control.all_items {
        entries.push(("allitems", Value::from(items.values.clone())));
    }
    if let Some(next) = items.values.get(index + 1) {
        entries.push(("nextitem", next.clone()));
    }
    if let Some(previous) = index.checked_sub(1).and_then(|index| items.values.get(index)) {
        entries.push(("previtem", previous.clone()));
    }
    Value::from_pairs(entries)
}

/// Adds to the outcome of an item what it was for.
pub(crate) fn complete(control: &Control, items: &Items, index: usize, outcome: &mut Outcome) {
    if let Some(Some(source)) = items.sources.get(index).filter(|_| items.are_conditions) {
        outcome.item = Some((control.variable.clone(), source.clone()));
    }
    let data = &mut outcome.data;
    let item = items.values.get(index).map(layer::to_json).unwrap_or_default();
    data.insert(control.variable.clone(), item);
    data.insert("ansible_loop_var".to_owned(), Json::from(control.variable.as_str()));
    if let Some(name) = &control.index {
        data.insert(name.clone(), Json::from(u64::try_from(index).unwrap_or(u64::MAX)));
        data.insert("ansible_index_var".to_owned(), Json::from(name.as_str()));
    }
    if control.extended {
        data.insert("ansible_loop".to_owned(), layer::to_json(&extended(control, items, index)));
    }
    data.insert("_ansible_item_result".to_owned(), Json::Bool(true));
    for name in [control.variable.as_str(), "ansible_loop"] {
        outcome.provenance.push((name.to_owned(), Arc::clone(&items.provenance)));
    }
}

/// Evaluates the label of an item. One that cannot be evaluated is the item itself (ansible-core 2.21.5).
fn label(run: &TaskRun<'_>, session: &Session<'_>, control: &Control, scope: &Scope, outcome: &mut Outcome) {
    let mut label = outcome.data.get(&control.variable).cloned().unwrap_or_default();
    match run.task.loop_control.get(Keyword::Label).map(|source| session.engine.evaluate(source, scope)) {
        None => {}
        Some(Ok(evaluated)) => label = layer::to_json(&evaluated.value),
        Some(Err(error)) => {
            let message = errors::of_template(session, &error);
            let place = message.excerpt.clone();
            outcome.warnings.push(message.causing("Failed to template loop_control label.", place));
        }
    }
    outcome.data.insert("_ansible_item_label".to_owned(), label);
}

/// Returns the result of all items.
fn whole(ends: &mut [AttemptEnd]) -> Outcome {
    let mut data = Dict::new();
    let holds = |outcome: &Outcome, key: &str| outcome.data.get(key).is_some_and(Json::is_truthy);
    let any = |ends: &[AttemptEnd], key| ends.iter().any(|end| holds(&end.outcome, key));
    let skipped = ends.iter().all(|end| holds(&end.outcome, "skipped"));
    data.insert("failed".to_owned(), Json::Bool(any(ends, "failed")));
    if skipped {
        data.insert("skipped".to_owned(), Json::Bool(true));
    }
    for key in ["_ansible_no_log", "changed", "unreachable"] {
        if any(ends, key) {
            data.insert(key.to_owned(), Json::Bool(true));
        }
    }
    let text = match (any(ends, "failed"), skipped) {
        (_, true) => "All items skipped",
        (true, false) => "One or more items failed",
        (false, false) => "All items completed",
    };
    data.insert("msg".to_owned(), Json::from(text));
    data.entry("changed".to_owned()).or_insert(Json::Bool(false));
    let mut outcome = Outcome::of(data);
    outcome.is_loop = true;
    outcome.items = ends.iter().map(|end| end.outcome.clone()).collect();
    outcome
}
