//! The counters of the recap, and the statistics of `set_stats`.

use modbox_python_json::{Dict, Value};

/// What the recap counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the words of the recap")]
pub struct Counters {
    pub ok: u64,
    pub changed: u64,
    pub unreachable: u64,
    pub failed: u64,
    pub skipped: u64,
    pub rescued: u64,
    pub ignored: u64,
    /// Whether anything was counted at all.
    pub touched: bool,
}

impl Counters {
    /// Returns the counters with their names, in the order of the recap.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("ok", self.ok),
            ("changed", self.changed),
            ("unreachable", self.unreachable),
            ("failed", self.failed),
            ("skipped", self.skipped),
            ("rescued", self.rescued),
            ("ignored", self.ignored),
        ]
    }
}

/// Statistics that tasks set: for the host, and for the run.
#[derive(Debug, Clone, Default)]
pub struct CustomStats {
    /// For the host.
    pub host: Dict,
    /// For the run.
    pub run: Dict,
}

impl CustomStats {
    /// Sets or adds a statistic.
    pub fn record(&mut self, per_host: bool, aggregate: bool, name: &str, value: &Value) {
        let stats = if per_host { &mut self.host } else { &mut self.run };
        match stats.get_mut(name) {
            Some(old) if aggregate => add(old, value),
            _ => drop(stats.insert(name.to_owned(), value.clone())),
        }
    }
}

/// Adds a value to another of the same type, as Python's `+` does. Other types leave the old value.
fn add(old: &mut Value, value: &Value) {
    match (old, value) {
        (Value::Int(old), Value::Int(value)) => *old = old.saturating_add(*value),
        (Value::Float(old), Value::Float(value)) => *old += value,
        (Value::Str(old), Value::Str(value)) => old.push_str(value),
        (Value::List(old), Value::List(value)) => old.extend(value.iter().cloned()),
        (Value::Dict(old), Value::Dict(value)) => {
            old.extend(value.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_add_up_within_a_type() {
        let mut stats = CustomStats::default();
        let mut set = |name, value: Value| stats.record(false, true, name, &value);
        set("n", Value::Int(1));
        set("n", Value::Int(2));
        set("n", Value::from("x"));
        set("l", Value::from(vec![1]));
        set("l", Value::from(vec![2]));
        assert_eq!(modbox_python_json::encode_dict(&stats.run), r#"{"n": 3, "l": [1, 2]}"#);
    }
}
