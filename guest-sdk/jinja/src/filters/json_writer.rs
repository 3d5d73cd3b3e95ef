//! Python's `json.dumps` with its options, for values of the engine.

use minijinja::Value;
use modbox_python_json::{Value as Json, encode};

use crate::failure::{Outcome, failure};
use crate::values::{ValueError, View, Walk, entries, items, key_text, sort, type_name, view};

/// Options of `json.dumps`.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) indent: Option<String>,
    pub(super) separators: (String, String),
    pub(super) sort_keys: bool,
    pub(super) ensure_ascii: bool,
    pub(super) skip_keys: bool,
    pub(super) allow_nan: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            indent: None,
            separators: (", ".to_owned(), ": ".to_owned()),
            sort_keys: false,
            ensure_ascii: true,
            skip_keys: false,
            allow_nan: true,
        }
    }
}

/// Returns the JSON text of a value.
///
/// # Errors
///
/// JSON lacks the value or a key.
pub(super) fn write(value: &Value, options: &Options) -> Outcome<String> {
    let mut out = String::new();
    Writer { options, out: &mut out, depth: 0 }.value(value, &mut Walk::default())?;
    Ok(out)
}

struct Writer<'a> {
    options: &'a Options,
    out: &'a mut String,
    depth: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, walk: &mut Walk) -> Outcome<()> {
        Walk::fits(self.out)?;
        match view(value) {
            View::Undefined => return Err(ValueError::Undefined.into()),
            View::None => self.out.push_str("null"),
            View::Bool(truth) => self.out.push_str(if truth { "true" } else { "false" }),
            View::Int(number) => self.out.push_str(&number.to_string()),
            View::Long(number) => self.out.push_str(&number),
            View::Float(number) if !number.is_finite() && !self.options.allow_nan => {
                return Err(failure("Out of range float values are not JSON compliant"));
            }
            View::Float(number) => self.out.push_str(&encode(&Json::Float(number))),
            View::Str(text) => self.text(text),
            View::Surrogates(text) => self.out.push_str(&encode(&Json::Surrogates(text.clone()))),
            View::List | View::Tuple => walk.deeper(|walk| self.list(value, walk))?,
            View::Dict => walk.deeper(|walk| self.dict(value, walk))?,
            View::Date(date) => self.text(&date.iso()),
            View::DateTime(moment) => self.text(&moment.iso('T')),
            View::Time(clock) => self.text(&clock.iso()),
            View::Bytes(_) | View::TimeDelta(_) | View::Other => {
                return Err(ValueError::NotJson(type_name(value)).into());
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.options.ensure_ascii {
            self.out.push_str(&encode(&Json::Str(text.to_owned())));
            return;
        }
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                '\0'..='\u{1f}' => self.out.push_str(&format!("\\u{:04x}", u32::from(c))),
                _ => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    fn line(&mut self) {
        if let Some(indent) = &self.options.indent {
            self.out.push('\n');
            for _ in 0..self.depth {
                self.out.push_str(indent);
            }
        }
    }

    fn list(&mut self, value: &Value, walk: &mut Walk) -> Outcome<()> {
        let all = items(value)?;
        if all.is_empty() {
            self.out.push_str("[]");
            return Ok(());
        }
        self.out.push('[');
        self.depth += 1;
        for (index, item) in all.iter().enumerate() {
            if index > 0 {
                self.out.push_str(&self.options.separators.0);
            }
            self.line();
            walk.step()?;
            self.value(item, walk)?;
        }
        self.depth -= 1;
        self.line();
        self.out.push(']');
        Ok(())
    }

    fn dict(&mut self, value: &Value, walk: &mut Walk) -> Outcome<()> {
        let mut all = entries(value).unwrap_or_default();
        if all.is_empty() {
            self.out.push_str("{}");
            return Ok(());
        }
        if self.options.sort_keys {
            all = sort(all.into_iter().map(|(key, value)| (key.clone(), (key, value))).collect(), false)?;
        }
        self.out.push('{');
        self.depth += 1;
        let mut first = true;
        for (key, item) in &all {
            let key = match key_text(key) {
                Ok(key) => key,
                Err(_) if self.options.skip_keys => continue,
                Err(error) => return Err(error.into()),
            };
            if !std::mem::take(&mut first) {
                self.out.push_str(&self.options.separators.0);
            }
            self.line();
            self.text(&key);
            self.out.push_str(&self.options.separators.1);
            walk.step()?;
            self.value(item, walk)?;
        }
        self.depth -= 1;
        if !first {
            self.line();
        }
        self.out.push('}');
        Ok(())
    }
}
