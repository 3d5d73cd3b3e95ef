//! Writes a learned policy: one line for each module and task, where it fits.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::commands::ProfileNeed;
use super::learned::LearnedPolicy;
use super::limits;
use super::needs::Needs;
use crate::reports::suggestion::page::{comment, quoted};

/// Longest line with rules. Longer ones are broken.
const MAX_LINE: usize = 140;

/// Maximum number of comments in a row. A parser of YAML takes only so many.
const MAX_REMARKS: usize = 24;

/// Writes the policy file. `origin` is the command that made it. With `reasons`, comments say what was left out and why.
#[must_use]
pub fn render_learned(policy: &LearnedPolicy, origin: &str, reasons: bool) -> String {
    let runs = match policy.runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let mut text = format!("# Learned by `{}` from {runs}. Read each line before you use it.\n", comment(origin));
    if policy.failed > 0 {
        let _ = writeln!(text, "# {} of them failed: what these need may not be known in full.", policy.failed);
    }
    for remark in policy.remarks.iter().take(MAX_REMARKS) {
        let _ = writeln!(text, "# {}", comment(remark));
    }
    if let Some(more @ 1..) = policy.remarks.len().checked_sub(MAX_REMARKS) {
        let _ = writeln!(text, "# and {more} more");
    }
    let is_empty = policy.modules.is_empty() && policy.unconfined.is_empty();
    if is_empty && policy.tasks.is_empty() && policy.play.is_empty() {
        text.push_str("# A policy file has to grant nothing for these runs.\n");
    }
    push_allow(&mut text, "", &policy.play);
    if !is_empty {
        text.push_str("modules:\n");
    }
    for (name, needs) in &policy.modules {
        push(&mut text, &key(name), needs, reasons);
    }
    for (digest, unconfined) in &policy.unconfined {
        let (name, why) = (comment(&unconfined.name), comment(&unconfined.why));
        let _ = writeln!(text, "  \"{}\": {{unconfined: true}}  # decide: {name}: {why}", quoted(digest));
    }
    if !policy.tasks.is_empty() {
        text.push_str("tasks:\n");
    }
    for (name, needs) in &policy.tasks {
        push(&mut text, &format!("\"{}\"", quoted(name)), needs, reasons);
    }
    text
}

/// Writes the rules of a module or a task.
fn push(text: &mut String, key: &str, needs: &Needs, reasons: bool) {
    if reasons {
        for reason in needs.reasons.iter().take(MAX_REMARKS) {
            let _ = writeln!(text, "  # {}", comment(reason));
        }
    }
    let mut decide = needs.decisions.iter().map(|why| comment(why)).collect::<Vec<_>>().join("; ");
    if !decide.is_empty() {
        decide.insert_str(0, "  # decide: ");
    }
    if let Some(why) = &needs.beyond {
        let _ = writeln!(text, "  {key}: {{allow: all}}  # decide: {}", comment(why));
        return;
    }
    if needs.is_empty() {
        let _ = writeln!(text, "  # {key}:{}", decide.trim_start_matches("  #"));
        return;
    }
    let profiles = profiles(needs);
    let lists: Vec<(&str, String)> =
        needs.allow.iter().map(|(capability, items)| (capability.as_str(), list(items))).collect();
    let allow = lists.iter().map(|(key, items)| format!("{key}: {items}")).collect::<Vec<_>>().join(", ");
    let parts: Vec<String> = [
        (!profiles.is_empty()).then(|| format!("profiles: {profiles}")),
        (!allow.is_empty()).then(|| format!("allow: {{{allow}}}")),
        (!needs.limits.is_empty()).then(|| format!("limits: {}", limits::shown(&needs.limits))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let line = format!("  {key}: {{{}}}", parts.join(", "));
    if line.len() <= MAX_LINE {
        let _ = writeln!(text, "{line}{decide}");
        return;
    }
    let _ = writeln!(text, "  {key}:{decide}");
    if !profiles.is_empty() {
        let _ = writeln!(text, "    profiles: {profiles}");
    }
    push_allow(text, "    ", needs);
    if !needs.limits.is_empty() {
        let _ = writeln!(text, "    limits: {}", limits::shown(&needs.limits));
    }
}

fn push_allow(text: &mut String, indent: &str, needs: &Needs) {
    if needs.allow.is_empty() {
        return;
    }
    let _ = writeln!(text, "{indent}allow:");
    for (capability, items) in &needs.allow {
        let line = format!("{indent}  {capability}: {}", list(items));
        if line.len() <= MAX_LINE {
            let _ = writeln!(text, "{line}");
            continue;
        }
        let _ = writeln!(text, "{indent}  {capability}:");
        for one in items {
            let _ = writeln!(text, "{indent}    - {}", item(one));
        }
    }
}

fn profiles(needs: &Needs) -> String {
    if needs.profiles.is_empty() {
        return String::new();
    }
    let one = |(profile, ProfileNeed { names, is_whole }): (&String, &ProfileNeed)| match names.is_empty() || *is_whole
    {
        true => profile.clone(),
        false => format!("{{{profile}: {}}}", list(names)),
    };
    format!("[{}]", needs.profiles.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn list(items: &BTreeSet<String>) -> String {
    format!("[{}]", items.iter().map(|text| item(text)).collect::<Vec<_>>().join(", "))
}

fn item(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let starts = value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    match starts && value.chars().all(is_plain) && !is_word_of_yaml(value) {
        true => value.to_owned(),
        false => format!("\"{}\"", quoted(value)),
    }
}

fn key(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    match is_plain && name.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_word_of_yaml(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", quoted(name)),
    }
}

/// Returns whether YAML takes a word for something else than a text.
fn is_word_of_yaml(word: &str) -> bool {
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&&*word.to_ascii_lowercase())
}
