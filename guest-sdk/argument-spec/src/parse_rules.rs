//! Reads the rules between options from their five keys.

use modbox_python_json::{Dict, Value};

use crate::error::SpecError;
use crate::parse_values::{Mode, dict, list, names, text_or_texts, wrong_type};
use crate::spec::{Constraints, RequiredBy, RequiredIf};

/// The keys that hold rules between options. At the top level, they are next to `argument_spec`.
pub(crate) const CONSTRAINT_KEYS: [&str; 5] =
    ["mutually_exclusive", "required_together", "required_one_of", "required_if", "required_by"];

/// Reads the rules of a level. Other keys are ignored.
pub(crate) fn parse_constraints(mode: Mode, entries: &Dict, place: &str) -> Result<Constraints, SpecError> {
    let mut constraints = Constraints::default();
    for (key, value) in entries.iter().filter(|(_, value)| **value != Value::Null) {
        match key.as_str() {
            "mutually_exclusive" => constraints.mutually_exclusive = groups(mode, key, place, value)?,
            "required_together" => constraints.required_together = groups(mode, key, place, value)?,
            "required_one_of" => constraints.required_one_of = groups(mode, key, place, value)?,
            "required_if" => {
                let rules = list(key, place, value)?.iter().map(|rule| required_if(mode, key, place, rule));
                constraints.required_if = rules.collect::<Result<_, _>>()?;
            }
            "required_by" => {
                for (name, requirements) in dict(key, place, value)? {
                    let requirements = text_or_texts(key, place, requirements)?;
                    constraints.required_by.push(RequiredBy { key: name.clone(), requirements });
                }
            }
            _ => {}
        }
    }
    Ok(constraints)
}

/// Reads groups of names. Ansible does not read a plain list of names as one group: for options that exclude each
/// other, it makes groups of one name each, which have no effect.
fn groups(mode: Mode, key: &str, place: &str, value: &Value) -> Result<Vec<Vec<String>>, SpecError> {
    let group = |group: &Value| match (mode, group) {
        (Mode::AsAnsible, Value::Str(_)) if key == "mutually_exclusive" => Ok(Vec::new()),
        (Mode::AsAnsible, Value::Str(_)) if key == "required_together" => names(mode, key, place, group),
        (_, Value::Str(_)) => Err(wrong_type(key, place, "a list of lists", value)),
        _ => names(mode, key, place, group),
    };
    list(key, place, value)?.iter().map(group).collect()
}

fn required_if(mode: Mode, key: &str, place: &str, rule: &Value) -> Result<RequiredIf, SpecError> {
    const EXPECTED: &str = "a list of `[option, value, [options], any]`";
    let parts = list(key, place, rule)?;
    let (option, value, requirements, any) = match parts {
        [Value::Str(option), value, requirements] => (option, value, requirements, false),
        [Value::Str(option), value, requirements, any] => (option, value, requirements, any.is_truthy()),
        _ => return Err(wrong_type(key, place, EXPECTED, rule)),
    };
    Ok(RequiredIf {
        key: option.clone(),
        value: value.clone(),
        requirements: names(mode, key, place, requirements)?,
        any_is_enough: any,
    })
}
