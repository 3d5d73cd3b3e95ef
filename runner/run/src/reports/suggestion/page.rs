//! Writes a suggested policy as YAML with comments. Each entry has a line of its own, so that the caller can turn it into
//! a comment.

use std::fmt::Write as _;

use modbox_policy::ModuleKey;

use super::model::{Occurrences, Reasons, Rules, Suggestion};
use super::play::PlaySuggestion;
use super::widen;

/// Maximum number of remarks on a module. A parser of YAML takes only so many comments in a row.
const MAX_REMARKS: usize = 24;

/// Writes the policy file. `origin` is the command that made it.
#[must_use]
pub fn render(mut suggestion: Suggestion, origin: &str) -> String {
    let runs: u64 = suggestion.modules.values().map(|rules| rules.runs).sum();
    let mut text = format!(
        "# Suggested by `{}` from {}. Read each line before you use it.\n",
        comment(origin),
        plural(runs, "run")
    );
    if suggestion.nameless.count > 0 {
        let found = places(&suggestion.nameless);
        let _ = writeln!(text, "# Left out, since the record does not name the module by this key: {found}");
    }
    suggestion.modules.values_mut().for_each(|rules| widen::reduce(&mut rules.entries));
    if suggestion.modules.values().all(|rules| rules.entries.is_empty()) {
        text.push_str("# A policy file has to grant nothing for these runs.\n");
    }
    if !suggestion.modules.is_empty() {
        text.push_str("modules:\n");
    }
    for (key, rules) in &suggestion.modules {
        push_module(&mut text, key, rules);
    }
    text
}

/// Writes the policy file of a play. `origin` is the command that made it.
#[must_use]
pub fn render_play(mut suggestion: PlaySuggestion, origin: &str) -> String {
    let mut text = format!("# Suggested by `{}`. Read each line before you use it.\n", comment(origin));
    widen::reduce(&mut suggestion.play.entries);
    suggestion.tasks.values_mut().for_each(|rules| widen::reduce(&mut rules.entries));
    let is_empty = |rules: &Rules| rules.entries.is_empty();
    if is_empty(&suggestion.play) && suggestion.tasks.values().all(is_empty) {
        text.push_str("# As far as it is known before the run, a policy file has to grant nothing.\n");
    }
    push_rules(&mut text, "", &suggestion.play);
    if !suggestion.tasks.is_empty() {
        text.push_str("tasks:\n");
    }
    for (key, rules) in &suggestion.tasks {
        let _ = writeln!(text, "  \"{}\":", quoted(key));
        push_rules(&mut text, "    ", rules);
    }
    text
}

fn push_module(text: &mut String, key: &ModuleKey, rules: &Rules) {
    let Rules { name, runs, succeeded, .. } = rules;
    let _ = writeln!(text, "  # {}: {}, {succeeded} of them succeeded", comment(name), plural(*runs, "run"));
    let _ = writeln!(text, "  \"{}\":", quoted(&key.to_string()));
    push_rules(text, "    ", rules);
}

/// Writes remarks and entries, each line behind `indent`.
fn push_rules(text: &mut String, indent: &str, rules: &Rules) {
    for (remark, found) in rules.remarks.iter().take(MAX_REMARKS) {
        let _ = writeln!(text, "{indent}# {} ({})", comment(remark), places(found));
    }
    if let Some(more @ 1..) = rules.remarks.len().checked_sub(MAX_REMARKS) {
        let _ = writeln!(text, "{indent}# and {}", plural(more as u64, "more remark"));
    }
    if !rules.entries.is_empty() {
        let _ = writeln!(text, "{indent}allow:");
    }
    let mut section = None;
    for ((capability, value), reasons) in &rules.entries {
        if section.replace(*capability) != Some(*capability) {
            let _ = writeln!(text, "{indent}  {capability}:");
        }
        if reasons.widened > 0 {
            let count = reasons.widened;
            let wider = "wider than what was denied: all of the directory";
            let _ = writeln!(text, "{indent}    # {wider}, for {count} paths in it");
        }
        let _ = writeln!(text, "{indent}    - {}  # {}", item(value), causes(reasons));
    }
}

fn causes(reasons: &Reasons) -> String {
    let one = |(cause, found): (&String, &Occurrences)| {
        format!("{}, {} ({})", comment(cause), plural(found.count, "time"), places(found))
    };
    reasons.causes.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn places(found: &Occurrences) -> String {
    let more = found.count.saturating_sub(found.places.len() as u64);
    let listed = found.places.iter().map(|place| comment(place)).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("{count} {word}") } else { format!("{count} {word}s") }
}

fn item(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    match value.starts_with('/') && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => format!("\"{}\"", quoted(value)),
    }
}

/// Escapes a text for a comment of one line.
#[must_use]
pub fn comment(text: &str) -> String {
    escape(text, &[])
}

/// Escapes a text for YAML's double quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    escape(text, &['"', '\\'])
}

fn escape(text: &str, special: &[char]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            _ if special.contains(&c) => escaped.extend(['\\', c]),
            ' '..='~' => escaped.push(c),
            _ if c.is_alphanumeric() => escaped.push(c),
            _ => drop(write!(escaped, "\\U{:08x}", u32::from(c))),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use modbox_policy::PolicyFile;
    use modbox_python_json::decode;
    use modbox_vocabulary::GrantSource;
    use proptest::prelude::*;

    use super::*;
    use crate::reports::suggestion::record::{RecordedGrant, RunRecord};

    fn suggested(subjects: &[String]) -> String {
        let mut suggestion = Suggestion::default();
        for (index, subject) in subjects.iter().enumerate() {
            let record = RunRecord {
                origin: format!("x\n{index}"),
                name: Some("m\nodule".to_owned()),
                grants: vec![RecordedGrant {
                    capability: "read".to_owned(),
                    subject: subject.to_owned(),
                    source: GrantSource::named("--allow-read"),
                }],
                ..RunRecord::default()
            };
            suggestion.add(&record);
        }
        render(suggestion, "test")
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_file(subjects in proptest::collection::vec(".{0,20}", 1..6)) {
            let text = suggested(&subjects);
            let file = PolicyFile::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let mut read: Vec<String> = file.modules[0].1.allow.read.iter().map(|item| item.value.clone()).collect();
            read.sort();
            let is_path = |text: &&String| text.starts_with('/');
            let mut expect: Vec<String> = subjects.clone();
            expect.sort();
            expect.dedup();
            if !expect.iter().any(|text| is_path(&text)) {
                prop_assert_eq!(read, expect);
            }
        }
    }

    #[test]
    fn what_is_not_a_report_is_an_error() {
        for (text, expect) in [
            ("", "it is empty"),
            ("{}", "it has no object `module`"),
            ("[1]", "it is not a JSON object"),
            ("{\"module\": {}}\n", "it has no text `status`"),
            ("{\"module\": {}, \"status\": \"ok\", \"grants\": 1}", "`grants` is not a list"),
            ("{\"module\": {}, \"status\": \"ok\", \"denials\": [{}]}", "a denial has no text `capability`"),
            ("{}\nx\n", "failed to read line 1 of `f`: it has no object `module`"),
            ("{\"module\": {}, \"status\": \"ok\"}\nx\n", "failed to read line 2 of `f`: it is not JSON"),
        ] {
            let error = RunRecord::read("f", text).unwrap_err();
            assert!(error.contains(expect), "{text}: {error}");
        }
        assert!(decode("{}").is_ok());
    }
}
