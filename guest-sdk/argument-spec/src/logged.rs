//! Masks the values of secret options in arguments, for a log.
//!
//! Ansible masks a module's output. The runner masks the log that it writes before the module runs. The rules are
//! Ansible's. Where Ansible finds a secret only after it converted a value, the whole value is masked here. Keys stay,
//! except for keys inside a secret.

use indexmap::IndexSet;
use modbox_python_json::{Dict, Value};

use crate::environment::Environment;
use crate::mask::{PLACEHOLDER, Secrets};
use crate::no_log;
use crate::spec::{ArgumentSpec, OptionSpec};

/// The largest number of secrets. Each is searched for in every other argument.
const MAX_SECRETS: usize = 256;

/// Arguments that a log may show, and the secrets that it must not show.
#[derive(Debug, Clone, Default)]
pub struct Logged {
    /// The arguments, masked.
    pub arguments: Dict,
    /// The secrets of the arguments, to be masked in other places too.
    pub secrets: Secrets,
}

impl ArgumentSpec {
    /// Masks arguments for a log: the values of `no_log` options under each of their names and at every depth, the same
    /// texts wherever they occur, and undeclared arguments with names like a password's.
    #[must_use]
    pub fn logged(&self, arguments: &Dict) -> Logged {
        let mut found = IndexSet::new();
        let hidden = hide(self, arguments, &mut found);
        if found.len() > MAX_SECRETS {
            let arguments = hidden.into_keys().map(|name| (name, PLACEHOLDER.into())).collect();
            return Logged { arguments, secrets: secrets(found.into_iter().take(MAX_SECRETS)) };
        }
        let secrets = secrets(found);
        Logged { arguments: secrets.mask_dict(hidden), secrets }
    }

    /// Returns the secrets of arguments as the module itself finds them: the values of `no_log` options at every depth, with
    /// those that variables and defaults give. Variables come from `environment`.
    #[must_use]
    pub fn secrets(&self, arguments: &Dict, environment: &dyn Environment) -> Secrets {
        match self.declares_secrets() {
            true => Secrets::from(&self.validate(arguments, environment)),
            false => Secrets::default(),
        }
    }
}

fn secrets(texts: impl IntoIterator<Item = String>) -> Secrets {
    let mut secrets = Secrets::default();
    texts.into_iter().for_each(|text| secrets.add(text));
    secrets
}

/// Replaces the secrets of one level, and collects them.
fn hide(spec: &ArgumentSpec, arguments: &Dict, found: &mut IndexSet<String>) -> Dict {
    let one = |(name, value): (&String, &Value)| {
        let shown = match spec.option(name) {
            Some(option) if option.no_log.unwrap_or_else(|| looks_like_password(name)) => hidden(value, found),
            Some(option) => hide_in(option, value, found),
            None if looks_like_password(name) => hidden(value, found),
            None => hide_by_name(value, found),
        };
        (name.clone(), shown)
    };
    arguments.iter().map(one).collect()
}

/// Replaces a whole value, and collects its texts.
fn hidden(value: &Value, found: &mut IndexSet<String>) -> Value {
    if matches!(value, Value::Null) {
        return Value::Null;
    }
    no_log::add(value, found);
    PLACEHOLDER.into()
}

/// Replaces the secrets inside an option that has options of its own.
fn hide_in(option: &OptionSpec, value: &Value, found: &mut IndexSet<String>) -> Value {
    match (option.sub_spec.as_deref(), value) {
        (None, _) | (_, Value::Null | Value::Bool(_)) => hide_by_name(value, found),
        (Some(spec), Value::Dict(entries)) => Value::Dict(hide(spec, entries, found)),
        (Some(_), Value::List(items)) => Value::List(items.iter().map(|item| hide_in(option, item, found)).collect()),
        // A dict as text has one of three notations. If it holds a secret, all of it is masked.
        (Some(spec), _) if spec.has_secrets() => hidden(value, found),
        (Some(_), _) => value.clone(),
    }
}

