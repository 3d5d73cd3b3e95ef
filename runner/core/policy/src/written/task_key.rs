//! The key of a policy rule for tasks of plays: a pattern of names, or a role.
//!
//! A name proves nothing: the author of a play or a role gives it. Rules for tasks say which part of a play gets a grant.
//! They do not tell one play from another.

use std::fmt;

use modbox_vocabulary::NamePattern;

/// What a key begins with that is for the tasks of a role.
const ROLE: &str = "role:";

/// The names that a task has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskNames {
    /// The name of the task, as it is shown without that of its role.
    pub name: String,
    /// The full name of its role, if it is a part of one.
    pub role: Option<String>,
}

/// The key of a rule for tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskKey {
    /// Tasks whose name fits the pattern: the name itself, or with that of the role before it, as `web : Install`.
    Name(NamePattern),
    /// Tasks of roles whose name fits the pattern.
    Role(NamePattern),
}

impl TaskKey {
    /// Parses a key of a policy file.
    ///
    /// # Errors
    ///
    /// An empty name.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix(ROLE).map(str::trim) {
            Some("") => Err(format!("`{text}` names no role; expected `role: NAME`, with `*` for any characters")),
            Some(role) => Ok(Self::Role(NamePattern::new(role))),
            None if text.trim().is_empty() => {
                Err(format!("`{text}` is not the name of a task; expected a name, with `*` for any characters"))
            }
            None => Ok(Self::Name(NamePattern::new(text))),
        }
    }

    /// Returns whether the rule is for a task.
    #[must_use]
    pub fn matches(&self, task: &TaskNames) -> bool {
        let TaskNames { name, role } = task;
        match (self, role) {
            (Self::Role(pattern), Some(role)) => {
                let short = role.rsplit('.').next().unwrap_or(role);
                pattern.matches(role) || pattern.matches(short)
            }
            (Self::Role(_), None) => false,
            (Self::Name(pattern), None) => pattern.matches(name),
            (Self::Name(pattern), Some(role)) => pattern.matches(name) || pattern.matches(&format!("{role} : {name}")),
        }
    }
}

impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(pattern) => write!(f, "{pattern}"),
            Self::Role(pattern) => write!(f, "{ROLE} {pattern}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_pattern_of_names_or_a_role() {
        let check = |key: &str, name: &str, role: Option<&str>, expect| {
            let task = TaskNames { name: name.to_owned(), role: role.map(str::to_owned) };
            assert_eq!(TaskKey::parse(key).unwrap().matches(&task), expect, "{key}: {task:?}");
        };
        check("Install *", "Install it", None, true);
        check("Install *", "Remove it", None, false);
        check("Install *", "Install it", Some("web"), true);
        check("web : Install *", "Install it", Some("web"), true);
        check("web : Install *", "Install it", Some("db"), false);
        check("web : Install *", "Install it", None, false);
        check("role: web", "x", Some("web"), true);
        check("role:web", "x", Some("acme.site.web"), true);
        check("role: acme.site.*", "x", Some("acme.site.web"), true);
        check("role: web", "web", None, false);
        for wrong in ["", " ", "role:", "role:  "] {
            assert!(TaskKey::parse(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(TaskKey::parse("role:  web").unwrap().to_string(), "role: web");
    }
}
