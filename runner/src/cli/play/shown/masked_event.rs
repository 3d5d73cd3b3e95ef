//! Events of a play without secrets: those that results of modules of ansible-core 2.22 have told, and the play's own.
//!
//! Variables of the play keep the values, as in ansible-core 2.22, whose callbacks get masked results. So each text of an
//! event that a value can be in is masked on its way to what shows it, and so are lines of the play's files. Names of hosts and
//! places stay.

use modbox_contract::{Redactor, Value};
use modbox_tasks::report::events::{Event, PlayInfo, TaskInfo};
use modbox_tasks::report::message::{Excerpt, Message};
use modbox_tasks::report::outcome::Outcome;

/// Sends an event without secrets.
pub(crate) fn send(redactor: &Redactor, event: &Event<'_>, mut sink: impl FnMut(Event<'_>)) {
    let text = |text: &str| redactor.mask_text(text).into_owned();
    let task = |task: &TaskInfo| mask_task(redactor, task);
    let outcome = |outcome: &Outcome| mask_outcome(redactor, outcome);
    match event {
        Event::PlayStart(play) => sink(Event::PlayStart(&PlayInfo { name: text(&play.name), ..(*play).clone() })),
        Event::TaskStart(info) => sink(Event::TaskStart(&task(info))),
        Event::Item { task: info, outcome: ended } => sink(Event::Item { task: &task(info), outcome: &outcome(ended) }),
        Event::Retry { task: info, outcome: ended } => {
            sink(Event::Retry { task: &task(info), outcome: &outcome(ended) });
        }
        Event::Result { task: info, outcome: ended, ignored } => {
            sink(Event::Result { task: &task(info), outcome: &outcome(ended), ignored: *ignored });
        }
        Event::Included { task: info, name, label } => {
            let label = label.as_deref().map(text);
            sink(Event::Included { task: &task(info), name: &text(name), label });
        }
        Event::Notified { handler } => sink(Event::Notified { handler: &text(handler) }),
        Event::Meta { text: said } => sink(Event::Meta { text: &text(said) }),
        Event::Display { text: said } => sink(Event::Display { text: &text(said) }),
        Event::Verbose { level, text: said } => sink(Event::Verbose { level: *level, text: &text(said) }),
        Event::Warning(message) => sink(Event::Warning(&mask_message(redactor, message))),
        Event::Error(message) => sink(Event::Error(&mask_message(redactor, message))),
        Event::Stats { hosts, custom } => sink(Event::Stats { hosts, custom }),
        Event::PlaybookStart { file } => sink(Event::PlaybookStart { file }),
        Event::NoHostsMatched => sink(Event::NoHostsMatched),
        Event::NoHostsRemaining => sink(Event::NoHostsRemaining),
        Event::AsyncPoll { id, started, finished } => {
            sink(Event::AsyncPoll { id: id.clone(), started: started.clone(), finished: finished.clone() });
        }
        Event::AsyncEnd { id, failed } => sink(Event::AsyncEnd { id: id.clone(), failed: *failed }),
    }
}

fn mask_task(redactor: &Redactor, task: &TaskInfo) -> TaskInfo {
    let text = |text: &str| redactor.mask_text(text).into_owned();
    TaskInfo { name: text(&task.name), short_name: text(&task.short_name), ..task.clone() }
}

fn mask_outcome(redactor: &Redactor, outcome: &Outcome) -> Outcome {
    let messages = |all: &[Message]| all.iter().map(|message| mask_message(redactor, message)).collect();
    Outcome {
        data: redactor.mask_result(outcome.data.clone()),
        error: outcome.error.as_ref().map(|error| mask_message(redactor, error)),
        warnings: messages(&outcome.warnings),
        deprecations: messages(&outcome.deprecations),
        reports: outcome.reports.iter().map(|report| mask_report(redactor, report)).collect(),
        items: outcome.items.iter().map(|item| mask_outcome(redactor, item)).collect(),
        ..outcome.clone()
    }
}

/// Masks the report of a run. Its keys are modbox's own, but for those of the result.
fn mask_report(redactor: &Redactor, report: &Value) -> Value {
    let entry = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::Dict(result) if key == "result" => Value::Dict(redactor.mask_result(result.clone())),
            value => mask_report(redactor, value),
        };
        (key.clone(), value)
    };
    match report {
        Value::Dict(entries) => Value::Dict(entries.iter().map(entry).collect()),
        Value::List(items) => Value::List(items.iter().map(|item| mask_report(redactor, item)).collect()),
        Value::Str(_) => redactor.mask(report.clone()),
        // Numbers are what a run used.
        other => other.clone(),
    }
}

fn mask_message(redactor: &Redactor, message: &Message) -> Message {
    let text = |text: &str| redactor.mask_text(text).into_owned();
    Message {
        text: text(&message.text),
        help: message.help.as_deref().map(text),
        excerpt: message.excerpt.as_ref().map(|excerpt| mask_excerpt(redactor, excerpt)),
        cause: message.cause.as_deref().map(|cause| Box::new(mask_message(redactor, cause))),
        is_of_task: message.is_of_task,
    }
}

/// Masks the lines of a place, each by itself.
fn mask_excerpt(redactor: &Redactor, excerpt: &Excerpt) -> Excerpt {
    let lines = excerpt.lines.iter().map(|line| redactor.mask_text(line).into_owned()).collect();
    Excerpt { lines, ..excerpt.clone() }
}

#[cfg(test)]
mod tests {
    use modbox_contract::decode;

    use super::*;

    fn outcome(json: &str) -> Outcome {
        Outcome::of(decode(json).unwrap().as_dict().unwrap().clone())
    }

    #[test]
    fn texts_of_outcomes_at_every_depth_are_masked() {
        let redactor = Redactor::new(["Q7x9", "failed"]);
        let mut whole = outcome(r#"{"failed": true, "msg": "a Q7x9", "_ansible_item_label": "Q7x9"}"#);
        whole.error = Some(Message::new("E Q7x9").with_help("H Q7x9").causing("C Q7x9", None));
        whole.warnings = vec![Message::new("W Q7x9")];
        whole.deprecations = vec![Message::new("D Q7x9")];
        whole.reports = vec![decode(r#"{"status": "failed", "notes": ["N Q7x9"], "result": {"Q7x9": 7}}"#).unwrap()];
        whole.items = vec![outcome(r#"{"changed": true, "k Q7x9": ["Q7x9"]}"#)];
        let event = Event::Warning(&Message::new("W Q7x9"));
        send(&redactor, &event, |event| assert!(format!("{event:?}").contains("W $REDACTED$"), "{event:?}"));
        let masked = mask_outcome(&redactor, &whole);
        assert!(masked.is_failed() && masked.items[0].is_changed());
        let text = format!("{masked:?}");
        assert!(text.matches("$REDACTED$").count() >= 10, "{text}");
        assert!(!text.contains("Q7x9"), "{text}");
    }
}
