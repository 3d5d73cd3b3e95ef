//! The condition under which a provider works on a machine: a constant, or programs that must exist or must not.

use modbox_contract::Value;

/// Programs in one condition; a provider names a few.
const MAX_COMMANDS: usize = 256;

/// Condition in metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuitableRule {
    /// The provider says so itself.
    Constant(bool),
    /// Each rule must hold.
    Commands(Vec<CommandRule>),
}

/// Program that must exist, or must not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule {
    /// Name, or path, of the program.
    pub command: String,
    /// Whether it must exist.
    pub wanted: bool,
}

/// Whether a provider works on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suitability {
    /// It works.
    Suitable,
    /// It does not, for this reason.
    Unsuitable(String),
}

impl SuitableRule {
    /// Reads the condition. The text `true` or `false` is a constant, too.
    ///
    /// # Errors
    ///
    /// A value of another form; the error says what is wrong.
    pub(crate) fn from_value(value: &Value) -> Result<Self, String> {
        let wrong = || "must be true, false, or `{commands: [NAME, \"not NAME\"]}`".to_owned();
        match value {
            Value::Bool(truth) => Ok(Self::Constant(*truth)),
            Value::Str(text) if text == "true" => Ok(Self::Constant(true)),
            Value::Str(text) if text == "false" => Ok(Self::Constant(false)),
            Value::Dict(entries) => {
                let commands = entries.get("commands").and_then(Value::as_list).ok_or_else(wrong)?;
                if commands.len() > MAX_COMMANDS {
                    return Err(format!("names more than {MAX_COMMANDS} commands"));
                }
                commands.iter().map(CommandRule::from_value).collect::<Result<_, _>>().map(Self::Commands)
            }
            _ => Err(wrong()),
        }
    }

    /// Evaluates the condition; `exists` says whether a program is found.
    pub fn evaluate(&self, exists: impl Fn(&str) -> bool) -> Suitability {
        match self {
            Self::Constant(true) => Suitability::Suitable,
            Self::Constant(false) => Suitability::Unsuitable("the provider says that it is not suitable".to_owned()),
            Self::Commands(rules) => match rules.iter().find(|rule| exists(&rule.command) != rule.wanted) {
                None => Suitability::Suitable,
                Some(CommandRule { command, wanted: true }) => {
                    Suitability::Unsuitable(format!("the command `{command}` is missing"))
                }
                Some(CommandRule { command, wanted: false }) => {
                    Suitability::Unsuitable(format!("the command `{command}` exists"))
                }
            },
        }
    }
}

impl CommandRule {
    fn from_value(value: &Value) -> Result<Self, String> {
        let text = value.as_str().ok_or("has an entry in `commands` that is not a string")?;
        let (command, wanted) = match text.strip_prefix("not ") {
            Some(command) => (command.trim_ascii_start(), false),
            None => (text, true),
        };
        if command.is_empty() || command.contains('\0') {
            return Err(format!("has an invalid command `{}`", text.escape_debug()));
        }
        Ok(Self { command: command.to_owned(), wanted })
    }
}

impl Suitability {
    /// Returns the reason why the provider does not work here.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Suitable => None,
            Self::Unsuitable(reason) => Some(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use modbox_contract::decode;

    use super::*;

    #[track_caller]
    fn check(json: &str, expect: Result<Option<&str>, &str>) {
        let rule = SuitableRule::from_value(&decode(json).unwrap());
        let got = rule.map(|rule| rule.evaluate(|command| ["sh", "/bin/ls"].contains(&command)));
        let got = got.as_ref().map(Suitability::reason).map_err(String::as_str);
        match (got, expect) {
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{json}: {error}"),
            (got, expect) => assert_eq!(got, expect, "{json}"),
        }
    }

    #[test]
    fn conditions_are_evaluated() {
        check("true", Ok(None));
        check("\"true\"", Ok(None));
        check("false", Ok(Some("the provider says that it is not suitable")));
        check("\"false\"", Ok(Some("the provider says that it is not suitable")));
        check(r#"{"commands": []}"#, Ok(None));
        check(r#"{"commands": ["sh", "/bin/ls", "not  dpkg"]}"#, Ok(None));
        check(r#"{"commands": ["sh", "systemctl"]}"#, Ok(Some("the command `systemctl` is missing")));
        check(r#"{"commands": ["not sh"]}"#, Ok(Some("the command `sh` exists")));
        check(r#"{"commands": ["notsh"]}"#, Ok(Some("the command `notsh` is missing")));
    }

    #[test]
    fn other_forms_are_refused() {
        for json in ["null", "\"yes\"", "1", "[]", "{}", r#"{"commands": "sh"}"#] {
            check(json, Err("must be true, false"));
        }
        check(r#"{"commands": [1]}"#, Err("not a string"));
        check(r#"{"commands": ["not "]}"#, Err("invalid command"));
        check(r#"{"commands": [""]}"#, Err("invalid command"));
    }
}
