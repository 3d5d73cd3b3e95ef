//! Checks the rules between options: which options exclude each other, and which require each other.
//!
//! Each check returns the first error in Ansible's words; [`mutually_exclusive`] names all of them.

use modbox_python_json::{Dict, Value, str};

use crate::equality::python_eq;
use crate::run::{Positions, sorted};
use crate::spec::{ArgumentSpec, Constraints};
use crate::validated::ErrorKind;

type Check = Option<(ErrorKind, String)>;

/// Counts the names that are given. A name that is listed twice counts once.
fn given(parameters: &Dict, names: &[String]) -> usize {
    let first = |at: usize| !names[..at].contains(&names[at]);
    names.iter().enumerate().filter(|(at, name)| parameters.contains_key(*name) && first(*at)).count()
}

pub(crate) fn mutually_exclusive(constraints: &Constraints, parameters: &Dict) -> Check {
    let offences: Vec<String> = constraints
        .mutually_exclusive
        .iter()
        .filter(|group| given(parameters, group) > 1)
        .map(|group| group.join("|"))
        .collect();
    let message = || format!("parameters are mutually exclusive: {}", offences.join(", "));
    (!offences.is_empty()).then(|| (ErrorKind::MutuallyExclusive, message()))
}

pub(crate) fn required(spec: &ArgumentSpec, at: &Positions) -> Check {
    let options = spec.options.iter().zip(at);
    let missing = options.filter(|((_, option), at)| option.required && at.is_none());
    let missing = sorted(missing.map(|((name, _), _)| name.as_str()));
    let message = || format!("missing required arguments: {}", missing.join(", "));
    (!missing.is_empty()).then(|| (ErrorKind::Required, message()))
}

/// Runs the four checks that follow types and choices, in order.
pub(crate) fn between_options(
    constraints: &Constraints,
    parameters: &Dict,
) -> impl Iterator<Item = (ErrorKind, String)> {
    let checks = [
        required_together(constraints, parameters),
        required_one_of(constraints, parameters),
        required_if(constraints, parameters),
        required_by(constraints, parameters),
    ];
    checks.into_iter().flatten()
}

fn required_together(constraints: &Constraints, parameters: &Dict) -> Check {
    let offends = |group: &&Vec<String>| {
        let is_given = |name: &String| parameters.contains_key(name);
        group.iter().any(is_given) && !group.iter().all(is_given)
    };
    let group = constraints.required_together.iter().find(offends)?;
    Some((ErrorKind::RequiredTogether, format!("parameters are required together: {}", group.join(", "))))
}

fn required_one_of(constraints: &Constraints, parameters: &Dict) -> Check {
    let group = constraints.required_one_of.iter().find(|group| given(parameters, group) == 0)?;
    Some((ErrorKind::RequiredOneOf, format!("one of the following is required: {}", group.join(", "))))
}

fn required_if(constraints: &Constraints, parameters: &Dict) -> Check {
    constraints.required_if.iter().find_map(|rule| {
        parameters.get(&rule.key).filter(|value| python_eq(value, &rule.value))?;
        let is_missing = |name: &&String| !parameters.contains_key(*name);
        let missing: Vec<&str> = rule.requirements.iter().filter(is_missing).map(String::as_str).collect();
        let (term, enough) = if rule.any_is_enough { ("any", rule.requirements.len()) } else { ("all", 1) };
        let (key, value, names) = (&rule.key, str(&rule.value), missing.join(", "));
        let message = || format!("{key} is {value} but {term} of the following are missing: {names}");
        (!missing.is_empty() && missing.len() >= enough).then(|| (ErrorKind::RequiredIf, message()))
    })
}

fn required_by(constraints: &Constraints, parameters: &Dict) -> Check {
    let is_given = |name: &String| parameters.get(name).is_some_and(|value| *value != Value::Null);
    constraints.required_by.iter().filter(|rule| is_given(&rule.key)).find_map(|rule| {
        let missing: Vec<&str> = rule.requirements.iter().filter(|name| !is_given(name)).map(String::as_str).collect();
        let message = || format!("missing parameter(s) required by '{}': {}", rule.key, missing.join(", "));
        (!missing.is_empty()).then(|| (ErrorKind::RequiredBy, message()))
    })
}
