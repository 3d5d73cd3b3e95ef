//! What a log says about one run beyond the columns of the table: why it failed, and what it was granted and denied.

use std::fmt::Write as _;

use modbox_python_json::{Value, from_value};
use modbox_vocabulary::Denial;

use crate::cli::audit_view::entry::{AuditEntry, duration_text, omitted, text};

/// A detail of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Its name.
    pub(crate) label: &'static str,
    /// Its text, as the log has it: not cleaned.
    pub(crate) text: String,
}

/// Returns why a run ended as it did: its limit, its error, its denials with what allows them, its grants and its notes.
pub(crate) fn course(entry: &AuditEntry) -> Vec<Detail> {
    let mut details = Vec::new();
    let mut push = |label, text: String| {
        if !text.is_empty() {
            details.push(Detail { label, text });
        }
    };
    push("limit", limit(entry));
    push("error", entry.field("error").map(text).unwrap_or_default());
    for denial in entry.list("denials") {
        push("denied", omitted(denial).map_or_else(|| denied(denial), |count| format!("and {count} more")));
    }
    for grant in entry.list("grants") {
        push("granted", omitted(grant).map_or_else(|| granted(grant), |count| format!("and {count} more")));
    }
    for note in entry.list("notes") {
        push("note", text(note));
    }
    details
}

/// Returns the other facts about a run: its module, arguments, confinement and process.
pub(crate) fn circumstances(entry: &AuditEntry) -> Vec<Detail> {
    let inner = |key, inner| entry.inner(key, inner).map(text).unwrap_or_default();
    let check = entry.field("check_mode").and_then(Value::as_bool) == Some(true);
    let facts = [
        ("task", entry.field("task").map(text).unwrap_or_default()),
        ("path", entry.path()),
        ("digest", inner("module", "digest")),
        ("arguments", entry.field("args").map(text).unwrap_or_default()),
        ("mode", if check { "check".to_owned() } else { String::new() }),
        ("level", inner("confinement", "level")),
        ("host", inner("who", "host")),
        ("process", inner("who", "pid")),
        ("modbox", entry.field("modbox").map(text).unwrap_or_default()),
        ("result", entry.field("result_digest").map(text).unwrap_or_default()),
    ];
    let facts = facts.into_iter().filter(|(_, text)| !text.is_empty());
    facts.map(|(label, text)| Detail { label, text }).collect()
}

fn limit(entry: &AuditEntry) -> String {
    let part = |key| entry.inner("limit", key).map(text).unwrap_or_default();
    match (part("kind").as_str(), part("allowed"), part("unit").as_str()) {
        ("", ..) => String::new(),
        (kind, allowed, "us") => match allowed.parse() {
            Ok(micros) => format!("{kind}, {}", duration_text(micros)),
            Err(_) => format!("{kind}, {allowed} us"),
        },
        (kind, allowed, unit) => format!("{kind}, {allowed} {unit}"),
    }
}

fn denied(denial: &Value) -> String {
    // A newer modbox may have words that this one does not know.
    from_value(denial.clone())
        .map_or_else(|_| words(denial, "allow", "; allow it with "), |known: Denial| known.message())
}

fn granted(grant: &Value) -> String {
    words(grant, "source", " from ")
}

/// Returns the capability and the subject of a grant or a denial, and one more entry.
fn words(item: &Value, more: &str, before: &str) -> String {
    let Some(item) = item.as_dict() else { return text(item) };
    let part = |key: &str| item.get(key).map(text).unwrap_or_default();
    let mut words = format!("{} {}", part("capability"), part("subject"));
    let more = part(more);
    if !more.is_empty() {
        let _ = write!(words, "{before}{more}");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(fields: &str) -> Vec<String> {
        let line = format!(r#"{{"time": "2026-01-02T03:04:05Z", "status": "ok", "module": {{}}, {fields}}}"#);
        let details = course(&AuditEntry::parse(line.into_bytes()).unwrap());
        details.into_iter().map(|detail| format!("{}: {}", detail.label, detail.text)).collect()
    }

    #[test]
    fn denials_say_what_allows_them() {
        let known = r#"{"capability": "read", "subject": "/a", "operation": "open", "allow": "--allow-read /a"}"#;
        let unknown = r#"{"capability": "dream", "subject": "/a", "allow": "--allow-dream /a"}"#;
        assert_eq!(
            shown(&format!(r#""denials": [{known}, {unknown}, 7, {{"omitted": 3}}]"#)),
            [
                "denied: reading `/a` was denied; allow it with `--allow-read /a`",
                "denied: dream /a; allow it with --allow-dream /a",
                "denied: 7",
                "denied: and 3 more",
            ]
        );
    }

    #[test]
    fn limits_have_their_units() {
        assert_eq!(shown(r#""limit": {"kind": "wall", "allowed": 1500000, "unit": "us"}"#), ["limit: wall, 1.5s"]);
        assert_eq!(shown(r#""limit": {"kind": "files", "allowed": 9, "unit": "files"}"#), ["limit: files, 9 files"]);
        assert_eq!(shown(r#""limit": "x""#), [""; 0]);
    }
}
