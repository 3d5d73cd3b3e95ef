//! Which interpreters the variables of a task may choose.
//!
//! An interpreter that the operator names, with `-e` or in an inventory, may start: the operator could use `--interpreter`.
//! One that the text of a play or the result of a module names is treated as one in the `#!` line of a module: it may start
//! if it is a program of the system, lies in a folder of PATH, or is granted.

use std::path::{Path, PathBuf};

use modbox_native::base;
use modbox_policy::{Access, Policy, normalize};
use modbox_tasks::run::host::{HostError, HostErrorKind};
use modbox_tasks::run::interpreters::NamedInterpreter;
use modbox_vocabulary::quoting::{quote, split};

/// Returns the programs to start instead of interpreters, by the name of the interpreter.
///
/// # Errors
///
/// A program needs a grant, or its words cannot be told apart.
pub(crate) fn allowed(
    named: &[NamedInterpreter],
    policy: &Policy,
    search_path: &[PathBuf],
) -> Result<Vec<(String, String)>, HostError> {
    named
        .iter()
        .map(|interpreter| {
            let NamedInterpreter { language, program, is_of_operator } = interpreter;
            if *is_of_operator || is_granted(program, policy, search_path) {
                Ok((language.clone(), program.clone()))
            } else {
                Err(denied(language, program))
            }
        })
        .collect()
}

fn is_granted(words: &str, policy: &Policy, search_path: &[PathBuf]) -> bool {
    let Some(program) = split(words).ok().and_then(|words| words.into_iter().next()) else { return false };
    let path = Path::new(&program);
    if !path.is_absolute() {
        return !program.contains('/');
    }
    let path = normalize(path);
    policy.allows_everything()
        || path.parent().is_some_and(|folder| search_path.iter().any(|listed| listed == folder))
        || base::paths().any(|base| path.starts_with(base))
        || policy.run().iter().any(|grant| grant.program() == Some(path.as_path()))
        || policy.covers(&path, Access::Read)
}

fn denied(language: &str, program: &str) -> HostError {
    let message = format!(
        "failed to use the interpreter `{program}`: the play names it in `ansible_{language}_interpreter`, and nothing \
         grants it; allow it with `--allow-run {}`, or name it yourself with `-e`",
        quote(program)
    );
    HostError { message, kind: HostErrorKind::Denied, report: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_play_names_must_be_of_the_system_or_granted() {
        let search_path = [PathBuf::from("/opt/bin")];
        let ask = |program: &str, is_of_operator| {
            let named = NamedInterpreter { language: "python".to_owned(), program: program.to_owned(), is_of_operator };
            allowed(&[named], &Policy::default(), &search_path).map_err(|error| error.message)
        };
        for program in ["python3", "/usr/bin/python3", "/opt/bin/python3 -E"] {
            assert_eq!(ask(program, false).unwrap(), [("python".to_owned(), program.to_owned())], "{program}");
        }
        for program in ["/srv/x/bin/python3", "./python", "/usr/bin/../../x/python", "/opt/bin/sub/python", "'"] {
            let refused = ask(program, false).unwrap_err();
            assert!(refused.contains("--allow-run"), "{program}: {refused}");
            assert!(ask(program, true).is_ok(), "{program}");
        }
    }
}
