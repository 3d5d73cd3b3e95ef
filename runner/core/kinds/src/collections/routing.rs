//! The parts `plugin_routing.modules` and `plugin_routing.action` of a collection's `meta/runtime.yml`, or of ansible-core's own list:
//! modules that have moved, were removed, or will be, and the plugins of the controller that do a module's action.

use std::collections::HashMap;

use modbox_contract::{Dict, Value, python_str};

use crate::ansiballz::RoutingError;

/// The new name of a module, or its removal, by `plugin_routing` in the `meta/runtime.yml` of its collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It has another full name.
    Redirect(String),
    /// It was removed, with the stated reason and release.
    Removed(String),
}

/// What a collection says about a module name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleRoute {
    /// The new name, or the removal; `None` for a module that is still there.
    pub change: Option<Change>,
    /// The announcement of a removal to come, with the stated reason and release.
    pub deprecation: Option<String>,
    /// The full name of the plugin that does the module's action, where it has another name.
    pub action_plugin: Option<String>,
}

/// The entries of a collection for its modules and for their plugins of the controller.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModuleRouting {
    modules: HashMap<String, Dict>,
    actions: HashMap<String, Dict>,
}

/// Length of the texts that are parsed in less than a millisecond, in bytes. Most collections have such a list.
const SHORT: usize = 16 << 10;

impl ModuleRouting {
    /// Parses the entries. As in Ansible, those of an unexpected form are ignored.
    ///
    /// # Errors
    ///
    /// Text that is not YAML.
    pub fn parse(yaml: &str) -> Result<Self, RoutingError> {
        let file = serde_saphyr::from_str::<Value>(yaml).map_err(|error| RoutingError::of_yaml(&error))?;
        let mut plugins = dict(dict(Some(file)).shift_remove("plugin_routing"));
        let mut entries = |kind: &str| {
            let entry = |(name, entry): (String, Value)| match entry {
                Value::Dict(entry) => Some((name, entry)),
                _ => None,
            };
            dict(plugins.shift_remove(kind)).into_iter().filter_map(entry).collect()
        };
        Ok(Self { modules: entries("modules"), actions: entries("action") })
    }

    /// Parses the entries, unless the text is long and certainly has none for this module: parsing ansible-core's list takes 25 ms.
    /// A short one is always parsed: from a collection whose list is not YAML, ansible-core loads no module.
    ///
    /// # Errors
    ///
    /// As [`ModuleRouting::parse`].
    pub fn parse_for(yaml: &str, resource: &str) -> Result<Self, RoutingError> {
        if yaml.len() <= SHORT || may_have_key(yaml, resource) { Self::parse(yaml) } else { Ok(Self::default()) }
    }

    /// Returns what the collection says about a module, given by its name inside the collection. A removal takes
    /// precedence over a redirect.
    #[must_use]
    pub fn of(&self, resource: &str) -> ModuleRoute {
        let Some(entry) = self.modules.get(resource) else { return ModuleRoute::default() };
        let announced = |key: &str| {
            let said = entry.get(key).and_then(Value::as_dict).filter(|said| !said.is_empty());
            said.map(announcement)
        };
        let redirect = || name_in(entry, "redirect").map(Change::Redirect);
        let change = announced("tombstone").map(Change::Removed).or_else(redirect);
        ModuleRoute { change, deprecation: announced("deprecation"), action_plugin: name_in(entry, "action_plugin") }
    }

    /// Returns the full name that an action has now, given by its name inside the collection.
    #[must_use]
    pub fn action_redirect(&self, resource: &str) -> Option<String> {
        name_in(self.actions.get(resource)?, "redirect")
    }
}

/// Returns the entries of a mapping; none of another value.
fn dict(value: Option<Value>) -> Dict {
    match value {
        Some(Value::Dict(entries)) => entries,
        _ => Dict::default(),
    }
}

fn name_in(entry: &Dict, key: &str) -> Option<String> {
    entry.get(key).and_then(Value::as_str).filter(|name| !name.is_empty()).map(ToOwned::to_owned)
}

