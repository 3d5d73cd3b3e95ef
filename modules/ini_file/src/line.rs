//! Reads one line of an INI file.

/// A line that sets an option.
pub(crate) struct Setting<'a> {
    /// Whether the line is a comment.
    pub(crate) inactive: bool,
    /// The text after the equals sign and its blanks. Empty if there is no equals sign.
    pub(crate) value: &'a str,
}

/// Reads a line as a setting of an option.
pub(crate) fn setting<'a>(line: &'a str, option: &str) -> Option<Setting<'a>> {
    let active = blanks(line);
    if let Some(value) = value_of(active, option) {
        return Some(Setting { inactive: false, value });
    }
    let inside = active.strip_prefix(['#', ';'])?;
    value_of(blanks(inside), option).map(|value| Setting { inactive: true, value })
}

/// Returns whether a line is the header of a section. Text after the closing bracket is ignored.
pub(crate) fn is_head_of(line: &str, section: &str) -> bool {
    let inside = line.strip_prefix('[').map(str::trim_start);
    let behind = inside.and_then(|inside| inside.strip_prefix(section.trim()));
    behind.is_some_and(|behind| behind.trim_start().starts_with(']'))
}

/// Returns whether a line is empty or a comment.
pub(crate) fn says_nothing(line: &str) -> bool {
    let line = blanks(line.strip_suffix('\n').unwrap_or(line));
    line.is_empty() || line.starts_with(['#', ';'])
}

fn value_of<'a>(text: &'a str, option: &str) -> Option<&'a str> {
    let rest = blanks(text.strip_prefix(option)?);
    if let Some(value) = rest.strip_prefix('=') {
        return Some(blanks(value).split('\n').next().unwrap_or_default());
    }
    matches!(rest, "" | "\n").then_some("")
}

fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_settings() {
        for (line, expect) in [
            ("a=1\n", Some((false, "1"))),
            ("  a\t=  1 \n", Some((false, "1 "))),
            ("# a = 1", Some((true, "1"))),
            (" ;a\n", Some((true, ""))),
            ("a\n", Some((false, ""))),
            ("ab=1\n", None),
            ("## a=1\n", None),
            ("a b\n", None),
        ] {
            let got = setting(line, "a").map(|setting| (setting.inactive, setting.value));
            assert_eq!(got, expect, "for {line:?}");
        }
    }

    #[test]
    fn knows_heads() {
        assert!(is_head_of("[ a ] # b\n", " a "));
        assert!(!is_head_of("[ab]\n", "a"));
        assert!(!is_head_of(" [a]\n", "a"));
    }
}
