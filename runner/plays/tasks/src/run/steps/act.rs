//! Running a task's action until it succeeds, or until the attempts are used up, and deciding the status.

use std::sync::Arc;
use std::time::Duration;

use modbox_contract::is_made_message;
use modbox_python_json::{Dict, Value};
use modbox_template::{Scope, TemplateError};
use modbox_yaml::Source;

use crate::action_host::{HostError, HostErrorKind};
use crate::actions::context::{ActionContext, Findings};
use crate::actions::error::ActionError;
use crate::fields::conditions;
use crate::files::FileError;
use crate::keywords::Keyword;
use crate::model::task::is_builtin;
use crate::report::events::Event;
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::report::result;
use crate::run::ends::facts;
use crate::run::ends::projections;
use crate::run::errors;
use crate::run::session::Session;
use crate::run::steps::job::{self, Pace};
use crate::run::steps::prepare::Prepared;
use crate::run::steps::task_fields::{TaskFields, mark_no_log};
use crate::run::steps::task_run::TaskRun;

/// Variables of files of the play that an action read.
pub type IncludedVars = Vec<(Arc<str>, Source)>;

/// Runs the action until it succeeds, or until the attempts are used up.
///
/// # Errors
///
/// The action cannot be done, or what decides about another attempt cannot be evaluated.
pub fn run(
    run: &TaskRun<'_>,
    session: &mut Session<'_>,
    fields: &TaskFields,
    prepared: &Prepared,
) -> Result<(Outcome, IncludedVars), Message> {
    let until = run.task.keyword(Keyword::Until).map(conditions::conditions).unwrap_or_default();
    let attempts = match fields.retries {
        Some(retries) => 1 + retries.max(0),
        None if until.is_empty() => 1,
        None => 4,
    };
    for attempt in 1..=attempts {
        let Acted { mut outcome, included, is_raised } = act(run, session, fields, prepared)?;
        facts::apply_inventory(session, &mut outcome.data);
        result::set_defaults(&mut outcome.data);
        result::add_lines(&mut outcome.data);
        if is_raised {
            return Ok((outcome, included));
        }
        if attempts > 1 {
            outcome.data.insert("attempts".to_owned(), Value::Int(attempt));
        }
        let scope = after(run, session, &outcome);
        if !outcome.data.contains_key("skipped") {
            decide(run, session, &scope, &mut outcome);
        }
        if attempts == 1 {
            return Ok((outcome, included));
        }
        let scope = after(run, session, &outcome);
        let done = if until.is_empty() {
            !outcome.data.get("failed").is_some_and(Value::is_truthy)
        } else {
            let found = conditions::first_false(session.engine, &scope, &until);
            found.map_err(|error| until_failed(session, &error))?.is_none()
        };
        if done {
            return Ok((outcome, included));
        }
        if attempt == attempts || session.host.is_interrupted() {
            outcome.data.insert("attempts".to_owned(), Value::Int(attempts - 1));
            outcome.is_out_of_attempts = !outcome.data.get("failed").is_some_and(Value::is_truthy);
            outcome.data.insert("failed".to_owned(), Value::Bool(true));
            return Ok((outcome, included));
        }
        outcome.data.insert("_ansible_retry".to_owned(), Value::Bool(true));
        outcome.data.insert("retries".to_owned(), Value::Int(attempts));
        outcome.data.insert("attempts".to_owned(), Value::Int(attempt + 1));
        mark_no_log(run, session, &mut outcome);
        session.events.event(Event::Retry { task: run.info, outcome: &outcome });
        session.host.sleep(Duration::try_from_secs_f64(fields.delay).unwrap_or_default());
    }
    Err(Message::new("the task has no attempts"))
}

/// Returns the failure of a task whose `until` cannot be evaluated.
fn until_failed(session: &Session<'_>, error: &TemplateError) -> Message {
    let message = errors::of_template(session, error);
    let place = message.excerpt.clone();
    message.causing("An 'until' expression failed.", place)
}

/// What ansible-core 2.19's task executor warns of: facts, which a module returns, can be in such a template.
const TEMPLATED_ARGS: &str = "Using a template for task args is unsafe in some situations (see \
    https://docs.ansible.com/ansible/devel/reference_appendices/faq.html#argsplat-unsafe).";

/// What came of running the action once.
struct Acted {
    outcome: Outcome,
    included: IncludedVars,
    /// Whether the action ended itself, its time was over, or its module did not start. Keywords then change nothing of the
    /// status, and the task is not tried again.
    is_raised: bool,
}

