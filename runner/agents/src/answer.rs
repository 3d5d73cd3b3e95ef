//! What a call of a tool is answered with: one structure for every tool, so that one schema describes all answers.
//!
//! Clients check answers against the schema, and lose one that does not fit. So nothing of it comes from a module's own
//! description of its results, which is a claim.

use modbox_python_json::Dict;
use serde_json::{Map, json};

use crate::json::json as to_json;
use crate::text::{cut, escaped};

/// Maximum bytes of an answer as JSON. Clients put all of it into the context of a model.
pub const MAX_ANSWER: usize = 64 << 10;

/// Maximum bytes of a note.
const MAX_NOTE: usize = 2048;

/// Maximum number of notes and of denials, each.
const MAX_LISTED: usize = 32;

/// Maximum number of changes that are listed.
pub(crate) const MAX_CHANGES: usize = 40;

/// Maximum bytes of the line of a change.
pub(crate) const MAX_CHANGE: usize = 400;

/// Bytes of the longest text of a result that is kept whole, when the answer is too long: halved until it fits.
const FIRST_CUT: usize = 16 << 10;

/// The shortest of these.
const LAST_CUT: usize = 16;

/// A path, address or command that a call was refused, with what would grant it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedUse {
    /// What was missing, such as `read`.
    pub capability: String,
    /// The path, address or name.
    pub subject: String,
    /// The key of a policy file that would grant it; empty if none would.
    pub key: String,
}

/// The answer of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How it ended, in one word: that of a report, `invalid` for wrong arguments, or `refused` for a call that was not tried.
    pub status: String,
    /// Whether the call did what was asked.
    pub is_success: bool,
    /// The module's result.
    pub result: Dict,
    /// A line for each change that was made, or that a person is asked about.
    pub changes: Vec<String>,
    /// Name of the plan that a person decides about.
    pub plan: Option<String>,
    /// Name of the transaction that made the changes.
    pub run: Option<String>,
    /// What was refused.
    pub denials: Vec<RefusedUse>,
    /// Notes for the caller.
    pub notes: Vec<String>,
}

impl Answer {
    /// Returns the answer of a call that was not tried, for these reasons.
    #[must_use]
    pub fn refused(status: &str, reasons: Vec<String>) -> Self {
        Self {
            status: status.to_owned(),
            is_success: false,
            result: Dict::new(),
            changes: Vec::new(),
            plan: None,
            run: None,
            denials: Vec::new(),
            notes: reasons,
        }
    }

    /// Returns the answer as JSON of at most [`MAX_ANSWER`] bytes. What does not fit of the result is cut, and a note says so.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let result = self.shown_result();
        let whole = self.with_result(&result, None, MAX_LISTED);
        if length(&whole) <= MAX_ANSWER {
            return whole;
        }
        let cut_note = format!("the result is cut: it is longer than {MAX_ANSWER} bytes");
        let mut most = FIRST_CUT;
        while most >= LAST_CUT {
            let shorter = self.with_result(&shortened(&result, most), Some(&cut_note), MAX_LISTED);
            if length(&shorter) <= MAX_ANSWER {
                return shorter;
            }
            most /= 2;
        }
        let mut listed = MAX_LISTED;
        loop {
            let shortest = self.with_result(&json!({}), Some(&cut_note), listed);
            if listed == 1 || length(&shortest) <= MAX_ANSWER {
                return shortest;
            }
            listed /= 2;
        }
    }

    /// Returns the bytes of the result as JSON.
    pub(crate) fn result_length(&self) -> usize {
        length(&self.shown_result())
    }

    /// Returns the result without what only repeats the call.
    fn shown_result(&self) -> serde_json::Value {
        let shown = self.result.iter().filter(|(key, _)| key.as_str() != "invocation");
        shown.map(|(key, value)| (key.clone(), to_json(value))).collect::<Map<_, _>>().into()
    }

    /// Returns the answer with another result, a note about it, and as many notes and denials each as are listed.
    fn with_result(&self, result: &serde_json::Value, cut_note: Option<&String>, listed: usize) -> serde_json::Value {
        let denial = |one: &RefusedUse| {
            json!({
                "capability": one.capability,
                "subject": cut(one.subject.clone(), MAX_NOTE),
                "key": cut(one.key.clone(), MAX_NOTE),
            })
        };
        let left_out = self.notes.len().saturating_sub(listed) + self.denials.len().saturating_sub(listed);
        let left_out = (left_out > 0).then(|| format!("{left_out} more notes and denials are left out"));
        let notes = self.notes.iter().take(listed).chain(cut_note).chain(&left_out);
        let notes = notes.map(|note| cut(note.clone(), MAX_NOTE));
        json!({
            "status": self.status,
            "result": result,
            "changes": shown_changes(&self.changes),
            "plan": self.plan,
            "run": self.run,
            "denials": self.denials.iter().take(listed).map(denial).collect::<Vec<_>>(),
            "notes": notes.collect::<Vec<_>>(),
        })
    }
}

