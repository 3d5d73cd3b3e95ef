//! Ways from text to a source: files of a play, extra variables of the command line, and template files.
//!
//! There is one more, for lines of an inventory. What a module prints, a fact, the content of another file and an environment variable stay
//! values.

use std::sync::Arc;

use modbox_python_json::Value;

use crate::error::{Problem, YamlError};
use crate::position::Position;
use crate::read::{Constructed, compose, compose_all, construct, read_json};
use crate::source::{Node, Source};
use crate::warning::Warning;

/// A text that was read.
#[derive(Debug)]
pub struct Document {
    /// The topmost node; null for a text without one.
    pub root: Source,
    /// What Ansible would warn of.
    pub warnings: Vec<Warning>,
}

/// Reads a file that belongs to a play: the play itself, tasks, variables, defaults, `meta` and so on.
///
/// As in Ansible, the text is read as JSON if it is that, and otherwise as YAML 1.1 with exactly one document.
///
/// # Errors
///
/// The text is not YAML, has an unknown tag or an invalid scalar, or is larger than a limit.
pub fn load_play_file(text: &str, file: &str) -> Result<Document, YamlError> {
    let start = Position::start_of(file);
    if let Some(read) = read_json(text, &start) {
        return Ok(Document { root: read?, warnings: Vec::new() });
    }
    let Constructed { root, warnings } = construct(compose(text, &start.file)?)?;
    Ok(Document { root, warnings })
}

/// Reads extra variables as JSON or YAML: what `-e` gets as `{"x": 1}`, and the file that `-e @FILE` names.
///
/// # Errors
///
/// The same as for [`load_play_file`], or the text is not a mapping.
pub fn load_extra_vars(text: &str, name: &str) -> Result<Document, YamlError> {
    let document = load_play_file(text, name)?;
    if document.root.as_map().is_none() {
        let problem = Problem::Unexpected { expected: "a mapping of variables", found: document.root.kind() };
        return Err(YamlError::new(document.root.position(), problem));
    }
    Ok(document)
}

/// Reads extra variables as `-e` gets them in its other notation: `name=value other="{{ value }}"`. All values are
/// text.
///
/// # Errors
///
/// A quote or a block of a template does not end, or an escape sequence has no character.
pub fn extra_vars_key_values(text: &str, name: &str) -> Result<Document, YamlError> {
    let root = template_file(text, name).key_values(false)?;
    Ok(Document { root, warnings: Vec::new() })
}

/// Reads all documents of a text that is data, such as the input of a filter. Nothing in it is a template.
///
/// # Errors
///
/// The text is not YAML, has an unknown tag, an invalid scalar or an encrypted one, or is larger than a limit.
pub fn load_data(text: &str, name: &str) -> Result<Vec<Value>, YamlError> {
    let graphs = compose_all(text, &Arc::from(name))?;
    graphs.into_iter().map(|graph| construct(graph)?.root.to_data()).collect()
}