impl Acted {
    fn returned(outcome: Outcome) -> Self {
        Self { outcome, included: Vec::new(), is_raised: false }
    }

    fn raised(outcome: Outcome) -> Self {
        Self { is_raised: true, ..Self::returned(outcome) }
    }
}

/// Runs the action once.
fn act(
    run: &TaskRun<'_>,
    session: &mut Session<'_>,
    fields: &TaskFields,
    prepared: &Prepared,
) -> Result<Acted, Message> {
    if let Err(error) = unsupported(fields, prepared) {
        return action_failed(session, error);
    }
    let mut context = ActionContext {
        task: run.task,
        action: prepared.name.clone(),
        args: prepared.args.args.clone(),
        sources: prepared.args.sources.clone(),
        provenance: prepared.args.provenance.clone(),
        scope: &run.scope,
        engine: session.engine,
        host: &mut *session.host,
        events: &mut *session.events,
        options: prepared.options.clone(),
        findings: Findings::default(),
    };
    let result = (prepared.action.run)(&mut context);
    let result = result.and_then(|started| match fields.job_limit > 0 && fields.poll > 0 {
        true => job::follow(&mut context, started, Pace { limit: fields.job_limit, poll: fields.poll }),
        false => Ok(started),
    });
    let findings = std::mem::take(&mut context.findings);
    let mut acted = match result {
        Ok(data) => Acted::returned(Outcome::of(data)),
        Err(ActionError::Host(error)) if error.kind == HostErrorKind::TimedOut => {
            Acted::raised(timed_out(run, session, fields.timeout, error))
        }
        Err(error) => action_failed(session, error)?,
    };
    let outcome = &mut acted.outcome;
    findings.failure.into_iter().for_each(|failure| session.note_failure(failure));
    if is_builtin(run.task.action_text(), "set_fact") {
        let own = prepared.args.provenance.iter();
        outcome.provenance = own.map(|(name, provenance)| (name.clone(), Arc::new(provenance.clone()))).collect();
    }
    outcome.warnings.extend(prepared.args.is_templated.then(|| Message::new(TEMPLATED_ARGS)));
    outcome.warnings.extend(findings.warnings);
    outcome.reports.splice(0..0, findings.reports);
    let module_error = findings.module_error.map(|error| error.causing("Module failed.", None));
    outcome.error = outcome.error.take().or(module_error);
    outcome.warnings.extend(result::take_warnings(&mut outcome.data));
    outcome.deprecations = findings.deprecations;
    outcome.deprecations.extend(result::take_deprecations(&mut outcome.data));
    acted.included = findings.included;
    Ok(acted)
}

/// Returns the outcome of an action that could not do its work, or the failure of the task.
fn action_failed(session: &mut Session<'_>, error: ActionError) -> Result<Acted, Message> {
    match error {
        ActionError::Skipped(text) => {
            let mut data = Dict::new();
            data.insert("skipped".to_owned(), Value::Bool(true));
            data.insert("msg".to_owned(), Value::from(text));
            Ok(Acted::raised(Outcome::of(data)))
        }
        ActionError::Failed(message) => {
            let mut data = Dict::new();
            data.insert("failed".to_owned(), Value::Bool(true));
            data.insert("msg".to_owned(), Value::from(message.brief()));
            let mut outcome = Outcome::of(data);
            outcome.error = Some(*message);
            Ok(Acted::raised(outcome))
        }
        ActionError::Template(error) => Err(errors::of_template(session, &error)),
        ActionError::Wrong(message) => Err(*message),
        ActionError::File(error) => {
            if matches!(error, FileError::Denied { .. }) {
                session.note_failure(HostErrorKind::Denied);
            }
            Err(Message::new(error.to_string()))
        }
        ActionError::Host(error) => {
            let mut data = Dict::new();
            data.insert("failed".to_owned(), Value::Bool(true));
            data.insert("msg".to_owned(), Value::from(error.message.as_str()));
            let mut outcome = Outcome::of(data);
            outcome.reports.extend(error.report);
            outcome.failure = Some(error.kind);
            outcome.error = Some(Message::new(error.message).causing("Module failed.", None));
            // Of these the module ran, and its end is a result.
            let has_run = matches!(error.kind, HostErrorKind::Limit | HostErrorKind::Crash);
            Ok(Acted { is_raised: !has_run, ..Acted::returned(outcome) })
        }
    }
}

