//! Making layers of variables, and converting values of templates.

use std::sync::Arc;

use modbox_jinja::values;
use modbox_python_json::{Dict, Value as Json};
use modbox_template::{Content, Layer, Origin, Slot, Value};
use modbox_yaml::{Key, Map, Source};

/// Returns a layer without variables.
#[must_use]
pub fn empty() -> Arc<Layer> {
    Arc::default()
}

/// Returns the layer of a mapping of a play.
#[must_use]
pub fn of_map(map: &Map) -> Arc<Layer> {
    of_maps(std::iter::once(map), false)
}

/// Returns the layer of several mappings of a play. A later one hides names of earlier ones; with `merges`, mappings of one name
/// become one.
#[must_use]
pub fn of_maps<'a>(maps: impl IntoIterator<Item = &'a Map>, merges: bool) -> Arc<Layer> {
    let mut layer = Layer::default();
    for (key, entry) in maps.into_iter().flat_map(Map::iter) {
        if let Key::Text(name) = key {
            let slot = Slot::source(entry.value.clone());
            let known = layer.get(name).filter(|_| merges);
            let slot = known.and_then(|known| slot.merged_onto(known)).unwrap_or(slot);
            layer.insert(Arc::clone(name), slot);
        }
    }
    Arc::new(layer)
}

/// Returns the layer of sources by name.
#[must_use]
pub fn of_sources(sources: impl IntoIterator<Item = (Arc<str>, Source)>) -> Arc<Layer> {
    Arc::new(sources.into_iter().map(|(name, source)| (name, Slot::source(source))).collect())
}

/// Returns the layer of texts that the engine sets.
#[must_use]
pub fn of_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Arc<Layer> {
    let slots = texts.into_iter().map(|(name, text)| (name.into(), Slot::value(Value::from(text), Origin::Magic)));
    Arc::new(slots.collect())
}

/// Returns the layer of data.
#[must_use]
pub fn of_data(data: &Dict, origin: &Origin) -> Layer {
    let slot = |value: &Json| Slot::value(values::from_json(value), origin.clone());
    data.iter().map(|(name, value)| (name.as_str().into(), slot(value))).collect()
}

/// Returns a slot that the engine sets.
#[must_use]
pub fn magic(value: &Json) -> Slot {
    Slot::value(values::from_json(value), Origin::Magic)
}

/// Converts a value of a template to JSON. A value that JSON lacks becomes the text that Python's `str` gives.
#[must_use]
pub fn to_json(value: &Value) -> Json {
    values::to_json(value).unwrap_or_else(|_| Json::from(values::text(value).unwrap_or_default()))
}

/// Returns a text that is the same for layers with the same content, in any order.
#[must_use]
pub fn describe(layer: &Layer) -> String {
    let content = |slot: &Slot| match slot.content() {
        Content::Source(source) => source.to_data().map_or_else(|_| source.position().to_string(), unordered_text),
        Content::Value(value) => unordered_text(to_json(value)),
        Content::Scope(_) | Content::Hosts(_) | Content::Everything => "*".to_owned(),
    };
    let mut texts: Vec<String> = layer.iter().map(|(name, slot)| format!("{name}={}", content(slot))).collect();
    texts.sort();
    texts.join("\u{1e}")
}

/// Returns a text that is the same for values that Python compares as equal, whatever the order of their keys.
#[must_use]
pub fn unordered_text(value: Json) -> String {
    modbox_python_json::encode(&sorted(value))
}

fn sorted(value: Json) -> Json {
    match value {
        Json::Dict(entries) => {
            let mut entries: Vec<(String, Json)> =
                entries.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Json::Dict(entries.into_iter().collect())
        }
        Json::List(items) => Json::List(items.into_iter().map(sorted).collect()),
        // `True == 1 == 1.0`.
        Json::Bool(truth) => Json::Int(i64::from(truth)),
        Json::Float(number) if number.fract() == 0.0 => {
            format!("{number:.0}").parse().map_or(Json::Float(number), Json::Int)
        }
        other => other,
    }
}
