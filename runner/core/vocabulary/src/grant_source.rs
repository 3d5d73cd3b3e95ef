//! The source of a grant: an option, a policy file, an argument.
//!
//! It is a type until it is printed, so that no code asks a text what it means. Reports and the audit log hold the printed
//! form, and [`GrantSource::parse`] reads that back.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What comes before the option in the printed form of [`GrantSource::Argument`].
const ARGUMENT: &str = "argument ";

/// What comes before the origin of the option's value.
const MADE_FROM: &str = ", made from ";

/// What comes before the path in the printed form of [`GrantSource::PolicyFile`].
const POLICY_FILE: &str = "policy file ";

/// What comes before the name in the printed form of [`GrantSource::Profile`].
const PROFILE: &str = "profile ";

/// What comes before the program in the printed form of [`GrantSource::Need`].
const NEED: &str = "needed by ";

/// The source of a grant. It is serialised as it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantSource {
    /// An argument that names a path.
    Argument {
        /// The option, such as `path`.
        option: String,
        /// What a play made the value from, if that is known.
        made_from: Option<String>,
    },
    /// A policy file: its path, and behind a comma the key of its rule if that is for a module or a task.
    PolicyFile(String),
    /// A profile that modbox has.
    Profile {
        /// The name of the profile.
        name: String,
        /// What names the profile.
        named_by: Box<GrantSource>,
    },
    /// A granted program that starts only with this.
    Need(String),
    /// Another one, such as the option `--allow-read`, as it is printed.
    Named(String),
}

impl GrantSource {
    /// Returns a source that only its name tells, such as an option.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::Named(name.to_owned())
    }

    /// Returns the source with this printed form. A text without a known form is a [`GrantSource::Named`].
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.strip_prefix(PROFILE).and_then(|rest| rest.split_once(", ")) {
            // No profile names another one, and text from elsewhere could nest without end.
            Some((name, by)) => {
                Self::Profile { name: name.to_owned(), named_by: Box::new(Self::parse_without_profile(by)) }
            }
            None => Self::parse_without_profile(text),
        }
    }

    fn parse_without_profile(text: &str) -> Self {
        if let Some(argument) = text.strip_prefix(ARGUMENT) {
            return match argument.split_once(MADE_FROM) {
                Some((option, origin)) => {
                    Self::Argument { option: option.to_owned(), made_from: Some(origin.to_owned()) }
                }
                None => Self::Argument { option: argument.to_owned(), made_from: None },
            };
        }
        if let Some(file) = text.strip_prefix(POLICY_FILE) {
            return Self::PolicyFile(file.to_owned());
        }
        text.strip_prefix(NEED).map_or_else(|| Self::named(text), |program| Self::Need(program.to_owned()))
    }

    /// Returns the option that names the granted path, if an argument grants it.
    #[must_use]
    pub fn option(&self) -> Option<&str> {
        match self {
            Self::Argument { option, .. } => Some(option),
            _ => None,
        }
    }

    /// Returns the texts in it that a secret can be in.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Argument { option, made_from } => std::iter::once(option).chain(made_from).collect(),
            Self::PolicyFile(text) | Self::Need(text) | Self::Named(text) => vec![text],
            Self::Profile { name, named_by } => std::iter::once(name).chain(named_by.texts_mut()).collect(),
        }
    }
}

impl fmt::Display for GrantSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { option, made_from: None } => write!(f, "{ARGUMENT}{option}"),
            Self::Argument { option, made_from: Some(origin) } => write!(f, "{ARGUMENT}{option}{MADE_FROM}{origin}"),
            Self::PolicyFile(file) => write!(f, "{POLICY_FILE}{file}"),
            Self::Profile { name, named_by } => write!(f, "{PROFILE}{name}, {named_by}"),
            Self::Need(program) => write!(f, "{NEED}{program}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl Serialize for GrantSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GrantSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_source_is_read_back_as_it_was() {
        let file = || GrantSource::PolicyFile("/etc/modbox/policy.yaml, `lineinfile`".to_owned());
        let argument = |made_from: Option<&str>| GrantSource::Argument {
            option: "src".to_owned(),
            made_from: made_from.map(str::to_owned),
        };
        for (source, printed) in [
            (argument(None), "argument src"),
            (argument(Some("a result of `stat`")), "argument src, made from a result of `stat`"),
            (file(), "policy file /etc/modbox/policy.yaml, `lineinfile`"),
            (
                GrantSource::Profile { name: "manage-users".to_owned(), named_by: Box::new(file()) },
                "profile manage-users, policy file /etc/modbox/policy.yaml, `lineinfile`",
            ),
            (GrantSource::Need("/usr/bin/git".to_owned()), "needed by /usr/bin/git"),
            (GrantSource::named("--allow-read"), "--allow-read"),
            (GrantSource::named("profile"), "profile"),
        ] {
            assert_eq!(source.to_string(), printed);
            assert_eq!(GrantSource::parse(printed), source);
            let read: GrantSource = serde_json::from_value(serde_json::to_value(&source).unwrap()).unwrap();
            assert_eq!(read, source);
        }
    }

    #[test]
    fn profiles_do_not_nest() {
        let text = format!("{}--allow-read", "profile a, ".repeat(100_000));
        let source = GrantSource::parse(&text);
        let GrantSource::Profile { name, named_by } = &source else { panic!("{source:?}") };
        assert_eq!((&**name, &**named_by), ("a", &GrantSource::named(&text["profile a, ".len()..])));
        assert_eq!(source.to_string(), text);
    }

    #[test]
    fn only_an_argument_has_an_option() {
        assert_eq!(GrantSource::parse("argument path").option(), Some("path"));
        for other in ["--allow-read", "policy file /p", "needed by x", "profile a, policy file /p", ""] {
            assert_eq!(GrantSource::parse(other).option(), None, "{other}");
        }
    }
}
