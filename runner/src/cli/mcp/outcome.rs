//! From the report of a run to the answer of a call.
//!
//! Reports tell people which switches of `modbox run` would help. An agent has none, so its answer names the key of a policy file
//! that the operator could add.

use modbox_agents::answer::{Answer, RefusedUse};
use modbox_agents::text::in_one_line;
use modbox_contract::{Dict, Value};
use modbox_run::{ADVICE_PREFIX, Report, Status};
use modbox_vocabulary::{Capability, Denial};

/// Maximum bytes of one text that is told.
const MAX_TEXT: usize = 1024;

/// Returns the answer of a call of a module that has a report.
pub(super) fn answer(module: &str, report: &Report, is_audited: bool, reads_only: bool) -> Answer {
    let denials: Vec<RefusedUse> = report.denials.iter().map(|denial| refused(module, denial, reads_only)).collect();
    let mut notes: Vec<String> = denials.iter().map(|denial| told(denial, reads_only)).collect();
    notes.extend(report.notes.iter().map(|note| in_one_line(note, MAX_TEXT)));
    if !is_audited {
        notes.push("the run is missing in an audit file; tell the operator".to_owned());
    }
    Answer {
        is_success: report.status.is_success() && is_audited,
        result: result(report),
        denials,
        ..Answer::refused(report.status.as_str(), notes)
    }
}

fn refused(module: &str, denial: &Denial, reads_only: bool) -> RefusedUse {
    let Denial { capability, subject, .. } = denial;
    let key = match capability {
        Capability::Read | Capability::Env => key(module, denial),
        // Tools that only read get nothing else, whatever is granted.
        Capability::Write | Capability::Own | Capability::Run if !reads_only => key(module, denial),
        _ => String::new(),
    };
    RefusedUse {
        capability: capability.to_string(),
        subject: in_one_line(subject, MAX_TEXT),
        key: in_one_line(&key, MAX_TEXT),
    }
}

/// Returns the key that would grant what was refused.
fn key(module: &str, Denial { capability, subject, .. }: &Denial) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    format!("modules: {{{}: {{allow: {{{capability}: [{}]}}}}}}", quoted(module), quoted(subject))
}

fn told(denial: &RefusedUse, reads_only: bool) -> String {
    let RefusedUse { capability, subject, key } = denial;
    match key.is_empty() {
        true if reads_only => format!("`{capability}` of `{subject}` was refused: these tools only read"),
        true => format!("`{capability}` of `{subject}` was refused, and tools are not given it"),
        false => format!(
            "`{capability}` of `{subject}` was refused; the operator could allow it in a policy file with `{key}`"
        ),
    }
}

/// Returns the result without advice about switches. That of a run which did not start is nothing but such advice.
fn result(report: &Report) -> Dict {
    if report.status == Status::Denied {
        return Dict::new();
    }
    let mut result = report.result.as_dict().clone();
    if let Some(Value::List(warnings)) = result.get_mut("warnings") {
        warnings.retain(|warning| !warning.as_str().is_some_and(|text| text.starts_with(ADVICE_PREFIX)));
        if warnings.is_empty() {
            result.shift_remove("warnings");
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::Operation;

    use super::*;

    #[test]
    fn a_denial_names_the_key_that_would_help() {
        let denial = |capability, subject: &str| Denial {
            capability,
            subject: subject.to_owned(),
            operation: Operation::Open,
            allow: "--allow-read=x".to_owned(),
        };
        let read = refused("acme.web.stat", &denial(Capability::Read, "/srv/a\u{202e}: b"), true);
        assert_eq!(read.key, r#"modules: {"acme.web.stat": {allow: {read: ["/srv/a: b"]}}}"#);
        assert!(told(&read, true).contains("the operator could allow it"));
        let write = refused("stat", &denial(Capability::Write, "/srv"), true);
        assert_eq!((write.key.as_str(), told(&write, true).ends_with("these tools only read")), ("", true));
        let write = refused("stat", &denial(Capability::Write, "/srv"), false);
        assert_eq!(write.key, r#"modules: {"stat": {allow: {write: ["/srv"]}}}"#);
        let net = refused("stat", &denial(Capability::Net, "h:1"), false);
        assert!(told(&net, false).ends_with("tools are not given it"));
    }
}
