//! The keywords of a task that are evaluated before it runs.

use modbox_contract::RunModes;
use modbox_python_json::{Dict, Value};
use modbox_yaml::Map;

use crate::action_host::{JobOptions, ModuleOptions};
use crate::fields::Fields;
use crate::keywords::Keyword;
use crate::load::values;
use crate::model::task::is_builtin;
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::run::errors;
use crate::run::session::Session;
use crate::run::steps::become_user::{self, BecomeError};
use crate::run::steps::task_run::TaskRun;
use crate::scalars::{truth, whole};
use crate::vars::interpreters::{self, NamedInterpreter};
use crate::vars::job_folder;

/// The keywords of a task that are evaluated before it runs.
#[derive(Debug, Default)]
pub struct TaskFields {
    /// The modes of modules.
    pub modes: RunModes,
    /// Whether a failure does not stop the play.
    pub ignore_errors: bool,
    /// Whether a failure stops the play for all hosts.
    pub any_errors_fatal: bool,
    /// What is notified if something changed.
    pub notify: Vec<String>,
    /// How often it runs again.
    pub retries: Option<i64>,
    /// The seconds between attempts.
    pub delay: f64,
    /// The limit of a job in seconds; 0 for none.
    pub job_limit: i64,
    /// The seconds between looks at a job; 0 to leave it alone.
    pub poll: i64,
    /// The limit of its run in seconds; 0 for none.
    pub timeout: i64,
    /// Variables of the environment of modules.
    pub environment: Vec<(String, String)>,
    /// The user that modules run as.
    pub become_user: Option<String>,
    /// Programs to start instead of interpreters.
    pub interpreters: Vec<NamedInterpreter>,
}

/// Evaluates the keywords of a task.
///
/// # Errors
///
/// One cannot be evaluated, has the wrong type, or has a value that modbox does not support.
pub fn evaluate(run: &TaskRun<'_>, session: &Session<'_>) -> Result<TaskFields, Message> {
    let options = session.options;
    let check = run.field(session, |fields, task| fields.flag(task, Keyword::CheckMode, options.check))?;
    let diff = run.field(session, |fields, task| fields.flag(task, Keyword::Diff, options.diff))?;
    let ignore_errors = run.field(session, |fields, task| fields.flag(task, Keyword::IgnoreErrors, false))?;
    let any_errors_fatal =
        run.field(session, |fields, task| fields.flag(task, Keyword::AnyErrorsFatal, options.any_errors_fatal))?;
    let no_log = run.field(session, |fields, task| fields.flag(task, Keyword::NoLog, options.no_log))?;
    let integer = |keyword| run.field(session, |fields, task| fields.integer(task, keyword));
    check_types(run, session)?;
    let notify = notify(run, session)?;
    if let Some(connection) = run.field(session, |fields, task| fields.text(task, Keyword::Connection))?
        && !connection.ends_with("local")
        && !session.is_for_elsewhere()
    {
        return Err(Message::new(format!(
            "failed to use the connection `{connection}`: modbox runs on this host only; use `local`"
        )));
    }
    let become_fields = Fields { engine: session.engine, scope: &run.scope };
    let passwords = become_user::passwords(&become_fields, options, run.task);
    passwords.iter().for_each(|password| session.host.register_secret(password));
    let named = become_fields.variable("ansible_inject_invocation").as_ref().and_then(truth);
    let repeats_arguments = named.unwrap_or(options.repeats_arguments);
    let open_files = open_files(&become_fields, options.open_files)?;
    let become_user = become_user::target(&become_fields, options, run.task).map_err(|error| match error {
        BecomeError::Field(error) => errors::of_field(session, &error),
        error @ BecomeError::NotRoot { .. } => Message::new(error.to_string()),
    })?;
    let delay = run.field(session, |fields, task| fields.number(task, Keyword::Delay))?.unwrap_or(5.0);
    Ok(TaskFields {
        modes: RunModes { check, diff, no_log, repeats_arguments, verbosity: options.verbosity, open_files },
        ignore_errors,
        any_errors_fatal,
        notify,
        retries: integer(Keyword::Retries)?,
        delay: if delay < 0.0 { 1.0 } else { delay },
        job_limit: integer(Keyword::Async)?.unwrap_or(0),
        poll: integer(Keyword::Poll)?.unwrap_or(options.poll_interval),
        timeout: integer(Keyword::Timeout)?.unwrap_or(options.task_timeout),
        environment: environment(run, session)?,
        become_user,
        interpreters: interpreters::named(session.engine, &run.scope, &options.python)
            .map_err(|error| errors::of_template(session, &error))?,
    })
}

