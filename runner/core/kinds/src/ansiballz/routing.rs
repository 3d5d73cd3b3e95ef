//! Redirects of `module_utils`, from a collection's `meta/runtime.yml` or ansible-core's own list.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ansiballz::name::DottedName;

/// The redirects of one collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing(BTreeMap<String, Route>);

/// The route of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The name has moved.
    Redirect(DottedName),
    /// The name was removed, with the stated reason.
    Removed(Option<String>),
    /// The target cannot be a `module_utils`. ansible-core's own list has such entries; they are an error only for a
    /// module that imports the name.
    Nowhere(String),
}

/// A list of redirects that is not YAML or does not have the expected form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RoutingError(String);

#[derive(Deserialize)]
struct File {
    plugin_routing: Option<Plugins>,
}

#[derive(Deserialize)]
struct Plugins {
    module_utils: Option<BTreeMap<String, Option<Entry>>>,
}

#[derive(Deserialize)]
struct Entry {
    redirect: Option<String>,
    tombstone: Option<Tombstone>,
}

#[derive(Deserialize)]
struct Tombstone {
    warning_text: Option<String>,
}

impl RoutingError {
    pub(crate) fn of_yaml(error: &serde_saphyr::Error) -> Self {
        Self(error.without_snippet().to_string())
    }
}

impl Routing {
    /// Parses the `module_utils` part of a `runtime.yml`.
    ///
    /// # Errors
    ///
    /// Text that is not YAML or does not have the expected form.
    pub fn parse(yaml: &str) -> Result<Self, RoutingError> {
        let file = serde_saphyr::from_str::<Option<File>>(yaml).map_err(|error| RoutingError::of_yaml(&error))?;
        let entries = file.and_then(|file| file.plugin_routing).and_then(|plugins| plugins.module_utils);
        let routes = entries.unwrap_or_default().into_iter().filter_map(|(name, entry)| {
            let entry = entry?;
            let route = match (entry.tombstone, entry.redirect) {
                (Some(tombstone), _) => Route::Removed(tombstone.warning_text),
                (None, Some(target)) => target_name(&target).map_or(Route::Nowhere(target), Route::Redirect),
                (None, None) => return None,
            };
            Some((name, route))
        });
        Ok(Self(routes.collect()))
    }

    /// Returns the route of a name, given by its parts below `module_utils`.
    #[must_use]
    pub fn of(&self, parts: &[String]) -> Option<&Route> {
        self.0.get(&parts.join("."))
    }
}

/// Expands the short form `NAMESPACE.COLLECTION.REST` to Python's dotted name.
fn target_name(target: &str) -> Option<DottedName> {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let parts: Vec<&str> = target.split('.').collect();
    if !parts.iter().all(|part| is_name(part)) {
        return None;
    }
    match parts.as_slice() {
        ["ansible_collections", ..] => Some(DottedName::parse(target)),
        [namespace, collection, rest @ ..] if !rest.is_empty() => Some(DottedName::parse(&format!(
            "ansible_collections.{namespace}.{collection}.plugins.module_utils.{}",
            rest.join(".")
        ))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_redirects_are_read() {
        let yaml = "plugin_routing:\n  modules: {x: {redirect: a.b.c}}\n  module_utils:\n    a: {redirect: n.c.x.y}\n    \
                    b.c: {redirect: ansible_collections.n.c.plugins.module_utils.z}\n    d: {deprecation: {warning_text: w}}\n    \
                    e: {tombstone: {warning_text: gone, removal_version: 2.0.0}}\n    f:\nimport_redirection: {g: {redirect: h}}\n";
        let routing = Routing::parse(yaml).unwrap();
        let of = |name: &str| routing.of(DottedName::parse(name).parts()).cloned();
        let redirect = |name: &str| Some(Route::Redirect(DottedName::parse(name)));
        assert_eq!(of("a"), redirect("ansible_collections.n.c.plugins.module_utils.x.y"));
        assert_eq!(of("b.c"), redirect("ansible_collections.n.c.plugins.module_utils.z"));
        assert_eq!((of("d"), of("f"), of("x")), (None, None, None));
        assert_eq!(of("e"), Some(Route::Removed(Some("gone".to_owned()))));
        for empty in ["", "---\n", "plugin_routing:\n", "requires_ansible: '>=2.9'\n"] {
            assert_eq!(Routing::parse(empty).unwrap(), Routing::default(), "{empty:?}");
        }
    }

    #[test]
    fn invalid_targets_are_kept_as_such() {
        for target in ["x", "a.b", "a..b.c", "a.b.c; import os", "../x.y.z"] {
            let routing = Routing::parse(&format!("plugin_routing: {{module_utils: {{a: {{redirect: '{target}'}}}}}}"));
            assert_eq!(routing.unwrap().of(&["a".to_owned()]), Some(&Route::Nowhere(target.to_owned())));
        }
        Routing::parse("plugin_routing: [1").unwrap_err();
    }
}
