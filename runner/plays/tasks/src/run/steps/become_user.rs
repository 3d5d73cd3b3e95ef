//! Which user a task runs as.
//!
//! Ansible's `become` says how to get there. modbox asks who the task is to run as: the user that modbox runs as needs
//! nothing, root can become each user, and others cannot become another one.

use crate::fields::{FieldError, Fields};
use crate::keywords::Keyword;
use crate::model::task::Task;
use crate::run_options::RunOptions;
use crate::scalars::truth;

/// A user that modbox cannot become.
#[derive(Debug, thiserror::Error)]
pub enum BecomeError {
    /// A keyword cannot be evaluated.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// modbox does not run as root.
    #[error("failed to become `{user}`: modbox runs as `{current}`; start it with `sudo`")]
    NotRoot {
        /// The user that the task needs.
        user: String,
        /// The user that modbox runs as.
        current: String,
    },
}

/// Returns the user that a task becomes; `None` for the user that modbox runs as.
///
/// # Errors
///
/// A keyword cannot be evaluated, or modbox cannot become the user.
pub fn target(fields: &Fields<'_>, options: &RunOptions, task: &Task) -> Result<Option<String>, BecomeError> {
    if !becomes(fields, options, task)? {
        return Ok(None);
    }
    let user = match fields.variable("ansible_become_user") {
        Some(value) => Some(modbox_python_json::str(&value)),
        None => fields.text(task, Keyword::BecomeUser)?.or_else(|| options.become_user.clone()),
    };
    let user = user.filter(|user| !user.is_empty()).unwrap_or_else(|| "root".to_owned());
    check(options, user)
}

/// Says whether a task is to become a user.
fn becomes(fields: &Fields<'_>, options: &RunOptions, task: &Task) -> Result<bool, FieldError> {
    match fields.variable("ansible_become") {
        Some(value) => Ok(truth(&value).unwrap_or(false)),
        None => fields.flag(task, Keyword::Become, options.become_by_default),
    }
}

/// Variables with the password for becoming a user: of all methods, and of Ansible's three.
const PASSWORDS: [&str; 5] =
    ["ansible_become_password", "ansible_become_pass", "ansible_sudo_pass", "ansible_su_pass", "ansible_runas_pass"];

/// Returns the passwords that a task has for becoming a user, so that they are masked; modbox itself needs none. A task that
/// becomes no other user has no such password.
pub fn passwords(fields: &Fields<'_>, options: &RunOptions, task: &Task) -> Vec<String> {
    if !matches!(becomes(fields, options, task), Ok(true)) {
        return Vec::new();
    }
    PASSWORDS.iter().filter_map(|name| fields.variable(name)).map(|value| modbox_python_json::str(&value)).collect()
}

/// Returns the user to become, if it is another one that can be become.
///
/// # Errors
///
/// modbox does not run as root.
fn check(options: &RunOptions, user: String) -> Result<Option<String>, BecomeError> {
    if user == options.user.name || (user == "root" && options.user.is_root) {
        return Ok(None);
    }
    if options.user.is_root {
        return Ok(Some(user));
    }
    Err(BecomeError::NotRoot { user, current: options.user.name.clone() })
}

/// Returns the user that a task becomes for certain, if its keywords have no templates, and modbox cannot become it.
#[must_use]
pub fn refused(fields: &Fields<'_>, options: &RunOptions, task: &Task) -> Option<String> {
    let literal = |keyword| task.keyword(keyword).is_none_or(|source| !modbox_template::is_template(source));
    if !literal(Keyword::Become) || !literal(Keyword::BecomeUser) {
        return None;
    }
    match target(fields, options, task) {
        Err(BecomeError::NotRoot { user, .. }) => Some(user),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_options::UserInfo;

    #[test]
    fn only_root_becomes_another_user() {
        let run = |name: &str, is_root: bool, user: &str| {
            let user_info = UserInfo { name: name.to_owned(), is_root };
            check(&RunOptions { user: user_info, ..RunOptions::default() }, user.to_owned()).ok()
        };
        assert_eq!(run("root", true, "root"), Some(None));
        assert_eq!(run("root", true, "web"), Some(Some("web".to_owned())));
        assert_eq!(run("ann", false, "ann"), Some(None));
        assert_eq!(run("ann", false, "root"), None);
    }
}