/// Returns the soft limit of open files of Python modules: what the variable says, or else the setting; 0 to leave it.
fn open_files(fields: &Fields<'_>, setting: u64) -> Result<u64, Message> {
    const VARIABLE: &str = "ansible_python_module_rlimit_nofile";
    let Some(value) = fields.variable(VARIABLE) else { return Ok(setting) };
    let number = whole(&value).ok_or_else(|| {
        let shown = modbox_python_json::encode(&value);
        Message::new(format!("failed to read the variable `{VARIABLE}`: expected a whole number, found {shown}"))
    })?;
    Ok(u64::try_from(number).unwrap_or(0))
}

/// Checks the types of keywords that make no difference here, or that were evaluated before with a default for errors.
fn check_types(run: &TaskRun<'_>, session: &Session<'_>) -> Result<(), Message> {
    for keyword in [Keyword::DelegateFacts, Keyword::IgnoreUnreachable, Keyword::RunOnce] {
        run.field(session, |fields, task| fields.flag(task, keyword, false))?;
    }
    for keyword in [Keyword::Port, Keyword::Throttle] {
        run.field(session, |fields, task| fields.integer(task, keyword))?;
    }
    Ok(())
}

/// Evaluates what is notified: names and topics, in lists or alone.
fn notify(run: &TaskRun<'_>, session: &Session<'_>) -> Result<Vec<String>, Message> {
    let mut names = Vec::new();
    for source in run.task.collected(Keyword::Notify) {
        match run.field(session, |fields, _| fields.source(Keyword::Notify, source))? {
            Some(Value::List(items)) => names.extend(items.iter().map(modbox_python_json::str)),
            Some(Value::Null) | None => {}
            Some(other) => names.push(modbox_python_json::str(&other)),
        }
    }
    names.dedup();
    Ok(names)
}

/// Evaluates the environment: mappings of all levels, the innermost counts.
fn environment(run: &TaskRun<'_>, session: &Session<'_>) -> Result<Vec<(String, String)>, Message> {
    let mut found = Dict::new();
    for source in run.task.collected(Keyword::Environment).into_iter().rev().flat_map(values::items) {
        match run.field(session, |fields, _| fields.source(Keyword::Environment, &source)) {
            Ok(Some(Value::Dict(entries))) => found.extend(entries),
            Ok(_) => {}
            // Before facts are gathered, variables of facts are not there yet. Other variables are.
            Err(_) if is_builtin(run.task.action_text(), "gather_facts") => {
                for (key, entry) in source.as_map().into_iter().flat_map(Map::iter) {
                    let value = run.field(session, |fields, _| fields.source(Keyword::Environment, &entry.value));
                    if let Ok(Some(value)) = value {
                        found.insert(values::key_text(key), value);
                    }
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found.into_iter().map(|(name, value)| (name, modbox_python_json::str(&value))).collect())
}

/// Returns how modules of a task run.
#[must_use]
pub fn module_options(
    run: &TaskRun<'_>,
    session: &Session<'_>,
    fields: &TaskFields,
    collections: Vec<String>,
) -> ModuleOptions {
    let positive = |number: i64| u64::try_from(number).ok().filter(|number| *number > 0);
    ModuleOptions {
        modes: fields.modes,
        environment: fields.environment.clone(),
        become_user: fields.become_user.clone(),
        job: positive(fields.job_limit).map(|limit| job_options(run, session, fields, limit)),
        timeout: positive(fields.timeout),
        interpreters: fields.interpreters.clone(),
        collections,
        role_path: run.task.frame.role().map(|role| role.path.clone()),
        play_folder: session.play.folder.clone(),
        task: run.task.position.to_string(),
        task_name: run.info.name.clone(),
        role_name: run.task.frame.role().map(|role| role.full_name()),
    }
}

/// Returns how modules of a task run as jobs.
fn job_options(run: &TaskRun<'_>, session: &Session<'_>, fields: &TaskFields, limit: u64) -> JobOptions {
    JobOptions { limit, is_followed: fields.poll > 0, folder: job_folder::named(session.engine, &run.scope) }
}

/// Notes in an outcome whether it may be shown.
pub(super) fn mark_no_log(run: &TaskRun<'_>, session: &Session<'_>, outcome: &mut Outcome) {
    let no_log = run
        .field(session, |fields, task| fields.flag(task, Keyword::NoLog, session.options.no_log))
        .unwrap_or_else(|error| {
            let text = error.brief();
            outcome
                .warnings
                .push(Message::new(format!("Invalid no_log value for task, output will be masked. {text}")));
            true
        });
    let own = outcome.data.get("_ansible_no_log").is_some_and(Value::is_truthy);
    outcome.data.insert("_ansible_no_log".to_owned(), Value::Bool(no_log || own));
}
