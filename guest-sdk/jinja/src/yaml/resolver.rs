//! YAML 1.1's rule for plain text: what would be read as something other than text.

use std::sync::LazyLock;

use modbox_python_re::{Flags, Pattern, Subject};

/// Text that is read as a bool, a number, a date, nothing, or one of YAML's special words.
const NOT_TEXT: &str = concat!(
    r"^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
    r"|[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?",
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    r"|[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+",
    r"|~|null|Null|NULL||<<|=|!|&|\*",
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}",
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?",
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)$",
);

/// Returns whether plain text is read as text.
pub(super) fn is_text(text: &str) -> bool {
    static PATTERN: LazyLock<Pattern> =
        LazyLock::new(|| Pattern::new(NOT_TEXT, Subject::Bytes, Flags::default()).expect("the expression is constant"));
    // Only these can start something else.
    let starts = |c: char| "yYnNtTfFoO-+0123456789.~<=!&*".contains(c);
    !text.is_empty()
        && (!text.starts_with(starts)
            || text.len() > 4096
            || !PATTERN.search(text.as_bytes()).is_ok_and(|found| found.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_is_not_text() {
        for text in [
            "yes",
            "Off",
            "1",
            "0x1F",
            "1_000",
            "0644",
            "1:30",
            "1.5",
            ".5",
            "1.e+3",
            "~",
            "",
            "null",
            "2024-01-01",
            "2024-1-1 1:02:03.5 +1",
            "<<",
            "=",
            "-.inf",
            ".NaN",
        ] {
            assert!(!is_text(text), "{text}");
        }
        for text in ["yEs", "y", "1e3", "0o17", "08", "1.2.3", "2024-1-1", "a", "nul", "--"] {
            assert!(is_text(text), "{text}");
        }
    }
}
