//! Paths in arguments that are not UTF-8, which naming does not grant: a grant is text.
//!
//! A component that looks for one is refused that, and its result says so. A native module would find nothing in its room, and
//! would leave out what is there, so its run is denied unless a directory around the path is granted.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use modbox_argument_spec::{self as spec, ArgumentSpec, OptionSpec};
use modbox_policy::{Access, Policy, path_option};
use modbox_python_json::{Dict, Value};
use modbox_vocabulary::{Denial, Operation};

use crate::grants::designation::caller::Caller;
use crate::grants::designation::place;
use crate::reports::missing_grant::{MissingGrant, Need};

/// Returns the paths, each with the access that the module needs. A list in the form of a text with commas is one path here.
fn find(spec: &ArgumentSpec, args: &Dict) -> Vec<(PathBuf, spec::Access)> {
    let mut found = Vec::new();
    for (name, option) in &spec.options {
        let given = std::iter::once(name).chain(&option.aliases).filter_map(|name| args.get(name));
        given.for_each(|value| add(option, value, &mut found));
    }
    found
}

fn add(option: &OptionSpec, value: &Value, found: &mut Vec<(PathBuf, spec::Access)>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| add(option, item, found)),
        Value::Dict(inner) if option.holds_dicts() => {
            found.extend(option.sub_spec.iter().flat_map(|spec| find(spec, inner)));
        }
        Value::Surrogates(text) if option.is_path() => {
            let path = text.to_bytes().map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
            found.extend(path.zip(option.access));
        }
        _ => {}
    }
}

/// Returns the grants that a native module lacks for such paths: none where those of directories cover them.
pub(super) fn missing(spec: &ArgumentSpec, args: &Dict, policy: &Policy, caller: &Caller<'_>) -> Vec<MissingGrant> {
    let lacking = |(path, access): (PathBuf, spec::Access)| {
        let access = if access == spec::Access::Read { Access::Read } else { Access::Write };
        let path = caller.directory.join(path);
        let real = place::find(&path, true).map_or_else(|_| path.clone(), |(real, _)| real);
        let around = real.ancestors().find(|around| around.to_str().is_some()).unwrap_or(&real);
        let allow = path_option(access, around);
        let need = Need::Unreachable(format!(
            "its name is not UTF-8, so that naming it grants nothing; allow it with `{allow}`"
        ));
        let (subject, operation) = (path.to_string_lossy().into_owned(), Operation::Argument);
        let denial = Denial { capability: access.capability(), subject, operation, allow };
        (!policy.covers(&real, access)).then_some(MissingGrant { denial, need })
    };
    if caller.is_native { find(spec, args).into_iter().filter_map(lacking).collect() } else { Vec::new() }
}
