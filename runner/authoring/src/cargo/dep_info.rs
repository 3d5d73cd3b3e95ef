//! Reads the `.d` file that cargo writes beside its output: the files that went into it. Pure.
//!
//! The file is one Makefile rule, `output: input input …`, with a backslash before each space of a name. It lists the
//! sources of the package and of its path dependencies, files embedded with `include_str!`, and the files on which
//! build scripts ask to be run again. It lists neither manifests nor packages from a registry.

use std::path::PathBuf;

/// Returns the inputs of the rule.
pub(crate) fn inputs(text: &str) -> Vec<PathBuf> {
    let mut inputs = Vec::new();
    for line in text.lines() {
        // A name can contain a colon; the rule's own colon is followed by a space or the end of the line.
        let rest = line.split_once(": ").map_or("", |(_, rest)| rest);
        inputs.extend(names(rest));
    }
    inputs
}

fn names(text: &str) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&' ') => name.extend(chars.next()),
            ' ' if name.is_empty() => {}
            ' ' => names.push(PathBuf::from(std::mem::take(&mut name))),
            _ => name.push(c),
        }
    }
    if !name.is_empty() {
        names.push(PathBuf::from(name));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(inputs(text), expected.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn lists_each_input() {
        check("/t/hello.wasm: /p/module.json /p/src/main.rs\n", &["/p/module.json", "/p/src/main.rs"]);
    }

    #[test]
    fn keeps_spaces_and_backslashes_of_names() {
        check("/my\\ t/x.wasm: /my\\ p/a.rs /p/b\\c.rs\n", &["/my p/a.rs", "/p/b\\c.rs"]);
    }

    #[test]
    fn keeps_colons_of_names() {
        check("/t/x.wasm: /p:q/a.rs\n", &["/p:q/a.rs"]);
    }

    #[test]
    fn a_rule_without_inputs_has_none() {
        check("/t/x.wasm:\n", &[]);
        check("", &[]);
    }
}
