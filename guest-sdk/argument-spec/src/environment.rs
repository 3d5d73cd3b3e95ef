//! Expands `$VAR` and `~` in paths, with an environment that the caller passes in.

use indexmap::IndexMap;

/// The variables and home directories that path expansion and fallbacks use.
pub trait Environment {
    /// Returns the value of an environment variable that is set.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns the home folder of a user, or of the current one. By default, only the current user has one: `HOME`.
    fn home(&self, user: Option<&str>) -> Option<String> {
        if user.is_none() { self.variable("HOME") } else { None }
    }
}

/// An environment without any variables: paths stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoEnvironment;

impl Environment for NoEnvironment {
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

impl Environment for IndexMap<String, String> {
    fn variable(&self, name: &str) -> Option<String> {
        self.get(name).cloned()
    }
}

/// Expands `$NAME` and `${NAME}`, then a leading `~` or `~user`, as `os.path` does. Unknown names stay as they are.
#[must_use]
pub fn expand_path(path: &str, environment: &dyn Environment) -> String {
    expand_home(&expand_variables(path, environment), environment)
}

pub(crate) fn expand_variables(path: &str, environment: &dyn Environment) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        rest = &rest[dollar..];
        let Some((name, length)) = variable_name(rest) else {
            out.push('$');
            rest = &rest[1..];
            continue;
        };
        match environment.variable(name) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// Returns the name in `$NAME` or `${NAME}` at the start of a text, and the length of the whole reference.
fn variable_name(text: &str) -> Option<(&str, usize)> {
    let after = &text[1..];
    if let Some(braced) = after.strip_prefix('{') {
        let end = braced.find('}')?;
        return Some((&braced[..end], end + 3));
    }
    let length = after.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    (length > 0).then(|| (&after[..length], length + 1))
}

fn expand_home(path: &str, environment: &dyn Environment) -> String {
    let Some(after) = path.strip_prefix('~') else {
        return path.to_owned();
    };
    let (user, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
    let Some(home) = environment.home((!user.is_empty()).then_some(user)) else {
        return path.to_owned();
    };
    let expanded = format!("{}{rest}", home.trim_end_matches('/'));
    if expanded.is_empty() { "/".to_owned() } else { expanded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: &str) {
        let environment = IndexMap::from([("HOME".to_owned(), "/h".to_owned()), ("A_1".to_owned(), "x y".to_owned())]);
        assert_eq!(expand_path(path, &environment), expect);
    }

    #[test]
    fn expands_what_is_known() {
        check("$HOME/a", "/h/a");
        check("/${A_1}b/$A_1", "/x yb/x y");
        check("~", "/h");
        check("~/x", "/h/x");
        check("a/~", "a/~");
    }

    #[test]
    fn leaves_the_rest() {
        check("$nope/${nope}/$", "$nope/${nope}/$");
        check("${HOME", "${HOME");
        check("~missing/x", "~missing/x");
        check("$HOMEx", "$HOMEx");
    }
}
