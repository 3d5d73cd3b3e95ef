//! Checks of a call's arguments before anything is started: secrets, and paths that do not say where they lead.

use std::collections::BTreeMap;

use modbox_argument_spec::{ArgumentSpec, Environment, ErrorKind, OptionSpec, OptionType};
use modbox_python_json::{Dict, Value, encode};

use crate::rules::is_listed;
use crate::text::in_one_line;
use crate::tool::Tool;

/// Mistakes that are told. A model mends a few at a time.
const MAX_TOLD: usize = 8;

/// Maximum bytes of a mistake that is told.
const MAX_TEXT: usize = 512;

impl Tool {
    /// Returns what is wrong with the arguments of a call; empty if nothing is.
    #[must_use]
    pub fn mistakes(&self, arguments: &Dict) -> Vec<String> {
        let mut mistakes = Vec::new();
        if let Some(name) = arguments.keys().find(|name| name.starts_with("_ansible_")) {
            mistakes.push(format!("`{name}` is not an option: names that begin with `_ansible_` are internal"));
        }
        check_level(&self.spec, arguments, "", &mut mistakes);
        // A spec of the documentation alone may be incomplete, so the module checks the arguments.
        if mistakes.is_empty() && self.is_exact {
            let validated = self.spec.validate(arguments, &Variables(&self.variables));
            mistakes.extend(validated.errors.into_iter().map(|error| match error.kind {
                ErrorKind::Unsupported => format!("unknown options: {}", error.message),
                _ => error.message,
            }));
        }
        mistakes.truncate(MAX_TOLD);
        mistakes.iter().map(|mistake| in_one_line(mistake, MAX_TEXT)).collect()
    }
}

/// The variables that a module gets.
struct Variables<'a>(&'a BTreeMap<String, String>);

impl Environment for Variables<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

/// Checks the arguments of one level of options.
fn check_level(spec: &ArgumentSpec, arguments: &Dict, prefix: &str, mistakes: &mut Vec<String>) {
    for (name, option) in &spec.options {
        for given in std::iter::once(name).chain(&option.aliases) {
            let Some(value) = arguments.get(given) else { continue };
            let shown = format!("{prefix}{given}");
            match is_listed(option) {
                true => check_value(option, value, &shown, mistakes),
                false => mistakes
                    .push(format!("`{shown}` is a secret, and a secret that passes a model is none; leave it out")),
            }
        }
    }
}

fn check_value(option: &OptionSpec, value: &Value, shown: &str, mistakes: &mut Vec<String>) {
    match (option.option_type, option.elements) {
        (OptionType::Path, _) => check_path(value, shown, mistakes),
        (OptionType::List, Some(OptionType::Path)) => match value {
            Value::List(items) => items.iter().for_each(|item| check_path(item, shown, mistakes)),
            // A list as text has its items between commas.
            Value::Str(text) => text.split(',').for_each(|item| check_path(&item.trim().into(), shown, mistakes)),
            other => check_path(other, shown, mistakes),
        },
        (OptionType::Dict, _) => check_dict(option, value, shown, mistakes),
        (OptionType::List, Some(OptionType::Dict)) => match value {
            Value::List(items) => items.iter().for_each(|item| check_dict(option, item, shown, mistakes)),
            other => check_dict(option, other, shown, mistakes),
        },
        _ => {}
    }
}

fn check_dict(option: &OptionSpec, value: &Value, shown: &str, mistakes: &mut Vec<String>) {
    let Some(spec) = option.sub_spec.as_deref() else { return };
    match value {
        Value::Dict(entries) => check_level(spec, entries, &format!("{shown}."), mistakes),
        // As text it would have to be parsed to be checked, and the schema asks for an object.
        Value::Str(_) => mistakes.push(format!("`{shown}` must be an object, not text")),
        _ => {}
    }
}

fn check_path(value: &Value, shown: &str, mistakes: &mut Vec<String>) {
    let path = match value {
        Value::Str(path) if !path.is_empty() => path,
        // An option without a value is one that is not given.
        Value::Str(_) | Value::Null => return,
        _ => return mistakes.push(format!("`{shown}` must be an absolute path, and `{}` is not text", encode(value))),
    };
    if !path.starts_with('/') {
        mistakes.push(format!("`{shown}` must be an absolute path, and `{path}` is not"));
    } else if path.split('/').any(|part| part == "..") {
        mistakes.push(format!("`{shown}` must be a path without `..`, and `{path}` has one"));
    }
}

#[cfg(test)]
mod tests {
    use modbox_argument_spec::Metadata;
    use modbox_python_json::decode;

    use super::*;
    use crate::tool::Permitted;

    const SPEC: &str = r#"{"name": "x", "argument_spec": {"path": {"type": "path", "aliases": ["dest"]},
        "paths": {"type": "list", "elements": "path"}, "count": {"type": "int"}, "token": {"no_log": true, "aliases": ["pw"]},
        "o": {"type": "dict", "options": {"src": {"type": "path"}, "key": {"no_log": true}}}}}"#;

    fn mistakes(arguments: &str) -> Vec<String> {
        let metadata = Metadata::from_json(SPEC).unwrap();
        let spec = metadata.argument_spec.clone();
        let tool = Tool::new("x".to_owned(), "x", &metadata, (spec, true), Permitted::default()).unwrap();
        let Value::Dict(arguments) = decode(arguments).unwrap() else { panic!("an object") };
        tool.mistakes(&arguments)
    }

    #[test]
    fn paths_say_where_they_lead() {
        assert_eq!(mistakes(r#"{"path": "/a/b", "paths": ["/a", "/b..c"], "o": {"src": "/x"}}"#), Vec::<String>::new());
        for (arguments, expect) in [
            (r#"{"path": "a"}"#, "`path` must be an absolute path, and `a` is not"),
            (r#"{"dest": "~/a"}"#, "`dest` must be an absolute path, and `~/a` is not"),
            (r#"{"path": "/a/../b"}"#, "`path` must be a path without `..`, and `/a/../b` has one"),
            (r#"{"paths": ["/a", "b"]}"#, "`paths` must be an absolute path, and `b` is not"),
            (r#"{"paths": "/a, .."}"#, "`paths` must be an absolute path, and `..` is not"),
            (r#"{"o": {"src": "/.."}}"#, "`o.src` must be a path without `..`, and `/..` has one"),
            (r#"{"path": ["/a"]}"#, "`path` must be an absolute path, and `[\"/a\"]` is not text"),
            (r#"{"path": 5}"#, "`path` must be an absolute path, and `5` is not text"),
            (r#"{"paths": ["/a", true]}"#, "`paths` must be an absolute path, and `true` is not text"),
            (r#"{"o": "src=/../x"}"#, "`o` must be an object, not text"),
        ] {
            assert_eq!(mistakes(arguments), [expect], "{arguments}");
        }
    }

    #[test]
    fn secrets_and_wrong_arguments_are_refused() {
        for (arguments, expect) in [
            (r#"{"token": "t"}"#, "`token` is a secret"),
            (r#"{"pw": null}"#, "`pw` is a secret"),
            (r#"{"o": {"key": "t"}}"#, "`o.key` is a secret"),
            (r#"{"_ansible_check_mode": true}"#, "`_ansible_check_mode` is not an option"),
            (r#"{"count": "many"}"#, "count"),
            (r#"{"unknown": 1}"#, "unknown options: unknown"),
        ] {
            let told = mistakes(arguments);
            assert!(told[0].contains(expect), "{arguments}: {told:?}");
        }
    }
}
