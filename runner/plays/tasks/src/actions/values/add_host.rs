//! `add_host`: names a host for later plays. modbox records the name; plays for other hosts are not run.

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;

/// The names of the option for groups, the first one first.
const GROUPS: [&str; 3] = ["groupname", "groups", "group"];

/// Names that are not variables of the new host.
const SPECIAL: [&str; 4] = ["name", "hostname", "groupname", "groups"];

/// Names a host.
///
/// # Errors
///
/// The task gives no name, or groups that are neither a list nor text.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let mut args = std::mem::take(&mut context.args);
    match args.shift_remove("_raw_params") {
        None => {}
        Some(Value::Dict(raw)) => {
            for (name, value) in raw {
                args.entry(name).or_insert(value);
            }
        }
        Some(other) => {
            let found = other.type_name();
            return Err(ActionError::failed(format!(
                "Invalid raw parameters passed, requires a dictionary/mapping got a  <class '{found}'>"
            )));
        }
    }
    let given = |names: &[&str]| names.iter().find_map(|name| args.get(*name)).cloned();
    let name = given(&["name", "hostname", "host"]).filter(|name| *name != Value::Null);
    let name = name.ok_or_else(|| ActionError::failed("name, host or hostname needs to be provided"))?;
    let groups = groups(given(&GROUPS)).map_err(|error| {
        let named = GROUPS.iter().find_map(|name| context.named(name));
        error.at(named.and_then(|named| context.excerpt(named.value.position())))
    })?;
    let Value::Str(name) = name else {
        let found = name.type_name();
        let text = format!("AddHost.host_name must be <class 'str'> instead of <class '{found}'>");
        return Err(ActionError::wrong(text));
    };
    let (name, port) = split_port(&name);
    if let Some(port) = port {
        args.insert("ansible_ssh_port".to_owned(), Value::Int(port));
    }
    args.retain(|name, _| !SPECIAL.contains(&name.as_str()));
    let host: Dict = [
        ("host_name".to_owned(), Value::from(name)),
        ("groups".to_owned(), Value::from(groups)),
        ("host_vars".to_owned(), Value::Dict(args)),
    ]
    .into_iter()
    .collect();
    let mut result = entry("changed", false);
    result.extend(entry("add_host", host));
    Ok(result)
}

fn groups(given: Option<Value>) -> Result<Vec<String>, ActionError> {
    let list: Vec<String> = match given {
        None => Vec::new(),
        Some(value) if !value.is_truthy() => Vec::new(),
        Some(Value::List(items)) => {
            let text = |item: &Value| {
                let wrong = || ActionError::wrong(format!("'{}' object has no attribute 'strip'", item.type_name()));
                item.as_str().map(str::to_owned).ok_or_else(wrong)
            };
            items.iter().map(text).collect::<Result<_, _>>()?
        }
        Some(Value::Str(text)) => text.split(',').map(str::to_owned).collect(),
        Some(_) => return Err(ActionError::failed("Groups must be specified as a list.")),
    };
    let mut groups: Vec<String> = Vec::new();
    for name in list.iter().map(|name| name.trim()) {
        if !groups.iter().any(|group| group == name) {
            groups.push(name.to_owned());
        }
    }
    Ok(groups)
}

/// Splits a port from a host's name. An address of IPv6 needs brackets for that.
fn split_port(name: &str) -> (String, Option<i64>) {
    let Some((host, port)) = name.rsplit_once(':') else { return (name.to_owned(), None) };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match (bracketed, port.parse()) {
        (Some(host), Ok(port)) => (host.to_owned(), Some(port)),
        (None, Ok(port)) if !host.contains(':') => (host.to_owned(), Some(port)),
        _ => (name.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_split_from_names() {
        let check = |name: &str, host: &str, port| assert_eq!(split_port(name), (host.to_owned(), port), "{name}");
        check("a", "a", None);
        check("a:22", "a", Some(22));
        check("[::1]:22", "::1", Some(22));
        check("::1", "::1", None);
        check("a:b", "a:b", None);
    }
}