/// Replaces secrets where no spec describes the value. Only names can show what is secret.
fn hide_by_name(value: &Value, found: &mut IndexSet<String>) -> Value {
    match value {
        Value::Dict(entries) => Value::Dict(hide(&ArgumentSpec::default(), entries, found)),
        Value::List(items) => Value::List(items.iter().map(|item| hide_by_name(item, found)).collect()),
        other => other.clone(),
    }
}

impl ArgumentSpec {
    /// Returns the option of a name or alias.
    fn option(&self, name: &str) -> Option<&OptionSpec> {
        let by_alias = || self.options.values().find(|option| option.aliases.iter().any(|alias| alias == name));
        self.options.get(name).or_else(by_alias)
    }

    /// Returns whether any option of any depth has `no_log`.
    fn declares_secrets(&self) -> bool {
        let declares = |option: &OptionSpec| {
            option.no_log == Some(true) || option.sub_spec.as_deref().is_some_and(Self::declares_secrets)
        };
        self.options.values().any(declares)
    }

    /// Returns whether any option of any depth is a secret.
    fn has_secrets(&self) -> bool {
        self.options.iter().any(|(name, option)| {
            let named = || std::iter::once(name).chain(&option.aliases).any(|name| looks_like_password(name));
            option.no_log.unwrap_or_else(named) || option.sub_spec.as_deref().is_some_and(Self::has_secrets)
        })
    }
}

/// Returns whether a name fits Ansible's `PASSWORD_MATCH`: `pass`, `password`, `db_passwd`, `pass-phrase_file`, but not
/// `bypass` or `compass`.
fn looks_like_password(name: &str) -> bool {
    // Upper case as Python compares it, where `ſ` is an `S`, too.
    let name: Vec<char> = name.to_uppercase().chars().collect();
    (0..name.len()).any(|at| {
        let (before, rest) = name.split_at(at);
        let begins = before.is_empty() || (before.len() > 1 && before.last().is_some_and(separates));
        begins && rest.strip_prefix(['P', 'A', 'S', 'S'].as_slice()).is_some_and(ends_a_password)
    })
}

/// What may follow `pass`: a separator or none, the rest of a word for it or none, then nothing, or a separator with
/// more behind it.
fn ends_a_password(rest: &[char]) -> bool {
    let separated = |text: &[char]| text.first().is_some_and(separates);
    let skipped = if separated(rest) { &rest[1..] } else { rest };
    [rest, skipped].into_iter().any(|rest| {
        ["", "WORD", "PHRASE", "WRD", "WD"].into_iter().any(|word| {
            let word: Vec<char> = word.chars().collect();
            let left = rest.strip_prefix(word.as_slice());
            left.is_some_and(|left| left.is_empty() || (left.len() > 1 && separated(left)))
        })
    })
}

