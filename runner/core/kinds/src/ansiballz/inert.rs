//! Files that run nothing: empty ones, and those that only make a folder a package.
//!
//! ansible-core and modbox both make such files for a payload, each in words of its own, so that no statement lists them. What is
//! recognised here is decided line by line and knows few lines; any other file is one that runs something.

/// Longest file that is looked at, in bytes. Those that ansible-core makes have a hundred.
const MAX_LENGTH: usize = 1024;

/// Lines without blanks that only look for the folders of a package, or choose a version of the language.
const LINES: [&str; 4] = [
    "frompkgutilimportextend_path",
    "__path__=extend_path(__path__,__name__)",
    "from__future__importannotations",
    "__metaclass__=type",
];

/// Names that a text may be assigned to.
const NAMES: [&str; 2] = ["__version__=", "__author__="];

/// Returns whether a Python source runs nothing.
#[must_use]
pub fn is_inert(source: &[u8]) -> bool {
    // Other ends of lines, and encodings that a comment chooses, could hide a line from this check.
    let is_plain = |byte: &u8| *byte == b'\n' || (b' '..=b'~').contains(byte);
    if source.len() > MAX_LENGTH || !source.iter().all(is_plain) {
        return false;
    }
    str::from_utf8(source).is_ok_and(|text| text.lines().all(is_inert_line))
}

fn is_inert_line(line: &str) -> bool {
    if line.starts_with(' ') {
        return line.trim().is_empty();
    }
    let blankless: String = line.chars().filter(|letter| *letter != ' ').collect();
    let text = NAMES.iter().find_map(|name| blankless.strip_prefix(name));
    blankless.is_empty() || LINES.contains(&blankless.as_str()) || text.is_some_and(is_text)
}

/// Returns whether an expression is one text between quotes, without escapes or other quotes in it.
fn is_text(expression: &str) -> bool {
    let inner = ['"', '\''].into_iter().find_map(|quote| expression.strip_prefix(quote)?.strip_suffix(quote));
    inner.is_some_and(|inner| !inner.contains(['"', '\'', '\\']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_ansible_core_and_of_modbox_run_nothing() {
        for source in [
            "",
            "\n",
            "from pkgutil import extend_path\n__path__=extend_path(__path__,__name__)\n",
            "from pkgutil import extend_path\n\n__path__ = extend_path(__path__, __name__)\n__version__ = '2.19.14'\n__author__ = \"Ansible, Inc.\"\n",
        ] {
            assert!(is_inert(source.as_bytes()), "{source}");
        }
    }

    #[test]
    fn everything_else_runs_something() {
        for source in [
            "import os",
            "__version__ = open('x')",
            "__version__ = '' + open('x') + ''",
            "__version__ = 'a'; import os",
            "__version__ = 'a\\' + x'",
            "__path__ = extend_path(__path__, __name__); import os",
            "# -*- coding: utf-7 -*-",
            "__version__ = ''\rimport os",
            "__version__ = ''\x0cimport os",
            " __version__ = ''",
            "__version__ = 'é'",
            "from pkgutil import extend_path, os",
        ] {
            assert!(!is_inert(source.as_bytes()), "{source}");
        }
        assert!(!is_inert(&vec![b'\n'; MAX_LENGTH + 1]));
    }
}