/// Takes the text of a template file, at the moment when it is rendered.
#[must_use]
pub fn template_file(text: &str, file: &str) -> Source {
    Source::new(Node::Text(Arc::from(text)), Position::start_of(file))
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &str) {
        let data = load_play_file(text, "x").and_then(|document| document.root.to_data());
        assert_eq!(data.map(|data| encode(&data)).map_err(|error| error.to_string()).as_deref(), Ok(wanted));
    }

    #[track_caller]
    fn check_error(text: &str, wanted: &str) {
        let read = load_play_file(text, "x").and_then(|document| document.root.to_data());
        assert_eq!(read.map_err(|error| error.to_string()), Err(format!("failed to read `x:{wanted}")));
    }

    #[test]
    fn data_has_several_documents_and_no_template() {
        let check = |text: &str, expect: &str| {
            let read = load_data(text, "x").map(|documents| encode(&Value::List(documents)));
            assert_eq!(read.unwrap_or_else(|error| error.to_string()), expect, "{text}");
        };
        check("a: 1\n---\n- '{{ x }}'\n---\n", r#"[{"a": 1}, ["{{ x }}"], null]"#);
        check("", "[]");
        let alias = "undefined alias `a`; define the anchor above, or quote a value that begins with `*`";
        check("&a x\n---\n*a\n", &format!("failed to read `x:3:1`: {alias}"));
    }

    #[test]
    fn values_are_those_of_yaml_1_1() {
        check("mode: 0644\nstate: on\ntime: 1:30\n", r#"{"mode": 420, "state": true, "time": 90}"#);
        check("a: &a {b: 1, c: 2}\nd: {<<: *a, c: 3}\n", r#"{"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}"#);
        check("- !!set {a, b}\n- !!omap [c: 1]\n", r#"[["a", "b"], [["c", 1]]]"#);
        check(
            "- !!binary aGk=\n- 2001-1-1 1:02:03\n- !unsafe '{{ x }}'\n",
            r#"["hi", "2001-01-01T01:02:03", "{{ x }}"]"#,
        );
        check("{1: a, true: b, ~: c}", r#"{"1": "b", "null": "c"}"#);
        check(r#"{"a": 1e3, "b": NaN}"#, r#"{"a": 1000.0, "b": NaN}"#);
        check("", "null");
    }

    #[test]
    fn mistakes_say_where_and_what_to_do() {
        check_error(
            "a: {{ b }}\n",
            "1:4`: a mapping cannot be the key of a mapping; quote the template: `\"{{ b }}\"`",
        );
        check_error("a:\n\tb: c\n", "2:1`: found character that cannot start any token; replace the tab by spaces");
        check_error(
            "a: 'b\nc: d\n",
            "1:4`: found unexpected end of stream while scanning a quoted scalar that begins in \
            line 1; close the quote that is open here",
        );
        check_error(
            "a: b\nkey:value\n",
            "2:1`: could not find expected ':' while scanning a simple key that begins in line 2; put a space after the \
             colon: `key: value`",
        );
        check_error("a: b\n---\nc\n", "2:1`: found a second document; put each document into a file of its own");
        check_error("a: !x b\n", "1:4`: unknown tag `!x`; quote a value that begins with `!`");
        check_error(
            "a: *b\n",
            "1:4`: undefined alias `b`; define the anchor above, or quote a value that begins with `*`",
        );
        check_error("a: &a [*a]\n", "1:4`: the node contains itself");
        check_error("a: 2001-13-01\n", "1:4`: invalid date `2001-13-01`; quote the value if it is text");
        check_error("a: \u{7}\n", "1:4`: control character U+0007; write it as an escape sequence in double quotes");
        check_error(
            "a: !vault b\n",
            "1:4`: the value is encrypted with Ansible Vault, which is not supported; decrypt it \
            first, for example with `ansible-vault`",
        );
    }

    #[test]
    fn text_within_unsafe_is_data_wherever_an_alias_takes_it() {
        let root =
            load_play_file("- !unsafe [&a x, &b {c: y}]\n- *a\n- *b\n- &d z\n- !unsafe [*d]\n", "x").unwrap().root;
        let items = root.as_list().unwrap();
        assert!(items[1].as_text().is_none() && items[2].as_map().unwrap().get("c").unwrap().as_text().is_none());
        assert!(items[3].as_text().is_some() && items[4].as_list().unwrap()[0].as_text().is_none());
    }

    #[test]
    fn an_alias_shares_its_node() {
        let root = load_play_file("- &a {b: c}\n- *a\n", "x").unwrap().root;
        assert!(root.as_list().unwrap()[0].is_same(&root.as_list().unwrap()[1]));
    }

    #[test]
    fn a_key_that_is_written_twice_is_a_warning() {
        let Document { root, warnings } = load_play_file("a: 1\nb: 2\na: 3\n", "x").unwrap();
        assert_eq!(encode(&root.to_data().unwrap()), r#"{"a": 3, "b": 2}"#);
        let shown: Vec<_> = warnings.iter().map(|warning| format!("{}: {warning}", warning.position())).collect();
        assert_eq!(shown, ["x:3:1: Found duplicate mapping key 'a'. Using last defined value only."]);
    }

    #[test]
    fn texts_that_grow_are_refused() {
        let grown = |form: &dyn Fn(usize) -> String| -> Problem {
            let text: String = (0..30).map(form).collect();
            load_play_file(&format!("x: &a0 {{y: z}}\n{text}"), "x").unwrap_err().problem().clone()
        };
        let aliases = |level| vec![format!("*a{level}"); 9].join(",");
        assert_eq!(grown(&|i| format!("k{i}: &a{} [{}]\n", i + 1, aliases(i))), Problem::TooLarge);
        assert_eq!(grown(&|i| format!("k{i}: &a{} {{<<: [{}], l{i}: m}}\n", i + 1, aliases(i))), Problem::TooManyNodes);
        for (text, wanted) in [
            ("[".repeat(1000), Problem::TooDeep),
            ("- ".repeat(1000), Problem::TooDeep),
            (format!("- {}\n", "x".repeat(crate::limits::MAX_TEXT)), Problem::TooLong),
            ("-\n".repeat(crate::limits::MAX_NODES), Problem::TooManyNodes),
        ] {
            assert_eq!(*load_play_file(&text, "x").unwrap_err().problem(), wanted);
        }
    }

    #[test]
    fn extra_variables_are_mappings() {
        assert!(load_extra_vars("{\"a\": 1}", "-e").unwrap().root.as_map().is_some());
        assert!(load_extra_vars("[1]", "-e").is_err());
        let root = extra_vars_key_values("a=1 b='{{ c }}'", "-e").unwrap().root;
        assert_eq!(encode(&root.to_data().unwrap()), r#"{"a": "1", "b": "{{ c }}"}"#);
    }
}
