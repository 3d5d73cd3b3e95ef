//! Guesses at the grants that a failed module lacked, from its arguments and its output.
//!
//! The observer sees most missing grants at the kernel. It does not see the calls that only look whether a path exists,
//! and a program reads its variables without any call.

use std::ffi::OsString;
use std::path::Path;

use modbox_native::base;
use modbox_policy::{Access, Policy, normalize};
use modbox_vocabulary::{Capability, Denial, Hint, HintSource, Outcome, quoting};

use super::named::NamedPaths;
use super::options::{designation, grant};
use super::temporary;
use crate::request::run_request::RunRequest;

/// Length below which a variable's name gives no hint: shorter names occur in every text.
const MIN_NAME: usize = 3;

/// Maximum number of hints of each sort; a person reads no more.
const MAX_HINTS: usize = 16;

/// Lines with complaints that are examined.
const MAX_LINES: usize = 1000;

/// Texts with which the C library and modules report a path that is missing or refused, in lower case.
const COMPLAINTS: [&str; 10] = [
    "no such file or directory",
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "not found",
    "errno",
    "not exist",
    "not writable",
    "not readable",
    "not a directory",
];

/// Returns guesses at the grants that a failed native module lacked.
pub(crate) fn hints(
    denials: &[Denial],
    outcome: &Outcome,
    request: &RunRequest<'_>,
    environment: &[(OsString, OsString)],
) -> Vec<Hint> {
    let output =
        [&outcome.stdout.bytes, &outcome.stderr.bytes].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let mut hints = path_hints(denials, &output, request);
    hints.extend(variable_hints(&output, environment, request));
    hints
}

/// Returns existing paths that a failed module was given or complains about, but could not see.
fn path_hints(denials: &[Denial], output: &[String], request: &RunRequest<'_>) -> Vec<Hint> {
    let named = NamedPaths::of(request.arguments.given());
    let complains = |line: &&str| {
        let line = line.to_lowercase();
        COMPLAINTS.iter().any(|it| line.contains(it))
    };
    let complaints = output.iter().flat_map(|text| text.lines()).filter(complains);
    let ends = |c: char| c.is_whitespace() || "'\"`:,;()[]{}<>\\".contains(c);
    let words = complaints.take(MAX_LINES).flat_map(|line| line.split(ends)).filter(|word| word.len() > 1);
    let words = words.filter(|word| word.starts_with('/')).map(|word| normalize(Path::new(word)));
    let arguments = named.words().map(|path| (HintSource::Arguments, path.to_owned()));
    let mut hints: Vec<Hint> = Vec::new();
    for (source, path) in arguments.chain(words.map(|path| (HintSource::Output, path))) {
        if hints.len() >= MAX_HINTS {
            break;
        }
        if is_shown(&path, request.policy) || path.symlink_metadata().is_err() || is_made_up(&path) {
            continue;
        }
        if let Some(hint) = new_path_hint(&path, source, &named, request.policy) {
            hints.push(hint);
            continue;
        }
        let option = named.option_of(&path).filter(|_| request.policy.designated().allows(Access::Read));
        let option_for = |access| option.map_or_else(|| grant(&path, access), |option| designation(option, access));
        let (allow, wider) = (option_for(Access::Read), option_for(Access::Write));
        let around: Vec<String> = path.ancestors().map(|outer| grant(outer, Access::Write)).collect();
        let Ok(subject) = path.into_os_string().into_string() else { continue };
        // A denial of the path, or of one in it, has an option that fits better. So has one whose option grants more.
        let is_denied = denials.iter().any(|denial| {
            denial.allow == wider || around.contains(&denial.allow) || Path::new(&denial.subject).starts_with(&subject)
        });
        if !is_denied && !hints.iter().any(|hint| hint.subject == subject) {
            hints.push(Hint { capability: Capability::Read, subject, source, allow });
        }
    }
    hints
}

/// Returns the hint for a directory that a module complains about, if an option names a path in it that does not exist: the
/// module looked whether it can make the path.
fn new_path_hint(directory: &Path, source: HintSource, named: &NamedPaths, policy: &Policy) -> Option<Hint> {
    if source != HintSource::Output || !policy.designated().allows(Access::Write) {
        return None;
    }
    let (option, path) = named.new_in(directory)?;
    let subject = path.to_str()?.to_owned();
    Some(Hint { capability: Capability::Write, subject, source, allow: designation(option, Access::Write) })
}

/// Returns whether a module sees a path without another grant. Through a directory around a granted path it comes to that path,
/// and it cannot list the directory.
fn is_shown(path: &Path, policy: &Policy) -> bool {
    policy.covers(path, Access::Read)
        || base::paths().any(|base| path.starts_with(base))
        || ["/", "/proc", "/dev", "/tmp"].iter().any(|own| path == Path::new(own))
}

fn is_made_up(path: &Path) -> bool {
    path.file_name().is_some_and(|name| temporary::recognize(&name.to_string_lossy()).is_some())
}

/// Returns variables that a failed module mentions, that the caller has, and that were not granted.
fn variable_hints(output: &[String], environment: &[(OsString, OsString)], request: &RunRequest<'_>) -> Vec<Hint> {
    let granted = |name: &str| request.policy.env().iter().any(|grant| grant.name == name);
    let is_mentioned = |name: &str| name.len() >= MIN_NAME && output.iter().any(|text| mentions(text, name));
    let names = environment.iter().filter_map(|(name, _)| name.to_str());
    let lacking = names.filter(|name| !granted(name) && is_mentioned(name));
    let hint = |name: &str| Hint {
        capability: Capability::Env,
        subject: name.to_owned(),
        source: HintSource::Output,
        allow: format!("--allow-env {}", quoting::quote(name)),
    };
    lacking.map(hint).take(MAX_HINTS).collect()
}

/// Returns whether a text has a name as a separate word, and not as part of a path.
fn mentions(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '/';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_a_word() {
        for text in ["KeyError: 'STAGE'", "STAGE: parameter not set", "no STAGE"] {
            assert!(mentions(text, "STAGE"), "{text}");
        }
        for text in ["STAGES", "A_STAGE", "/STAGE/x", "stage", ""] {
            assert!(!mentions(text, "STAGE"), "{text}");
        }
    }
}