fn separates(c: &char) -> bool {
    matches!(c, '-' | '_') || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use modbox_python_json::{decode, encode};

    use super::*;

    #[track_caller]
    fn check(spec: &str, arguments: &str, expect: &str) {
        let spec = ArgumentSpec::parse(&decode(spec).unwrap()).unwrap();
        let logged = spec.logged(decode(arguments).unwrap().as_dict().unwrap());
        let expect = expect.replace("<>", "\"VALUE_SPECIFIED_IN_NO_LOG_PARAMETER\"");
        assert_eq!(encode(&Value::Dict(logged.arguments)), expect);
    }

    #[test]
    fn options_are_hidden_under_each_name() {
        let spec = r#"{"token": {"no_log": true, "aliases": ["key"]}, "pass": {"no_log": false}, "url": {}}"#;
        check(spec, r#"{"token": "tk1", "pass": "p"}"#, r#"{"token": <>, "pass": "p"}"#);
        check(spec, r#"{"key": "tk1", "url": "http://tk1@x"}"#, r#"{"key": <>, "url": "http://********@x"}"#);
        check(spec, r#"{"key": ["tk1", {"a": 77}], "url": 1772}"#, r#"{"key": <>, "url": <>}"#);
        check(spec, r#"{"key": null, "token": true}"#, r#"{"key": null, "token": <>}"#);
    }

    #[test]
    fn sub_options_are_hidden_at_every_depth() {
        let spec = r#"{"users": {"type": "list", "elements": "dict", "options": {
            "name": {}, "auth": {"type": "dict", "options": {"code": {"no_log": true, "aliases": ["pin"]}}}}}}"#;
        check(
            spec,
            r#"{"users": [{"name": "a", "auth": {"pin": "4711"}}, {"name": "x4711y"}]}"#,
            r#"{"users": [{"name": "a", "auth": {"pin": <>}}, {"name": "x********y"}]}"#,
        );
        // As text there is no telling which part is the secret.
        check(spec, r#"{"users": "name=a"}"#, r#"{"users": <>}"#);
        check(spec, r#"{"users": [{"name": "a", "auth": "{'pin': 1}"}]}"#, r#"{"users": [{"name": "a", "auth": <>}]}"#);
    }

    #[test]
    fn secrets_are_those_that_the_module_finds() {
        let spec = r#"{"token": {"no_log": true, "aliases": ["key"]}, "password": {}, "pin": {"no_log": true, "default": 77},
            "users": {"type": "list", "elements": "dict", "options": {"code": {"no_log": true}}},
            "of_host": {"no_log": true, "fallback": ["env_fallback", ["HOST_KEY"]]}}"#;
        let spec = ArgumentSpec::parse(&decode(spec).unwrap()).unwrap();
        let arguments = decode(r#"{"key": "tk1", "password": "shown", "users": ["code=c0de"]}"#).unwrap();
        let host = indexmap::IndexMap::from([("HOST_KEY".to_owned(), "h0st".to_owned())]);
        let secrets = spec.secrets(arguments.as_dict().unwrap(), &host);
        let masked = secrets.mask_text("tk1, shown, 77, c0de, h0st");
        assert_eq!(masked, "********, shown, ********, ********, ********");
        assert!(ArgumentSpec::default().secrets(arguments.as_dict().unwrap(), &host).is_empty());
    }

    #[test]
    fn without_a_spec_names_decide() {
        check(
            "{}",
            r#"{"db_password": "x9", "bypass": "x9!", "deep": [{"Pass-Phrase": {"a": 1}}], "n": 2}"#,
            r#"{"db_password": <>, "bypass": "********!", "deep": [{"Pass-Phrase": <>}], "n": 2}"#,
        );
    }

    #[test]
    fn too_many_secrets_hide_everything() {
        let many: Vec<String> = (0..300).map(|n| format!("\"s{n}\"")).collect();
        let arguments = format!("{{\"password\": [{}], \"name\": \"s299\"}}", many.join(", "));
        check("{}", &arguments, r#"{"password": <>, "name": <>}"#);
    }

    #[test]
    fn names_are_those_that_ansible_warns_about() {
        let yes = [
            "pass",
            "PASS",
            "password",
            "passwd",
            "passwrd",
            "passphrase",
            "pass_word",
            "pass-phrase",
            "db_pass",
            "db-password",
            "my password",
            "pass_file",
            "password_file",
            "login_password_hash",
            "pass_",
            "__pass",
            "pa\u{17f}\u{17f}",
        ];
        let no = [
            "bypass",
            "compass",
            "passes",
            "passing",
            "passport",
            "_pass",
            "password_",
            "pas",
            "passworded",
            "",
            "xpass_y",
        ];
        for name in yes {
            assert!(looks_like_password(name), "{name}");
        }
        for name in no {
            assert!(!looks_like_password(name), "{name}");
        }
    }
}
