//! The test `test`, which asks for the name of a test.

use minijinja::Value;

use crate::call::Call;
use crate::failure::Outcome;
use crate::plugin::PREFIXES;
use crate::values::Key;

/// The names of all tests, for the test that asks for them. A table of functions cannot name itself.
pub(super) const NAMES: [&str; 86] = [
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "abs",
    "all",
    "any",
    "boolean",
    "callable",
    "change",
    "changed",
    "contains",
    "defined",
    "directory",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "exists",
    "failed",
    "failure",
    "false",
    "falsy",
    "file",
    "filter",
    "finished",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "is_abs",
    "is_dir",
    "is_file",
    "is_link",
    "is_mount",
    "is_same_file",
    "isnan",
    "issubset",
    "issuperset",
    "iterable",
    "le",
    "lessthan",
    "link",
    "link_exists",
    "lower",
    "lt",
    "mapping",
    "match",
    "mount",
    "nan",
    "ne",
    "none",
    "number",
    "odd",
    "reachable",
    "regex",
    "same_file",
    "sameas",
    "search",
    "sequence",
    "skip",
    "skipped",
    "started",
    "string",
    "subset",
    "succeeded",
    "success",
    "successful",
    "superset",
    "test",
    "timedout",
    "true",
    "truthy",
    "undefined",
    "unreachable",
    "upper",
    "uri",
    "url",
    "urn",
    "version",
    "version_compare",
];

/// Is the value the name of a test?
pub(super) fn test(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    let known =
        |name: &str| PREFIXES.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(|name| NAMES.contains(&name)));
    is_name(&value, known)
}

/// Returns whether a value is a name. As in Ansible, whose search for a plugin fails on other types, any other value
/// with a hash counts as one.
///
/// # Errors
///
/// The value has no hash.
pub(super) fn is_name(value: &Value, known: impl FnOnce(&str) -> bool) -> Outcome {
    Key::new(value.clone())?;
    Ok(Value::from(value.as_str().is_none_or(known)))
}
