//! The rules of ansible-core 2.21 and newer for a result's keys: `UnifiedTaskResult` holds the results of modules and actions.
//!
//! Keys that Ansible itself knows have types. A value of another type is converted, with a warning, or dropped
//! (`convert_field`). Keys that only actions or Ansible may use are dropped, and their values are not shown. Other keys stay as
//! they are. The reading of the output is that of 2.19.
//!
//! Intended differences: the key `ansible_parsed`, which 2.22 registers, is the controller's to add; reserved keys are removed
//! at every depth, as before 2.21.

use modbox_python_json::{Dict, Value, str as python_str};

use crate::release::Release;
use crate::results::fields::{add_lines, complete_failure, normalize_exception, remove_discovered};
use crate::results::reserved::{INTERNAL_PREFIX, strip_internal_keys};
use crate::results::typed::{self, Refusal};
use crate::results::warnings::Warnings;

/// The type of a key.
#[derive(Debug, Clone, Copy)]
enum Field {
    Bool,
    Int,
    Str,
    Dict,
    /// A dict with the dict `data`.
    Stats,
    /// Any value but null.
    Object,
    Exception,
    Warnings,
    Deprecations,
}

/// The keys that modules may set and Ansible knows.
const FIELDS: [(&str, Field); 14] = [
    ("changed", Field::Bool),
    ("failed", Field::Bool),
    ("unreachable", Field::Bool),
    ("skipped", Field::Bool),
    ("finished", Field::Bool),
    ("warnings", Field::Warnings),
    ("deprecations", Field::Deprecations),
    ("ansible_facts", Field::Dict),
    ("ansible_stats", Field::Stats),
    ("ansible_job_id", Field::Str),
    ("exception", Field::Exception),
    ("msg", Field::Object),
    ("diff", Field::Object),
    ("rc", Field::Int),
];

/// The one reserved key that modules may send. It is read and not kept.
const KEEP_TMPDIR: &str = "_ansible_suppress_tmpdir_delete";

/// The key that 2.22 sets itself.
const PARSED: &str = "ansible_parsed";

/// Applies the rules.
pub(crate) fn accept(mut dict: Dict, release: Release, warnings: &mut Warnings) -> Result<Dict, Refusal> {
    if let Some(results) = dict.get("results").filter(|results| results.as_list().is_none()) {
        let results = results.clone();
        dict.insert("ansible_module_results".to_owned(), results);
    }
    let (mut known, mut others) = (Dict::new(), Dict::new());
    for (key, value) in dict {
        if key == KEEP_TMPDIR {
            converted(&key, Field::Bool, value, warnings);
        } else if key.starts_with(INTERNAL_PREFIX) {
            warnings.add_text(format!("Removed reserved key '{key}' from module result."));
        } else if key == PARSED && release >= Release::V2_22 {
            converted(&key, Field::Bool, value, warnings);
        } else if let Some((_, field)) = FIELDS.iter().find(|(name, _)| *name == key) {
            if let Some(value) = converted(&key, *field, value, warnings) {
                known.insert(key, value);
            }
        } else {
            others.insert(key, value);
        }
    }
    complete(&mut known);
    let mut dict = known;
    dict.extend(others);
    add_lines(&mut dict, "stdout")?;
    add_lines(&mut dict, "stderr")?;
    strip_internal_keys(&mut dict);
    dict.values_mut().for_each(|value| *value = typed::present(std::mem::take(value)));
    Ok(dict)
}

/// Adds what every result has, and leaves out what says nothing.
fn complete(known: &mut Dict) {
    let failed = match known.get("failed") {
        Some(failed) => failed.is_truthy(),
        None => known.get("rc").is_some_and(Value::is_truthy),
    };
    known.insert("failed".to_owned(), failed.into());
    known.entry("changed".to_owned()).or_insert(false.into());
    known.retain(|key, value| !["skipped", "unreachable"].contains(&key.as_str()) || value.is_truthy());
    if let Some(Value::Dict(facts)) = known.get_mut("ansible_facts") {
        remove_discovered(facts);
    }
    normalize_exception(known);
    if failed {
        complete_failure(known, true);
    }
}

/// Returns the value of a key in its type. `None` for null, and for a value that cannot be converted.
fn converted(key: &str, field: Field, value: Value, warnings: &mut Warnings) -> Option<Value> {
    if value == Value::Null {
        return None;
    }
    let (name, is_of_type) = match field {
        Field::Bool => ("bool", value.as_bool().is_some()),
        // A bool is an int in Python.
        Field::Int => ("int", matches!(value, Value::Int(_) | Value::BigInt(_) | Value::Bool(_))),
        Field::Str => ("str", value.as_str().is_some()),
        Field::Dict | Field::Stats => ("dict", value.as_dict().is_some()),
        Field::Warnings | Field::Deprecations => ("list", value.as_list().is_some()),
        Field::Object | Field::Exception => return Some(value),
    };
    let found = value.type_name();
    let result = match field {
        Field::Stats => Ok(stats(value, warnings)),
        Field::Warnings => {
            warnings.add_sent(value);
            Ok(None)
        }
        Field::Deprecations => warnings.add_sent_deprecations(value).map(|()| None),
        _ if is_of_type => return Some(value),
        Field::Bool => Ok(Some(value.is_truthy().into())),
        Field::Str => Ok(Some(python_str(&value).into())),
        Field::Int => to_int(&value).map(Some).ok_or(()),
        Field::Dict | Field::Object | Field::Exception => to_dict(value).map(|dict| Some(dict.into())).ok_or(()),
    };
    match result {
        Err(()) => {
            warnings.add_text(format!("Value for result key '{key}' of type {found} was replaced with None."));
            None
        }
        Ok(value) => {
            if !is_of_type {
                warnings.add_text(format!("Value for result key '{key}' of type {found} was converted to {name}."));
            }
            value
        }
    }
}

