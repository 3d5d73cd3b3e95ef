//! Jinja's `attribute=`: a path such as `address.city` or `tags.0`.

use minijinja::{State, Value};

use crate::absent::{absent, absent_error};
use crate::failure::Outcome;
use crate::values::{ValueError, View, get_item, parse_int, view};

/// The steps to an attribute. Without any, the item itself is meant.
#[derive(Debug, Clone, Default)]
pub(super) struct Attribute {
    steps: Vec<Value>,
    default: Option<Value>,
}

impl Attribute {
    /// Reads a path. `None` means the item itself.
    pub(super) fn new(path: Option<&Value>) -> Self {
        let steps = match path.map(|path| (path, view(path))) {
            None | Some((_, View::None)) => Vec::new(),
            Some((_, View::Str(path))) => path.split('.').map(step).collect(),
            Some((path, _)) => vec![path.clone()],
        };
        Self { steps, default: None }
    }

    /// Reads several paths with commas between them.
    pub(super) fn several(path: Option<&Value>) -> Vec<Self> {
        match path.and_then(Value::as_str) {
            Some(paths) => paths.split(',').map(|path| Self::new(Some(&Value::from(path)))).collect(),
            None => vec![Self::new(path)],
        }
    }

    /// Uses a value for each step that leads nowhere.
    pub(super) fn or(mut self, default: Option<Value>) -> Self {
        self.default = default.filter(|default| !default.is_none());
        self
    }

    /// Returns the attribute of an item, or the engine's value for one that does not exist.
    pub(super) fn of(&self, state: &State<'_, '_>, item: &Value) -> Value {
        let mut item = item.clone();
        for step in &self.steps {
            let found = get_item(&item, step);
            item = match &self.default {
                _ if !found.is_undefined() => found,
                Some(default) => default.clone(),
                None if item.is_undefined() => found,
                None => absent(state, &item, step),
            };
        }
        item
    }

    /// Returns the attribute of an item.
    ///
    /// # Errors
    ///
    /// The item does not have it.
    pub(super) fn existing(&self, item: &Value) -> Outcome {
        let mut item = item.clone();
        for step in &self.steps {
            let found = get_item(&item, step);
            if found.is_undefined() {
                return Err(absent_error(&item, step));
            }
            item = found;
        }
        if item.is_undefined() { Err(ValueError::Undefined.into()) } else { Ok(item) }
    }
}

fn step(text: &str) -> Value {
    let digits = !text.is_empty() && text.chars().all(crate::text::case::is_digit);
    if digits { parse_int(text, 10).unwrap_or_else(|| Value::from(text)) } else { Value::from(text) }
}

/// Returns the key to compare an item by: text in lower case, unless case matters.
pub(super) fn folded(value: Value, case_sensitive: bool) -> Outcome {
    match value.as_str() {
        Some(text) if !case_sensitive => Ok(Value::from(text.to_lowercase())),
        _ => Ok(value),
    }
}
