//! Jinja's `attribute=`: a path such as `address.city` or `tags.0`.

use minijinja::Value;

use crate::failure::Outcome;
use crate::values::{View, get_item, parse_int, view};

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

    /// Returns the attribute of an item. It may be undefined.
    pub(super) fn of(&self, item: &Value) -> Value {
        let mut item = item.clone();
        for step in &self.steps {
            item = get_item(&item, step);
            if item.is_undefined()
                && let Some(default) = &self.default
            {
                item = default.clone();
            }
        }
        item
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
