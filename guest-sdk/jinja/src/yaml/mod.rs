//! YAML as PyYAML writes it with libyaml: `to_yaml` and `to_nice_yaml`.
//!
//! The text of these filters lands in files that people compare, so quoting, folding and indentation are libyaml's.
//! The module does not read YAML.

mod emitter;
mod node;
mod resolver;
mod scalar;
mod scalar_styles;
mod style;

use minijinja::Value;

use crate::failure::Outcome;

pub(crate) use style::Style;

/// Returns the YAML text of a value.
///
/// # Errors
///
/// YAML lacks the value, or it is too large.
pub(crate) fn dump(value: &Value, style: &Style) -> Outcome<String> {
    let node = node::represent(value, style)?;
    emitter::emit(&node, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::from_json;
    use modbox_python_json::decode;

    #[track_caller]
    fn check(json: &str, flow: Option<bool>, expect: &str) {
        let value = from_json(&decode(json).unwrap());
        assert_eq!(dump(&value, &Style { flow, ..Style::default() }).unwrap(), expect);
    }

    #[test]
    fn writes_what_libyaml_writes() {
        check(r#""abc""#, None, "abc\n");
        check(r#"{"b": [1, 2.0], "a": null}"#, None, "a: null\nb: [1, 2.0]\n");
        check(r#"{"b": [1, {"c": []}], "a": {}}"#, Some(false), "a: {}\nb:\n- 1\n- c: []\n");
        check(
            r#"["yes", "1", "", "a: b", "it's", "x\ny", "\t", " a", "é", "~", "- a", "😀"]"#,
            Some(false),
            "- 'yes'\n- '1'\n- ''\n- 'a: b'\n- it's\n- 'x\n\n  y'\n- \"\\t\"\n- ' a'\n- é\n- '~'\n- '- a'\n- \"\\U0001F600\"\n",
        );
        check("[[1, [2]], [[]]]", Some(false), "- - 1\n  - - 2\n- - []\n");
        check(r#"{"1": 1e16, "b": 1e400}"#, Some(false), "'1': 1.0e+16\nb: .inf\n");
    }

    #[test]
    fn canonical_text_has_all_tags() {
        let style = Style { canonical: true, ..Style::default() };
        let check = |json: &str, expect: &str| {
            assert_eq!(dump(&from_json(&decode(json).unwrap()), &style).unwrap(), expect);
        };
        check(r#""thing""#, "---\n!!str \"thing\"\n");
        check(
            r#"{"b": [1, "x\ny", null, true, 1.5], "a": {}, "c": []}"#,
            "---\n!!map {\n  ? !!str \"a\"\n  : !!map {},\n  ? !!str \"b\"\n  : !!seq [\n    !!int \"1\",\n    \
             !!str \"x\\ny\",\n    !!null \"null\",\n    !!bool \"true\",\n    !!float \"1.5\",\n  ],\n  \
             ? !!str \"c\"\n  : !!seq [],\n}\n",
        );
    }

    #[test]
    fn long_text_is_folded() {
        let words = "word ".repeat(30);
        let text = dump(&Value::from(words.trim()), &Style::default()).unwrap();
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.len() <= 90), "{text}");
    }
}
