//! Which host paths the arguments name, and whether the policy covers them.
//!
//! An option that the module's spec types as `path`, with `access: read` or `access: write`, designates what the
//! caller names in it. Grants are directories, so a designated path is not granted by itself: it is
//! looked up before the module starts, and a run that would only fail half-way is denied with what
//! allows it. So is a relative path: the module would look for it in a directory of its own.

use std::fs;
use std::path::Path;

use modbox_argument_spec as spec;
use modbox_python_json::{Dict, Value};

use crate::contract::args::RESERVED_PREFIX;
use crate::contract::quoting;
use crate::sandbox::invocation::Denial;
use crate::sandbox::policy::{Access, Policy, RESERVED, normalize};

/// Returns whether any argument may be a path, that is, whether it is worth reading the module's spec.
pub(super) fn may_name_a_path(args: &Dict) -> bool {
    args.iter().any(|(key, value)| !key.starts_with(RESERVED_PREFIX) && !paths(value).is_empty())
}

/// Lists the designated paths that the module could not use as they are meant, each once. `directory` is where
/// the caller stands.
pub(super) fn missing(metadata: &spec::Metadata, args: &Dict, policy: &Policy, directory: &Path) -> Vec<Denial> {
    let mut denials: Vec<Denial> = Vec::new();
    for option in metadata.argument_spec.path_options() {
        let Some(access) = option.access.map(access) else { continue };
        let names = std::iter::once(option.name).chain(option.aliases.iter().map(String::as_str));
        for (name, value) in names.filter_map(|name| Some((name, args.get(name)?))) {
            for path in paths(value) {
                let denial = check(name, path, access, policy, directory);
                denials.extend(denial.filter(|new| !denials.contains(new)));
            }
        }
    }
    denials
}

fn check(option: &str, path: &str, access: Access, policy: &Policy, directory: &Path) -> Option<Denial> {
    // What `~` and `$` stand for is the module's business, and so is what it does without a name.
    if path.is_empty() || path.starts_with(['~', '$']) {
        return None;
    }
    let absolute = normalize(&directory.join(path));
    let covered = policy.covers(&absolute, access);
    let mut allow = Vec::new();
    if !path.starts_with('/') {
        allow.push(format!("{option}={}", quoting::quote(&absolute.to_string_lossy())));
    }
    if !covered {
        allow.push(switch(&absolute, access));
    }
    let denial = || Denial {
        capability: access.as_str(),
        subject: path.to_owned(),
        operation: "argument",
        allow: allow.join(" "),
    };
    (!allow.is_empty()).then(denial)
}

fn access(access: spec::Access) -> Access {
    match access {
        spec::Access::Read => Access::Read,
        spec::Access::Write => Access::Write,
    }
}

/// The paths in an option's value: a string, or a list of them, given as one or as Ansible's comma list.
fn paths(value: &Value) -> Vec<&str> {
    match value {
        Value::Str(text) => vec![text],
        Value::List(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The switch that grants the directory of a path.
fn switch(path: &Path, access: Access) -> String {
    let directory = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => path,
        _ => path.parent().unwrap_or(path),
    };
    let mut grant = directory.to_string_lossy().into_owned();
    if RESERVED.contains(&grant.as_str()) {
        // The guest has one of its own in this place, so that it can only see the host's elsewhere.
        grant = format!("{grant}::/host{grant}");
    }
    format!("--allow-{} {}", access.as_str(), quoting::quote(&grant))
}