/// Returns the outcome of a task that ran longer than its `timeout`, in Ansible's words.
fn timed_out(run: &TaskRun<'_>, session: &Session<'_>, seconds: i64, error: HostError) -> Outcome {
    let mut outcome = errors::outcome(session, run.task, Message::new(format!("Timed out after {seconds} second(s).")));
    let frame = "Configure `DISPLAY_TRACEBACK` to see a traceback on timeout errors.";
    let details = Value::from([("frame", Value::from(frame)), ("period", Value::Int(seconds))]);
    outcome.data.insert("timedout".to_owned(), details);
    outcome.reports.extend(error.report);
    outcome.failure = Some(error.kind);
    outcome
}

/// Returns the variables after a result: with the result itself, and with its facts.
fn after(run: &TaskRun<'_>, session: &Session<'_>, outcome: &Outcome) -> Scope {
    let mut scope = run.scope.clone();
    if let Some(facts) = facts::as_variables(session, run.task, outcome) {
        scope.push(Arc::new(facts));
    }
    if projections::is_read(run.task) {
        scope.push(Arc::new(projections::after(run.task, outcome, run.earlier.as_deref())));
    }
    scope
}

/// Applies `changed_when` and `failed_when`.
fn decide(run: &TaskRun<'_>, session: &Session<'_>, scope: &Scope, outcome: &mut Outcome) {
    let conditions = |keyword| run.task.keyword(keyword).map(conditions::conditions).unwrap_or_default();
    let holds = |scope: &Scope, list: &[Source]| {
        conditions::first_false(session.engine, scope, list).map(|found| found.is_none())
    };
    let changed = conditions(Keyword::ChangedWhen);
    if !changed.is_empty() {
        match holds(scope, &changed) {
            Ok(changed) => {
                outcome.data.insert("changed_when_result".to_owned(), Value::Bool(changed));
                outcome.data.insert("changed".to_owned(), Value::Bool(changed));
            }
            Err(error) => return undecided(session, outcome, Keyword::ChangedWhen, &error),
        }
    }
    let failed = conditions(Keyword::FailedWhen);
    if failed.is_empty() {
        return;
    }
    match holds(&after(run, session, outcome), &failed) {
        Ok(failed) => {
            outcome.data.insert("failed_when_result".to_owned(), Value::Bool(failed));
            suppress(outcome, Keyword::FailedWhen, failed);
            if failed {
                let message = Message::new("A 'failed_when' expression evaluated to 'True'.");
                outcome.error = Some(message.causing("Action failed.", None));
            }
        }
        Err(error) => undecided(session, outcome, Keyword::FailedWhen, &error),
    }
}

/// Returns why an action does not run as the task wants it: as a job, or in check mode.
fn unsupported(fields: &TaskFields, prepared: &Prepared) -> Result<(), ActionError> {
    let (action, name) = (prepared.action, &prepared.name);
    if fields.job_limit > 0 && !action.job {
        return Err(ActionError::failed(format!("This action ({name}) does not support async.")));
    }
    if fields.modes.check && !action.check_mode {
        return Err(ActionError::Skipped(format!("This action ({name}) does not support check mode.")));
    }
    Ok(())
}

/// Decides whether a result has failed, in the place of what it said itself: a failure of its own is noted, and its error returned.
fn suppress(outcome: &mut Outcome, keyword: Keyword, failed: bool) -> Option<Message> {
    let before = outcome.data.insert("failed".to_owned(), Value::Bool(failed));
    let suppressed = outcome.error.take();
    if suppressed.is_some() || before.is_some_and(|failed| failed.is_truthy()) {
        let text = Value::from("(traceback unavailable)");
        outcome.data.insert(format!("{}_suppressed_exception", keyword.text()), text);
    }
    suppressed
}

/// Fails a result whose status cannot be decided.
fn undecided(session: &Session<'_>, outcome: &mut Outcome, keyword: Keyword, error: &TemplateError) {
    let name = keyword.text();
    outcome.data.insert(format!("{name}_result"), Value::from(error.message()));
    let message = errors::of_template(session, error);
    let place = message.excerpt.clone();
    let message = message.causing(format!("A '{name}' expression failed."), place);
    let suppressed = suppress(outcome, keyword, true);
    if suppressed.is_some() {
        // A message that was made of the error says nothing any more.
        let said = outcome.data.get("msg").and_then(Value::as_str);
        if said.is_some_and(is_made_message) {
            outcome.data.shift_remove("msg");
        }
    }
    outcome.error = Some(match suppressed {
        Some(error) if error.is_of_task => message.failing_task(None),
        Some(error) => message.causing(error.text, None),
        None => message.causing("Action failed.", None),
    });
}