fn stats(value: Value, warnings: &mut Warnings) -> Option<Value> {
    let has_data = value.as_dict().and_then(|stats| stats.get("data")).is_some_and(|data| data.as_dict().is_some());
    if !has_data {
        warnings.add_text("Ignoring invalid ansible_stats value in task result.".to_owned());
    }
    has_data.then_some(value)
}

/// Returns Python's `int(value)`.
fn to_int(value: &Value) -> Option<Value> {
    match value {
        Value::Float(number) if number.is_finite() => Value::int_from_decimal(&format!("{:.0}", number.trunc())),
        Value::Str(text) => {
            let text = text.trim();
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", text.strip_prefix('+').unwrap_or(text)),
            };
            let groups: Vec<&str> = digits.split('_').collect();
            let is_number =
                groups.iter().all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
            let digits = groups.concat();
            let digits = digits.trim_start_matches('0');
            let digits = if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") };
            is_number.then(|| Value::int_from_decimal(&digits)).flatten()
        }
        _ => None,
    }
}

/// Returns Python's `dict(value)`, for keys that are text.
fn to_dict(value: Value) -> Option<Dict> {
    match value {
        Value::List(pairs) => pairs.into_iter().map(pair).collect(),
        Value::Str(text) if text.is_empty() => Some(Dict::new()),
        _ => None,
    }
}

fn pair(value: Value) -> Option<(String, Value)> {
    match value {
        Value::List(items) => match <[Value; 2]>::try_from(items) {
            Ok([Value::Str(key), value]) => Some((key, value)),
            _ => None,
        },
        Value::Str(text) => {
            let mut chars = text.chars();
            let pair = (chars.next()?.to_string(), chars.next()?.to_string().into());
            chars.next().is_none().then_some(pair)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::{decode, encode};

    use super::*;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        let dict = decode(json).unwrap().as_dict().unwrap().clone();
        let mut warnings = Warnings::default();
        let dict = accept(dict, Release::V2_21, &mut warnings).unwrap();
        let mut dict = warnings.add_to(dict);
        dict.shift_remove("exception");
        assert_eq!(encode(&dict.into()), expect, "{json}");
    }

    #[test]
    fn reserved_keys_are_dropped_and_their_values_not_shown() {
        check(
            r#"{"_ansible_no_log": true, "_ansible_next": "Q7x9", "_ansible_suppress_tmpdir_delete": true, "add_host": {}}"#,
            r#"{"failed": false, "changed": false, "add_host": {}, "warnings": ["Removed reserved key '_ansible_no_log' from module result.", "Removed reserved key '_ansible_next' from module result."]}"#,
        );
    }

    #[test]
    fn values_of_other_types_are_converted_or_dropped() {
        for (value, expect) in [
            (r#""0""#, Some("0")),
            (r#"" -7_0 ""#, Some("-70")),
            ("2.9", Some("2")),
            ("-0.5", Some("0")),
            ("1e22", Some("10000000000000000000000")),
            (r#""x""#, None),
            (r#""1__0""#, None),
            (r#""""#, None),
            ("NaN", None),
            ("[1]", None),
        ] {
            let found = to_int(&decode(value).unwrap());
            assert_eq!(found.as_ref().map(encode).as_deref(), expect, "{value}");
        }
        check(
            r#"{"changed": "no", "skipped": 0, "ansible_facts": [["a", 1], "bc"], "ansible_job_id": 5, "msg": null}"#,
            concat!(
                r#"{"changed": true, "ansible_facts": {"a": 1, "b": "c"}, "ansible_job_id": "5", "failed": false, "warnings": ["#,
                r#""Value for result key 'changed' of type str was converted to bool.", "#,
                r#""Value for result key 'skipped' of type int was converted to bool.", "#,
                r#""Value for result key 'ansible_facts' of type list was converted to dict.", "#,
                r#""Value for result key 'ansible_job_id' of type int was converted to str."]}"#
            ),
        );
    }

    #[test]
    fn odd_results_stay() {
        check(
            r#"{"results": 3, "rc": 3}"#,
            r#"{"rc": 3, "failed": true, "changed": false, "msg": "Task failed: Module failed: Unknown error.", "results": 3, "ansible_module_results": 3}"#,
        );
    }
}
