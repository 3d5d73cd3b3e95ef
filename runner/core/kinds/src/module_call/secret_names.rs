//! Names of the options that a Python source gives `no_log`, wherever its argument spec is made.
//!
//! This finds them where the whole spec is not literal: entries of dicts and arguments of `dict(…)` whose value is a dict
//! with `no_log`, and assignments of such dicts to items. A name too many hides a value more. An option that a function
//! of another source declares is not found.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, Stmt};

use crate::ansiballz::{SourceError, parse};

/// The entry of an option that makes its values secrets, and the one with its other names.
const NO_LOG: &str = "no_log";
const ALIASES: &str = "aliases";

/// Returns the names and aliases of the options with `no_log`.
///
/// # Errors
///
/// A source that is not Python 3.
pub fn secret_names(source: &[u8]) -> Result<BTreeSet<String>, SourceError> {
    let text = String::from_utf8_lossy(source);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if !text.contains(NO_LOG) {
        return Ok(BTreeSet::new());
    }
    let parsed = parse(text)?;
    let mut finder = NameFinder::default();
    finder.visit_body(parsed.suite());
    Ok(finder.names)
}

#[derive(Default)]
struct NameFinder {
    names: BTreeSet<String>,
}

impl NameFinder {
    /// Adds an option under a name, if its dict has `no_log`. A value of `no_log` that is not literal may be true.
    fn add(&mut self, name: &str, option: &Expr) {
        let entries = entries(option);
        let is_false = |value: &Expr| matches!(value, Expr::BooleanLiteral(literal) if !literal.value);
        if !entries.iter().any(|(key, value)| *key == NO_LOG && !is_false(value)) {
            return;
        }
        self.names.insert(name.to_owned());
        let lists = entries.iter().filter(|(key, _)| *key == ALIASES).map(|(_, value)| *value);
        let items = lists.flat_map(|value| match value {
            Expr::List(list) => list.elts.as_slice(),
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            _ => &[],
        });
        self.names.extend(items.filter_map(text).map(str::to_owned));
    }
}

impl<'a> Visitor<'a> for NameFinder {
    fn visit_expr(&mut self, expr: &'a Expr) {
        for (name, value) in entries(expr) {
            self.add(name, value);
        }
        walk_expr(self, expr);
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Assign(assign) = stmt {
            for target in &assign.targets {
                if let Expr::Subscript(subscript) = target
                    && let Some(name) = text(&subscript.slice)
                {
                    self.add(name, &assign.value);
                }
            }
        }
        walk_stmt(self, stmt);
    }
}

/// Returns the entries with known names of a dict or of a call with named arguments, such as `dict(…)`.
fn entries(expr: &Expr) -> Vec<(&str, &Expr)> {
    match expr {
        Expr::Dict(dict) => {
            dict.items.iter().filter_map(|item| Some((text(item.key.as_ref()?)?, &item.value))).collect()
        }
        Expr::Call(call) => {
            let named = call.arguments.keywords.iter();
            named.filter_map(|keyword| Some((keyword.arg.as_ref()?.as_str(), &keyword.value))).collect()
        }
        _ => Vec::new(),
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::StringLiteral(literal) => Some(literal.value.to_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expect: &[&str]) {
        let found = secret_names(source.as_bytes()).unwrap();
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expect, "{source}");
    }

    #[test]
    fn options_are_found_wherever_their_dicts_are() {
        check("spec = dict(a=dict(no_log=True), b=dict(type='str'), c=dict(no_log=False))", &["a"]);
        check("spec = {'a': {'no_log': True, 'aliases': ['x', 'y']}, **other()}", &["a", "x", "y"]);
        check("spec = base()\nspec['a'] = dict(type='str', no_log=True)", &["a"]);
        check("def f():\n    return dict(o=dict(type='dict', options=dict(in_=dict(no_log=1))))", &["in_"]);
        check("spec.update(a=dict(no_log=not debug))", &["a"]);
        check("AnsibleModule(dict(a={'no_log': True}), no_log=True)", &["a"]);
        check("a = 'no_log'", &[]);
        assert!(secret_names(b"no_log = (").is_err());
    }
}
