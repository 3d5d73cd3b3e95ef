//! Mappings that several layers have under one name, as one mapping: `hash_behaviour = merge` of Ansible.
//!
//! Only values that are mappings before rendering are merged. A template whose result is a mapping is still text here, as in Ansible,
//! so it replaces the value of the lower layer.

use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::value::ValueKind;
use modbox_jinja::values;
use modbox_yaml::{Position, Source};

use crate::scope::{Content, Layer, Scope, Slot};

/// What names of several layers hold so far.
enum Held<'a> {
    /// The variable of one layer.
    One(&'a Slot),
    /// Mappings of several.
    Merged(Slot),
}

/// Returns the layer of the mappings that several layers have under one name, as one mapping each (ansible-core, `combine_vars`).
fn merged<'a>(layers: impl IntoIterator<Item = &'a Arc<Layer>>) -> Layer {
    let mut held: IndexMap<&Arc<str>, Held<'a>> = IndexMap::new();
    for (name, slot) in layers.into_iter().flat_map(|layer| layer.iter()) {
        let below = match held.get(name) {
            Some(Held::One(below)) => Some(*below),
            Some(Held::Merged(below)) => Some(below),
            None => None,
        };
        let made = below.and_then(|below| slot.merged_onto(below));
        held.insert(name, made.map_or(Held::One(slot), Held::Merged));
    }
    let merged = held.into_iter().filter_map(|(name, held)| match held {
        Held::One(_) => None,
        Held::Merged(slot) => Some((Arc::clone(name), slot)),
    });
    merged.collect()
}

impl Scope {
    /// Makes a scope of layers, the lowest first. With `merges`, mappings of one name are one mapping, as with Ansible's
    /// `hash_behaviour = merge`; layers that are added later hide others all the same.
    #[must_use]
    pub fn of_layers(layers: impl IntoIterator<Item = Arc<Layer>>, merges: bool) -> Self {
        let layers: Vec<Arc<Layer>> = layers.into_iter().collect();
        let above = merges.then(|| Arc::new(merged(&layers)));
        layers.into_iter().chain(above).collect()
    }
}

impl Slot {
    /// Returns the mapping of this variable and of one below it; `None` if one of them is not a mapping. Text of plays stays a
    /// template in it, and data stays data.
    #[must_use]
    pub fn merged_onto(&self, below: &Self) -> Option<Self> {
        let (above, below_it) = (mapping(self)?, mapping(below)?);
        let origins = below.origins().chain(self.origins()).cloned().collect();
        Some(Self::source_made(below_it.merged_with(&above), Arc::new(origins)))
    }
}

/// Returns the mapping that a variable is.
fn mapping(slot: &Slot) -> Option<Source> {
    match slot.content() {
        Content::Source(source) => source.as_map().map(|_| source.clone()),
        Content::Value(value) if value.kind() == ValueKind::Map => {
            let data = values::to_json(value).ok()?;
            Some(Source::data_of(data, &Position::start_of("<data>")))
        }
        Content::Value(_) | Content::Scope(_) | Content::Hosts(_) | Content::Everything => None,
    }
}

#[cfg(test)]
mod tests {
    use modbox_yaml::load_play_file;

    use super::*;
    use crate::{Engine, Origin};

    fn layer(text: &str) -> Arc<Layer> {
        let root = load_play_file(text, "x").unwrap().root;
        Arc::new(Layer::of_source(&root).unwrap())
    }

    fn shown(scope: &Scope, template: &str) -> String {
        let source = modbox_yaml::template_file(template, "x");
        Engine::default().evaluate(&source, scope).unwrap().value.to_string()
    }

    #[test]
    fn mappings_of_layers_become_one_and_keep_their_trust() {
        let mut facts = Layer::default();
        let data = values::from_json(&modbox_python_json::Value::from([("text", "{{ 7 * 7 }}")]));
        facts.insert("a", Slot::value(data, Origin::Facts));
        let layers = [
            layer("a: {x: '{{ n }}', y: {z: 1}}\nn: 1\nb: {c: 1}\n"),
            Arc::new(facts),
            layer("a: {y: {w: 2}}\nb: 5\nn: 2\n"),
        ];
        let scope = Scope::of_layers(layers, true);
        assert_eq!(shown(&scope, "{{ a.x }} {{ a.y.z }} {{ a.y.w }} {{ a.text }} {{ b }}"), "2 1 2 {{ 7 * 7 }} 5");
        let origins: Vec<_> = scope.get("a").unwrap().origins().cloned().collect();
        assert!(origins.len() > 1 && origins.contains(&Origin::Facts));
    }

    #[test]
    fn layers_hide_each_other_otherwise() {
        let scope = Scope::of_layers([layer("a: {x: 1}\n"), layer("a: {y: 2}\n")], false);
        assert_eq!(shown(&scope, "{{ a.x | default('none') }}"), "none");
        // A value that is not a mapping begins anew.
        let scope = Scope::of_layers([layer("a: {x: 1}\n"), layer("a: 1\n"), layer("a: {y: 2}\n")], true);
        assert_eq!(shown(&scope, "{{ a.x | default('none') }} {{ a.y }}"), "none 2");
    }
}
