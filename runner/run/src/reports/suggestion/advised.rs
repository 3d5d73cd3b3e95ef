//! Translates the option that a denial or hint suggests to an entry of a policy file.

use std::path::Path;

use modbox_policy::Access;
use modbox_python_json::Value;
use modbox_vocabulary::{Capability, Operation, quoting};

use super::record::{Lacking, RunRecord, denied};

/// Marks of a text that an audit log or a result has masked.
const MASKS: [&str; 2] = ["VALUE_SPECIFIED_IN_NO_LOG_PARAMETER", "********"];

/// What an option means for a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advised {
    /// The entry, if a policy file can hold it: the key of `allow`, and its item.
    pub entry: Option<(Capability, String)>,
    /// What a person should know.
    pub remark: Option<String>,
}

impl Advised {
    fn remark(text: String) -> Self {
        Self { entry: None, remark: Some(text) }
    }
}

/// Returns whether a text is masked or cut, so that no grant can be made of it.
pub(super) fn is_hidden(text: &str) -> bool {
    MASKS.iter().any(|mask| text.contains(mask)) || (text.ends_with(" bytes)") && text.contains("… ("))
}

/// Returns the key of `allow` in a policy file for a capability.
pub(super) fn key(capability: &str) -> Option<Capability> {
    let capability: Capability = capability.parse().ok()?;
    (!matches!(capability, Capability::Confinement | Capability::All)).then_some(capability)
}

/// Translates the option that allows a missing grant.
#[must_use]
pub(super) fn advised(record: &RunRecord, missing: &Lacking) -> Advised {
    let Lacking { capability, subject, cause, allow } = missing;
    let shown = format!("{capability} {subject} ({cause})");
    if allow.is_empty() {
        return Advised::remark(format!("no option allows this: {shown}"));
    }
    if is_hidden(allow) || is_hidden(subject) {
        return Advised::remark(format!("masked or cut in the record: {shown}"));
    }
    if *cause == denied(Operation::Call) {
        return Advised::remark(format!(
            "no rule allows this system call, so a confined module must do without: {subject}"
        ));
    }
    let unknown = || Advised::remark(format!("a policy file cannot allow this, only `{allow}` can: {shown}"));
    let Ok(words) = quoting::split(allow) else { return unknown() };
    let (argument, words) = match words.split_first() {
        Some((argument, rest)) if !argument.starts_with("--") => (Some(argument.clone()), rest),
        _ => (None, &words[..]),
    };
    let [option, value] = words else { return unknown() };
    let (entry, remark) = match option.strip_prefix("--allow-").and_then(key) {
        Some(capability) => {
            let remark = argument.as_ref().map(|argument| format!("give the absolute path: `{argument}`"));
            ((capability, value.clone()), remark)
        }
        None if option == "--designate" => match designated(record, value, subject) {
            Some(entry) => {
                let remark = format!(
                    "a policy file cannot hold `{allow}`, so it names the path of these runs; for runs with other paths, \
                     give that option"
                );
                (entry, Some(remark))
            }
            None => return unknown(),
        },
        None => return unknown(),
    };
    Advised { entry: Some(entry), remark }
}

/// Returns the path that an option of the module named, or else the denied one.
fn designated(record: &RunRecord, value: &str, subject: &str) -> Option<(Capability, String)> {
    let (option, access) = value.rsplit_once(':')?;
    let access = if access == Access::Write.as_str() { Capability::Write } else { Capability::Read };
    let named = record.arguments.get(option).and_then(Value::as_str).filter(|path| Path::new(path).is_absolute());
    let named = named.filter(|path| !is_hidden(path));
    let path = named.unwrap_or(subject);
    Path::new(path).is_absolute().then(|| (access, path.to_owned()))
}
