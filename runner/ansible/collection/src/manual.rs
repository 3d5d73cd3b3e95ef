//! The manual of a module as a file of Python, which `ansible-doc` reads and nothing runs.

use std::fmt::Write as _;

use modbox_python_json::{Value, repr};

/// The manual of a module: three texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manual {
    /// Name, description and options, as YAML.
    pub documentation: String,
    /// Examples, as YAML.
    pub examples: String,
    /// What the module returns, as YAML.
    pub returns: String,
}

impl Manual {
    /// Returns the file.
    #[must_use]
    pub fn to_python(&self) -> String {
        let mut text = "#!/usr/bin/python\n# The manual of a component. Nothing in this file runs: tasks lead to the action plugin \
                        modbox.modbox.component.\n"
            .to_owned();
        for (name, value) in
            [("DOCUMENTATION", &self.documentation), ("EXAMPLES", &self.examples), ("RETURN", &self.returns)]
        {
            let _ = writeln!(text, "\n{name} = {}", literal(value));
        }
        text
    }
}

/// Returns a literal of Python: as lines where that says the same, since checkers want a text to end with its line.
fn literal(text: &str) -> String {
    let is_plain = !text.contains("'''") && !text.contains(['\r', '\0', '\u{feff}']);
    match is_plain {
        true => format!("r'''\n{}\n'''", text.trim_end_matches('\n')),
        false => repr(&Value::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_is_three_literals() {
        let manual =
            Manual { documentation: "module: x\n".to_owned(), examples: "'''\n".to_owned(), returns: String::new() };
        let text = manual.to_python();
        assert!(text.contains("\nDOCUMENTATION = r'''\nmodule: x\n'''\n"), "{text}");
        assert!(text.contains("\nEXAMPLES = \"'''\\n\"\n"), "{text}");
        for end in ["x='y'", "x\\"] {
            assert_eq!(literal(end), format!("r'''\n{end}\n'''"));
        }
    }
}
