//! Messages of what fails before, in or after an action, in Ansible's words and with the places in the play.

use modbox_python_json::{Dict, Value};
use modbox_template::TemplateError;

use crate::action_host::HostErrorKind;
use crate::fields::FieldError;
use crate::fields::finalize_error::FinalizeError;
use crate::model::task::Task;
use crate::report::message::{Excerpt, Message};
use crate::report::outcome::Outcome;
use crate::run::session::Session;

/// Returns the message of a template that failed.
#[must_use]
pub fn of_template(session: &Session<'_>, error: &TemplateError) -> Message {
    let excerpt = session.excerpt(&error.place());
    let excerpt = if error.is_shown() { excerpt } else { excerpt.map(Excerpt::withheld) };
    let message = Message::new(error.message()).at(excerpt);
    if error.is_denied() {
        session.note_failure(HostErrorKind::Denied);
    }
    match error {
        TemplateError::NotBoolean { .. } => message.with_help(
            "Broken conditionals can be temporarily allowed with the `ALLOW_BROKEN_CONDITIONALS` configuration option.",
        ),
        _ => message,
    }
}

/// Returns the message of a keyword that cannot be evaluated.
#[must_use]
pub fn of_field(session: &Session<'_>, error: &FieldError) -> Message {
    match error {
        FieldError::Template { source_text, cause, .. } => {
            of_template(session, cause).causing(error.to_string(), session.excerpt(source_text.position()))
        }
        FieldError::Type { source_text, message, .. } => Message::new(message.as_str())
            .at(session.excerpt(source_text.position()))
            .causing(error.to_string(), session.excerpt(source_text.position())),
    }
}

/// Returns the message of arguments that cannot be finalized.
#[must_use]
pub fn of_arguments(session: &Session<'_>, task: &Task, action: &str, error: FinalizeError) -> Message {
    let place = session.excerpt(task.action.position());
    let inner = match error {
        FinalizeError::FreeForm(_) => {
            return Message::new(format!("Action '{action}' does not support raw params.")).at(place);
        }
        FinalizeError::Argument { name, source, cause } => {
            let text = format!("Error while resolving value for '{name}'.");
            of_template(session, &cause).causing(text, session.excerpt(source.position()))
        }
        FinalizeError::NotMapping { source, found } => {
            let text = format!("Task args must resolve to a 'dict' not '{found}'.");
            Message::new(text).at(session.excerpt(source.position()))
        }
    };
    inner.causing(format!("Finalization of task args for '{action}' failed."), place)
}

/// Returns the outcome of a task that failed before or instead of its action.
#[must_use]
pub fn outcome(session: &Session<'_>, task: &Task, message: Message) -> Outcome {
    let message = message.failing_task(session.excerpt(&task.position));
    let mut data = Dict::new();
    data.insert("failed".to_owned(), Value::Bool(true));
    data.insert("msg".to_owned(), Value::from(message.brief()));
    data.insert("changed".to_owned(), Value::Bool(false));
    let mut outcome = Outcome::of(data);
    outcome.error = Some(message);
    outcome
}
