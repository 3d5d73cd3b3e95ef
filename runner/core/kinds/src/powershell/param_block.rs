//! The parameters that a script takes: those of its `param` block.
//!
//! ansible-core's wrappers take other parameters in each release. A script fails when it is called with one that it does not
//! have, or without one that it must have, so what it declares decides, and not the number of the release. Types and default
//! values are not read.

use std::sync::LazyLock;

use regex::Regex;

/// The beginning of the block. It may be at the start of a line only.
static START: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?im-u)^[ \t]*param[ \t]*\(").expect("the pattern is valid"));

/// The attribute that makes a parameter one that callers have to pass.
static MANDATORY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i-u)\bmandatory\b([ \t\r\n]*=[ \t\r\n]*\$false)?").expect("the pattern is valid"));

/// The name of a parameter.
static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$([A-Za-z0-9_]+)").expect("the pattern is valid"));

#[derive(Debug, Clone, PartialEq, Eq)]
struct Parameter {
    name: String,
    is_mandatory: bool,
}

/// The parameters of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParamBlock(Vec<Parameter>);

impl ParamBlock {
    /// Reads the block of a script; `None` if it has none.
    pub(super) fn of(script: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(script);
        let start = START.find(&text)?;
        Some(Self(parts(&text[start.end()..]).iter().filter_map(Part::parameter).collect()))
    }

    /// Returns whether the script takes a parameter.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|parameter| parameter.name.eq_ignore_ascii_case(name))
    }

    /// Returns the first parameter that has to be passed, besides these.
    pub(super) fn missing<'a>(&'a self, passed: &[&str]) -> Option<&'a str> {
        let is_passed = |parameter: &Parameter| passed.iter().any(|name| parameter.name.eq_ignore_ascii_case(name));
        let mut wanted = self.0.iter().filter(|parameter| parameter.is_mandatory && !is_passed(parameter));
        wanted.next().map(|parameter| parameter.name.as_str())
    }
}

/// What declares one parameter: its attributes, in brackets, and the rest.
#[derive(Default)]
struct Part {
    attributes: String,
    rest: String,
}

impl Part {
    fn parameter(&self) -> Option<Parameter> {
        // The name is before the default value, which can name other variables.
        let name = NAME.captures(&self.rest)?[1].to_owned();
        let is_mandatory = MANDATORY.captures_iter(&self.attributes).any(|found| found.get(1).is_none());
        Some(Parameter { name, is_mandatory })
    }
}

/// Splits the text after the bracket that opens a block at its commas, up to the bracket that closes it. Comments and the
/// contents of texts are left out.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = vec![Part::default()];
    let mut open: Vec<char> = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some(length) = skipped(rest) {
            rest = &rest[length..];
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            '(' | '[' | '{' => open.push(next),
            ')' if open.is_empty() => return parts,
            ')' | ']' | '}' => drop(open.pop()),
            ',' if open.is_empty() => {
                parts.push(Part::default());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            let place = if open.first() == Some(&'[') { &mut part.attributes } else { &mut part.rest };
            place.push(next);
        }
    }
    parts
}

/// Returns the length of the comment or the text that this begins with.
fn skipped(text: &str) -> Option<usize> {
    let ended = |opening: usize, closing: &str| {
        text[opening..].find(closing).map_or(text.len(), |at| opening + at + closing.len())
    };
    match text.as_bytes() {
        [b'<', b'#', ..] => Some(ended(2, "#>")),
        [b'#', ..] => Some(ended(1, "\n")),
        // A quote within a text is two quotes, which are two texts here.
        [b'\'', ..] => Some(ended(1, "'")),
        [b'"', ..] => Some(ended(1, "\"")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_duties_are_read() {
        let script = r#"# param ( $Comment )
using namespace System
PARAM(
    [Parameter(Mandatory)]
    [string]
    $Script, # ), $No
    [Parameter(Mandatory = $false, HelpMessage = 'a ) b, $Text')] [IDictionary[]] $Variables = @($One, $Two),
    <# ( #> [ValidateSet("x", "y)")] [switch] $ForModule = $(if ($x) { 1, 2 }),
    [Parameter(Mandatory=$true)]$New
)
$After
"#;
        let block = ParamBlock::of(script.as_bytes()).unwrap();
        let names: Vec<(&str, bool)> = block.0.iter().map(|one| (one.name.as_str(), one.is_mandatory)).collect();
        assert_eq!(names, [("Script", true), ("Variables", false), ("ForModule", false), ("New", true)]);
        assert!(block.has("forMODULE") && !block.has("One") && !block.has("After"));
        assert_eq!(block.missing(&["script"]), Some("New"));
        assert_eq!(block.missing(&["Script", "New"]), None);
    }

    #[test]
    fn scripts_without_a_block_and_damaged_ones_are_read_to_their_end() {
        assert_eq!(ParamBlock::of(b"$param ($x)\nfunction f { }\n"), None);
        for (script, names) in [
            ("param(", 0),
            ("param($A", 1),
            ("param($A, 'x", 1),
            ("param($A, <#", 1),
            ("param([x", 0),
            ("param(])])", 0),
        ] {
            assert_eq!(ParamBlock::of(script.as_bytes()).unwrap().0.len(), names, "{script}");
        }
    }
}
