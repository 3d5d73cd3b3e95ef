//! Which host paths the arguments name, and whether the policy covers them.
//!
//! An option that the module's spec types as `path`, with `access: read` or `access: write`, designates what the
//! caller names in it. Grants are directories, so a designated path is not granted by itself: it is
//! looked up before the module starts, and a run that would only fail half-way is denied with the switch
//! that allows it.

use std::fs;
use std::path::Path;

use modbox_argument_spec as spec;
use modbox_python_json::{Dict, Value};

use crate::run::report::Denial;
use crate::sandbox::policy::{Access, Policy, RESERVED};

/// Returns whether any argument looks like a host path, that is, whether it is worth reading the module's spec.
pub(super) fn names_a_path(args: &Dict) -> bool {
    args.values().flat_map(paths).any(|path| path.starts_with('/'))
}

/// Lists the designated paths that the policy does not cover, each once.
pub(super) fn missing(metadata: &spec::Metadata, args: &Dict, policy: &Policy) -> Vec<Denial> {
    let mut denials: Vec<Denial> = Vec::new();
    for option in metadata.argument_spec.path_options() {
        let Some(access) = option.access.map(access) else { continue };
        let names = std::iter::once(option.name).chain(option.aliases.iter().map(String::as_str));
        for path in names.filter_map(|name| args.get(name)).flat_map(paths) {
            let covered = policy.covers(Path::new(path), access);
            if path.starts_with('/') && !covered && !denials.iter().any(|denial| denial.subject == path) {
                denials.push(denial(path, access));
            }
        }
    }
    denials
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

fn denial(path: &str, access: Access) -> Denial {
    let path_itself = Path::new(path);
    let directory = match fs::metadata(path_itself) {
        Ok(metadata) if metadata.is_dir() => path_itself,
        _ => path_itself.parent().unwrap_or(path_itself),
    };
    let mut grant = directory.to_string_lossy().into_owned();
    if RESERVED.contains(&grant.as_str()) {
        // The guest has one of its own in this place, so that it can only see the host's elsewhere.
        grant = format!("{grant}::/host{grant}");
    }
    let switch = format!("--allow-{} {}", access.as_str(), crate::contract::quoting::quote(&grant));
    Denial { capability: access.as_str(), subject: path.to_owned(), allow: switch }
}