/// Returns whether a YAML text may have a key: the text followed by a colon, or a key in a form that hides its text.
fn may_have_key(yaml: &str, key: &str) -> bool {
    let is_key = |(at, _)| {
        let before = yaml[..at].chars().next_back();
        let after = yaml[at + key.len()..].trim_start_matches(['"', '\'', ' ', '\t']);
        after.starts_with(':') && !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    yaml.contains(['\\', '?', '&', '*']) || yaml.match_indices(key).any(is_key)
}

/// Returns the text of a deprecation or a removal, with its release or date.
fn announcement(entry: &Dict) -> String {
    let text = |key: &str| {
        entry.get(key).filter(|value| **value != Value::Null).map(python_str).filter(|text| !text.is_empty())
    };
    let when = text("removal_version").map(|version| format!("release {version}"));
    let when = when.or_else(|| text("removal_date"));
    let reason = text("warning_text").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    match (reason, when) {
        (Some(reason), Some(when)) => format!("{} ({when})", reason.trim_end_matches('.')),
        (reason, when) => reason.or(when).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read() {
        let yaml = "plugin_routing:\n  module_utils: {x: {redirect: a.b.c}}\n  modules:\n    a: {redirect: n.c.x}\n    \
                    sub.b: {tombstone: {warning_text: 'Use n.c.x.', removal_version: 2.0.0}, redirect: n.c.x}\n    \
                    c: {deprecation: {warning_text: \"soon\\n\", removal_date: 2030-01-01}}\n    d: {action_plugin: n.c.plugin}\n    \
                    e:\n    f: {tombstone: {}}\n    g: {redirect: ''}\n    h: {tombstone: {removal_version: 3}}\n    i: {deprecation: {warning_text: moved}, redirect: n.c.x}\n";
        let routing = ModuleRouting::parse(yaml).unwrap();
        let redirect = Some(Change::Redirect("n.c.x".into()));
        let removed = |text: &str| Some(Change::Removed(text.to_owned()));
        for (name, change, deprecation) in [
            ("a", redirect.clone(), None),
            ("sub.b", removed("Use n.c.x (release 2.0.0)"), None),
            ("c", None, Some("soon (2030-01-01)")),
            ("f", None, None),
            ("h", removed("release 3"), None),
            ("i", redirect, Some("moved")),
            ("d", None, None),
            ("e", None, None),
            ("g", None, None),
            ("x", None, None),
        ] {
            let deprecation = deprecation.map(str::to_owned);
            let action_plugin = (name == "d").then(|| "n.c.plugin".to_owned());
            assert_eq!(routing.of(name), ModuleRoute { change, deprecation, action_plugin }, "{name}");
        }
    }

    #[test]
    fn entries_of_actions_are_read() {
        let yaml = "plugin_routing:\n  action: {a: {redirect: n.c.x}, b: {redirect: ''}, c: [], d: {redirect: 1}}\n";
        let routing = ModuleRouting::parse(yaml).unwrap();
        assert_eq!(routing.action_redirect("a").as_deref(), Some("n.c.x"));
        for name in ["b", "c", "d", "e"] {
            assert_eq!(routing.action_redirect(name), None, "{name}");
        }
        assert_eq!(routing.of("a"), ModuleRoute::default());
    }

    #[test]
    fn a_long_list_without_the_key_is_not_parsed() {
        let comment = "# long\n".repeat(SHORT);
        let list = |line: &str| format!("plugin_routing:\n  modules:\n    x: {{}}\n    {line}\n{comment}");
        for line in [
            "a.b: {redirect: n.c.x}",
            "'a.b' : {redirect: n.c.x}",
            "\"a\\x2eb\": {redirect: n.c.x}",
            "? a.b\n    : {redirect: n.c.x}",
        ] {
            let routing = ModuleRouting::parse_for(&list(line), "a.b").unwrap();
            assert_eq!(routing.of("a.b").change, Some(Change::Redirect("n.c.x".into())), "{line}");
        }
        for line in ["xa.b: {redirect: n.c.x}", "a: {redirect: n.c.a.b}", "a.b.c: {}"] {
            assert_eq!(ModuleRouting::parse_for(&list(line), "a.b").unwrap(), ModuleRouting::default(), "{line}");
        }
    }

    #[test]
    fn a_short_list_that_is_not_yaml_is_an_error() {
        ModuleRouting::parse_for("plugin_routing: [1", "a").unwrap_err();
    }

    #[test]
    fn other_forms_declare_nothing() {
        for yaml in [
            "",
            "---\n",
            "plugin_routing:\n",
            "plugin_routing: {modules: [a]}",
            "plugin_routing: {modules: {a: b}}",
            "[1]",
        ] {
            assert_eq!(ModuleRouting::parse(yaml).unwrap(), ModuleRouting::default(), "{yaml:?}");
        }
        ModuleRouting::parse("plugin_routing: [1").unwrap_err();
    }
}