/// Returns changes as an answer lists them: the first ones, and how many more there are.
#[must_use]
pub fn shown_changes(changes: &[String]) -> Vec<String> {
    let more = changes.len().saturating_sub(MAX_CHANGES);
    let listed = changes.iter().take(MAX_CHANGES).map(|change| cut(escaped(change), MAX_CHANGE));
    listed.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// Returns whether an answer lists these changes whole.
#[must_use]
pub fn lists_whole(changes: &[String]) -> bool {
    changes.len() <= MAX_CHANGES && changes.iter().all(|change| escaped(change).len() <= MAX_CHANGE)
}

/// Returns the schema that every answer fits.
#[must_use]
pub fn output_schema() -> Map<String, serde_json::Value> {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let maybe_text = json!({"type": ["string", "null"]});
    let schema = json!({
        "type": "object",
        "properties": {
            "status": text,
            "result": {"type": "object"},
            "changes": texts,
            "plan": maybe_text,
            "run": maybe_text,
            "denials": {"type": "array", "items": {
                "type": "object",
                "properties": {"capability": text, "subject": text, "key": text},
                "required": ["capability", "subject", "key"],
                "additionalProperties": false,
            }},
            "notes": texts,
        },
        "required": ["status", "result", "changes", "plan", "run", "denials", "notes"],
        "additionalProperties": false,
    });
    match schema {
        serde_json::Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn length(value: &serde_json::Value) -> usize {
    value.to_string().len()
}

/// Returns a value whose texts have at most `most` bytes, and whose lists and objects at most as many entries.
fn shortened(value: &serde_json::Value, most: usize) -> serde_json::Value {
    match value {
        serde_json::Value::String(text) => cut(text.clone(), most).into(),
        serde_json::Value::Array(items) => items.iter().take(most).map(|item| shortened(item, most)).collect(),
        serde_json::Value::Object(entries) => entries
            .iter()
            .take(most)
            .map(|(key, value)| (cut(key.clone(), most), shortened(value, most)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::{Value, decode};

    use super::*;

    fn answer(result: &str) -> Answer {
        let Value::Dict(result) = decode(result).unwrap() else { panic!("an object") };
        Answer { is_success: true, result, ..Answer::refused("ok", Vec::new()) }
    }

    #[test]
    fn answers_have_all_keys_of_the_schema_and_no_others() {
        let denial = RefusedUse { capability: "read".to_owned(), subject: "/x".to_owned(), key: "k".to_owned() };
        let answer = Answer { denials: vec![denial], ..answer(r#"{"a": NaN, "invocation": {"b": 1}}"#) };
        let (json, schema) = (answer.to_json(), output_schema());
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        let known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, known);
        assert_eq!(schema["required"].as_array().unwrap().len(), known.len());
        assert_eq!(json["result"], json!({"a": "nan"}));
        assert_eq!(json["denials"], json!([{"capability": "read", "subject": "/x", "key": "k"}]));
    }

    #[test]
    fn long_results_are_cut_and_told() {
        let text = "名".repeat(100_000);
        let items: Vec<String> = (0..50_000).map(|n| format!(r#"{{"k{n}": {n}}}"#)).collect();
        for result in [format!(r#"{{"msg": "{text}", "rc": 3}}"#), format!(r#"{{"items": [{}]}}"#, items.join(","))] {
            let json = answer(&result).to_json();
            assert!(json.to_string().len() <= MAX_ANSWER);
            assert!(json["notes"][0].as_str().unwrap().starts_with("the result is cut"), "{json}");
            assert!(!json["result"].as_object().unwrap().is_empty());
        }
        let denial = RefusedUse { capability: "read".to_owned(), subject: "s".repeat(9000), key: "k".repeat(9000) };
        let many = Answer { notes: vec!["n".repeat(9000); 1000], denials: vec![denial; 50], ..answer("{}") };
        let json = many.to_json();
        assert!(json.to_string().len() <= MAX_ANSWER);
        let notes = json["notes"].as_array().unwrap();
        assert!(notes.len() > 2 && notes.last().unwrap().as_str().unwrap().ends_with("are left out"), "{json}");
    }

    #[test]
    fn changes_that_are_not_listed_whole_are_known() {
        let changes = |count, length| vec!["c".repeat(length); count];
        assert!(lists_whole(&changes(MAX_CHANGES, MAX_CHANGE)) && lists_whole(&[]));
        assert!(!lists_whole(&changes(MAX_CHANGES + 1, 1)) && !lists_whole(&changes(1, MAX_CHANGE + 1)));
        // An escaped character is longer than itself.
        assert!(!lists_whole(&["\u{202e}".repeat(MAX_CHANGE / 4)]));
    }
}
