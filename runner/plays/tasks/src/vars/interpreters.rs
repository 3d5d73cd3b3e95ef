//! Interpreters of modules that variables name, such as `ansible_python_interpreter`.

use modbox_python_json::Value;
use modbox_template::{Engine, Origin, Provenance, Scope, TemplateError};
use modbox_yaml::Source;

use crate::vars::layer;

/// Languages whose interpreter a variable may name: the base name of the program in a module's `#!` line, and the
/// variable.
const LANGUAGES: [(&str, &str); 9] = [
    (PYTHON, "ansible_python_interpreter"),
    ("python3", "ansible_python3_interpreter"),
    ("bash", "ansible_bash_interpreter"),
    ("sh", "ansible_sh_interpreter"),
    ("perl", "ansible_perl_interpreter"),
    ("ruby", "ansible_ruby_interpreter"),
    ("node", "ansible_node_interpreter"),
    ("php", "ansible_php_interpreter"),
    ("pwsh", "ansible_pwsh_interpreter"),
];

/// The language of Ansible's own modules.
const PYTHON: &str = "python";

/// Words that ask for the usual Python, which Ansible looks for.
const DISCOVERED: [&str; 4] = ["auto", "auto_legacy", "auto_silent", "auto_legacy_silent"];

/// An interpreter that a variable names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedInterpreter {
    /// The base name of the program that it replaces.
    pub language: String,
    /// The program, with arguments.
    pub program: String,
    /// Whether only the operator named it, not the text of a play or the result of a module.
    pub is_of_operator: bool,
}

/// Returns the interpreters that variables name. `usual` is the Python that runs where none is named.
///
/// # Errors
///
/// A variable cannot be evaluated.
pub fn named(engine: &Engine, scope: &Scope, usual: &str) -> Result<Vec<NamedInterpreter>, TemplateError> {
    let mut found = Vec::new();
    for (language, variable) in LANGUAGES {
        if scope.get(variable).is_none() {
            continue;
        }
        let evaluated = engine.expression(&Source::literal(variable), scope)?;
        let value = layer::to_json(&evaluated.value);
        let program = if value == Value::Null { String::new() } else { modbox_python_json::str(&value) };
        let program = program.trim();
        let is_usual = language == PYTHON && (program == usual || DISCOVERED.contains(&program));
        if !program.is_empty() && !is_usual {
            let is_of_operator = is_of_operator(&evaluated.provenance);
            found.push(NamedInterpreter { language: language.to_owned(), program: program.to_owned(), is_of_operator });
        }
    }
    Ok(found)
}

/// Says whether a value was made of nothing but words of the operator and of modbox.
fn is_of_operator(provenance: &Provenance) -> bool {
    !provenance.is_empty()
        && provenance.iter().all(|origin| matches!(origin, Origin::ExtraVars | Origin::Magic | Origin::Prompt))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use modbox_template::{Layer, Slot};
    use modbox_yaml::load_extra_vars;

    use super::*;

    fn found(json: &str, origin: &Origin) -> Vec<(String, bool)> {
        let document = load_extra_vars(json, "<test>").unwrap();
        let mut variables = Layer::default();
        for (key, entry) in document.root.as_map().unwrap().iter() {
            let modbox_yaml::Key::Text(name) = key else { panic!("{key:?}") };
            variables.insert(name.clone(), Slot::source_from(entry.value.clone(), origin.clone()));
        }
        let scope = Scope::new().with(Arc::new(variables));
        let named = named(&Engine::default(), &scope, "/usr/bin/python3").unwrap();
        named.into_iter().map(|found| (format!("{}={}", found.language, found.program), found.is_of_operator)).collect()
    }

    #[test]
    fn variables_name_interpreters() {
        let operator = |json: &str| found(json, &Origin::ExtraVars);
        assert_eq!(operator(r#"{"x": 1}"#), []);
        assert_eq!(operator(r#"{"ansible_python_interpreter": "auto_silent"}"#), []);
        assert_eq!(operator(r#"{"ansible_python_interpreter": "/usr/bin/python3"}"#), []);
        assert_eq!(
            operator(r#"{"ansible_python_interpreter": " /v/bin/python "}"#),
            [("python=/v/bin/python".into(), true)]
        );
        let both = r#"{"ansible_perl_interpreter": "{{ p }}", "ansible_bash_interpreter": "/b", "p": "/p"}"#;
        assert_eq!(operator(both), [("bash=/b".into(), true), ("perl=/p".into(), true)]);
        let facts = found(r#"{"ansible_python_interpreter": "/v/bin/python"}"#, &Origin::Facts);
        assert_eq!(facts, [("python=/v/bin/python".into(), false)]);
    }
}
