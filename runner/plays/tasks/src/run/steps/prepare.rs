//! Preparing a task: finding its action, and evaluating its arguments.

use std::sync::Arc;

use modbox_python_json::Value;
use modbox_yaml::{Position, Source};

use crate::action_host::{HostErrorKind, ModuleOptions};
use crate::actions::table::{self, Action};
use crate::fields::defaults;
use crate::fields::finalize_error::FinalizeError;
use crate::model::task::{Args, Argument, ImplicitTask, TaskKind, short_name};
use crate::report::message::Message;
use crate::report::outcome::{INCLUDED_ARGS, INCLUDED_FILE, Outcome};
use crate::run::errors;
use crate::run::session::Session;
use crate::run::steps::finalize::{FinalArgs, Finalizer};
use crate::run::steps::task_fields::{TaskFields, module_options};
use crate::run::steps::task_run::TaskRun;
use crate::vars::layer;

/// An action with what it needs to run.
#[derive(Debug)]
pub struct Prepared {
    /// The action.
    pub action: &'static Action,
    /// Its name, as the task writes it.
    pub name: String,
    /// The arguments.
    pub args: FinalArgs,
    /// How modules run.
    pub options: ModuleOptions,
}

/// Finds the action of a task, and evaluates its arguments.
///
/// # Errors
///
/// The action is unknown, or an argument cannot be evaluated.
pub fn prepare(run: &TaskRun<'_>, session: &mut Session<'_>, fields: &TaskFields) -> Result<Prepared, Message> {
    let name = action_name(run, session)?;
    let collections = session.collections(run.task);
    let full_name = match table::find(&name) {
        Some(action) => action.full_name(),
        None => session.host.resolve(&name, &collections).ok_or_else(|| {
            session.note_failure(HostErrorKind::NotFound);
            Message::new(format!("Cannot resolve '{name}' to an action or module."))
                .at(session.excerpt(run.task.action.position()))
        })?,
    };
    let action = table::find(&name).or_else(|| table::find(&full_name)).unwrap_or(&table::NORMAL);
    let defaults = defaults::defaults(run.task, &full_name, session.host);
    let finalizer = Finalizer { engine: session.engine, scope: &run.scope, action };
    let args = match run.task.kind {
        TaskKind::Implicit(ImplicitTask::ValidateArguments) => validation(run, &finalizer),
        _ => finalizer.finalize(&run.task.args, &defaults),
    };
    let args = args.map_err(|error| errors::of_arguments(session, run.task, &full_name, error))?;
    let options = module_options(run, session, fields, collections);
    Ok(Prepared { action, name, args, options })
}

fn action_name(run: &TaskRun<'_>, session: &Session<'_>) -> Result<String, Message> {
    let source = &run.task.action;
    if !modbox_template::is_template(source) {
        return Ok(run.task.action_text().to_owned());
    }
    let evaluated =
        session.engine.evaluate(source, &run.scope).map_err(|error| errors::of_template(session, &error))?;
    Ok(modbox_python_json::str(&layer::to_json(&evaluated.value)))
}

/// Returns the arguments of the task that checks the arguments of a role.
fn validation(run: &TaskRun<'_>, finalizer: &Finalizer<'_>) -> Result<FinalArgs, FinalizeError> {
    let mut args = Args::default();
    let Some(role) = run.task.frame.role() else { return finalizer.finalize(&args, &[]) };
    let position = &run.task.position;
    let options = role.argument_spec.as_ref().and_then(|spec| spec.as_map()?.get("options").cloned());
    let spec = options.filter(|options| !options.is_null());
    let spec = spec.unwrap_or_else(|| empty_map(position));
    let key = Source::literal("argument_spec");
    args.named.insert("argument_spec".into(), Argument { key, value: spec });
    let mut found = finalizer.finalize(&args, &[])?;
    let mut provided = Args::default();
    for (name, source) in &role.parameter_sources {
        let argument = Argument { key: Source::literal(""), value: source.clone() };
        provided.named.insert(Arc::clone(name), argument);
    }
    let provided = finalizer.finalize(&provided, &[])?;
    found.args.insert("provided_arguments".to_owned(), Value::Dict(provided.args));
    let context = Value::from([
        ("type", Value::from("role")),
        ("name", Value::from(role.name.as_str())),
        ("argument_spec_name", Value::from(role.entry_point.as_str())),
        ("path", Value::from(role.path.as_str())),
    ]);
    found.args.insert("validate_args_context".to_owned(), context);
    Ok(found)
}

/// Returns the outcome of an include: its evaluated arguments.
///
/// # Errors
///
/// An argument cannot be evaluated.
pub fn include(run: &TaskRun<'_>, session: &Session<'_>) -> Result<Outcome, Message> {
    let finalizer = Finalizer { engine: session.engine, scope: &run.scope, action: &table::INCLUDE };
    let args = finalizer.finalize(&run.task.args, &[]).map_err(|error| {
        let name = format!("ansible.builtin.{}", short_name(run.task.action_text()));
        errors::of_arguments(session, run.task, &name, error)
    })?;
    let mut data = modbox_python_json::Dict::new();
    data.insert("changed".to_owned(), Value::Bool(false));
    data.insert("failed".to_owned(), Value::Bool(false));
    let mut include_args = args.args;
    if let Some(file) = include_args.shift_remove("_raw_params") {
        data.insert(INCLUDED_FILE.to_owned(), file);
    }
    // What it says of the included tasks is shown as it is written.
    if let Some(apply) = run.task.args.named.get("apply") {
        include_args.insert("apply".to_owned(), apply.value.to_data().unwrap_or_default());
    }
    data.insert(INCLUDED_ARGS.to_owned(), Value::Dict(include_args));
    Ok(Outcome::of(data))
}

fn empty_map(position: &Position) -> Source {
    Source::map_of([], position.clone()).unwrap_or_else(|_| Source::null(position.clone()))
}
