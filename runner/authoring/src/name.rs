//! Rules for the name of a module. Pure.
//!
//! The name becomes a Rust package, a file, and a word that operators type and Ansible resolves. The rules are the
//! strictest of these, so that a name works in all of them.

use crate::error::NewError;

/// Limit of crates.io.
const MAX_LENGTH: usize = 64;

/// Names that cargo refuses for a program, or that would hide something that the program needs.
const RESERVED: &[&str] = &[
    "alloc",
    "as",
    "async",
    "await",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "match",
    "mod",
    "modbox-sdk",
    "modbox_sdk",
    "move",
    "mut",
    "proc_macro",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "type",
    "unsafe",
    "use",
    "where",
    "while",
];

/// Accepts a name for a new module, or returns an error with the reason.
pub(crate) fn check(name: &str) -> Result<(), NewError> {
    let is_tail = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let problem = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_LENGTH {
        "it is too long"
    } else if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        "it does not begin with a lower-case letter"
    } else if !name.chars().all(is_tail) {
        "it has a character that is not allowed"
    } else if RESERVED.contains(&name) {
        "the name is reserved in Rust"
    } else {
        return Ok(());
    };
    Err(NewError::Name { name: name.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refuses(name: &str, expected: &str) {
        match check(name) {
            Err(NewError::Name { problem, .. }) => assert_eq!(problem, expected),
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn accepts_what_cargo_and_ansible_do() {
        for name in ["a", "motd", "my_module", "my-module", "x509_v3"] {
            check(name).unwrap();
        }
        check(&"a".repeat(MAX_LENGTH)).unwrap();
    }

    #[test]
    fn refuses_the_rest_with_the_reason() {
        check_refuses("", "it is empty");
        check_refuses(&"a".repeat(MAX_LENGTH + 1), "it is too long");
        for name in ["Motd", "1st", "-x", "_x", ".", "../x", "/x", "ü"] {
            check_refuses(name, "it does not begin with a lower-case letter");
        }
        for name in ["my module", "a/b", "a.b", "aB", "a\n", "a\"b", "aü"] {
            check_refuses(name, "it has a character that is not allowed");
        }
        for name in ["fn", "test", "std", "modbox-sdk"] {
            check_refuses(name, "the name is reserved in Rust");
        }
    }
}
