//! What the loader of an ansible-core asks for to start a module.
//!
//! The loader is the function `run_module` of ansible-core since 2.19. A newer release can want more arguments than modbox
//! knows. Its source says so before anything is started; the number of the release decides nothing.

use modbox_contract::{Dict, Value};
use ruff_python_ast::{Stmt, StmtFunctionDef};

use crate::ansiballz::imports::parse;

/// The function that starts a module.
const RUN: &str = "run_module";

/// The arguments that `start.py` and the interpreter of the sandbox pass to it.
const PASSED: [&str; 6] = ["json_params", "profile", "module_fqn", "modlib_path", "extensions", "secrets"];

/// Characters of a release's version that are repeated.
const MAX_VERSION: usize = 32;

/// An ansible-core that asks for what modbox does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} ansible-core {version} and asks for `{name}`, which this modbox does not know (it knows 2.14 to 2.22); update \
     modbox, or {remedy}"
)]
pub struct NewerCore {
    what: &'static str,
    version: String,
    name: String,
    remedy: &'static str,
}

impl NewerCore {
    /// Returns the error for a module that ansible-core has sent with these arguments.
    pub(super) fn sent(args: Option<&Dict>, name: String) -> Self {
        let version = args.and_then(|args| args.get("_ansible_version")).and_then(Value::as_str);
        let version = version.filter(|version| is_version(version)).unwrap_or("of an unknown release").to_owned();
        let remedy = "set `ansible_python_interpreter` to a Python for this task";
        Self { what: "the module was packed by", version, name, remedy }
    }

    /// Returns the error for a module that was combined with an installed ansible-core.
    pub(super) fn installed(version: &str, name: String) -> Self {
        let remedy = "set `--interpreter` to a Python that has another ansible-core";
        Self { what: "the module is combined with", version: version.to_owned(), name, remedy }
    }
}

fn is_version(text: &str) -> bool {
    text.len() <= MAX_VERSION
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-'))
}

/// Returns an argument without a default that the loader wants, and that modbox does not pass. A source that cannot be parsed
/// has none: Python itself refuses it.
pub(super) fn unknown_keyword(source: &[u8]) -> Option<String> {
    let parsed = parse(str::from_utf8(source).ok()?).ok()?;
    let run = parsed.suite().iter().find_map(|stmt| match stmt {
        Stmt::FunctionDef(function) if function.name.as_str() == RUN => Some(function),
        _ => None,
    })?;
    required(run).find(|name| !PASSED.contains(&name.as_str()))
}

fn required(function: &StmtFunctionDef) -> impl Iterator<Item = String> {
    let parameters = function.parameters.iter_non_variadic_params().filter(|parameter| parameter.default.is_none());
    parameters.map(|parameter| parameter.parameter.name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_with_defaults_are_not_needed() {
        for (parameters, expect) in [
            ("*, json_params, profile, module_fqn, modlib_path, extensions, init_globals=None", None),
            ("*, json_params: bytes, secrets: frozenset[str], init_globals: dict | None = None", None),
            ("*, json_params, vaults, secrets", Some("vaults")),
            ("*, json_params, vaults=None, **more", None),
            ("a, /, b=1, *, profile", Some("a")),
        ] {
            let source = format!("def run_module({parameters}) -> None:\n    pass\n");
            assert_eq!(unknown_keyword(source.as_bytes()).as_deref(), expect, "{parameters}");
        }
        for source in ["", "def run_module(", "def other(x): pass\n", "x = 1"] {
            assert_eq!(unknown_keyword(source.as_bytes()), None, "{source}");
        }
    }

    #[test]
    fn a_version_is_repeated_only_if_it_is_one() {
        for (version, expect) in
            [("2.23.0rc1", "ansible-core 2.23.0rc1 and"), ("x\u{1b}[2J", "of an unknown release and")]
        {
            let args = Dict::from_iter([("_ansible_version".to_owned(), version.into())]);
            assert!(NewerCore::sent(Some(&args), "x".to_owned()).to_string().contains(expect));
        }
    }
}
