//! `gather_facts`: runs the module `setup`, or those that the play names, for facts of the host.

use modbox_python_json::{Dict, Value};
use modbox_template::Content;
use modbox_yaml::Source;

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::model::task::short_name;
use crate::vars::layer;

/// The module that is taken where the play names none.
const SETUP: &str = "ansible.legacy.setup";

/// Systems of network devices that have a module for facts.
const NETWORK: [&str; 8] = ["asa", "eos", "frr", "ios", "iosxr", "junos", "nxos", "vyos"];

/// Collections of such modules.
const NETWORK_COLLECTIONS: [&str; 8] = [
    "arista.eos",
    "cisco.asa",
    "cisco.ios",
    "cisco.iosxr",
    "cisco.nxos",
    "frr.frr",
    "junipernetworks.junos",
    "vyos.vyos",
];

/// Arguments that only `setup` takes.
const SETUP_ARGS: [(&str, &str); 3] =
    [("gather_subset", "subset"), ("gather_timeout", "timeout"), ("filter", "filter")];

/// Gathers facts.
///
/// # Errors
///
/// A module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.args.shift_remove("parallel");
    let modules = modules(context);
    let mut gathered = Gathered::default();
    for module in &modules {
        let args = module_args(context, module)?;
        let result = context.run_step(module, args)?;
        gathered.add(module, result);
    }
    let mut facts = gathered.facts;
    facts.insert("_ansible_facts_gathered".to_owned(), Value::Bool(true));
    let mut result = entry("ansible_facts", Value::Dict(facts));
    for (key, list) in [("warnings", gathered.warnings), ("deprecations", gathered.deprecations)] {
        result.insert(key.to_owned(), Value::List(list));
    }
    if !gathered.skipped.is_empty() {
        let names = gathered.skipped.keys().cloned().collect::<Vec<_>>().join(", ");
        result.insert("msg".to_owned(), Value::from(format!("The following modules were skipped: {names}.")));
        result.insert("skipped".to_owned(), Value::Bool(gathered.skipped.len() == modules.len()));
        result.insert("skipped_modules".to_owned(), Value::Dict(gathered.skipped));
    }
    if !gathered.failed.is_empty() {
        let names = gathered.failed.keys().cloned().collect::<Vec<_>>().join(", ");
        result.insert("failed".to_owned(), Value::Bool(true));
        result.insert("msg".to_owned(), Value::from(format!("The following modules failed to execute: {names}.")));
        result.insert("failed_modules".to_owned(), Value::Dict(gathered.failed));
    }
    result.insert("_ansible_verbose_override".to_owned(), Value::Bool(true));
    Ok(result)
}

/// What modules returned.
#[derive(Debug, Default)]
struct Gathered {
    facts: Dict,
    warnings: Vec<Value>,
    deprecations: Vec<Value>,
    failed: Dict,
    skipped: Dict,
}

impl Gathered {
    fn add(&mut self, module: &str, mut result: Dict) {
        let holds = |key: &str| result.get(key).is_some_and(Value::is_truthy);
        if holds("failed") {
            self.failed.insert(module.to_owned(), Value::Dict(result));
            return;
        }
        if holds("skipped") {
            self.skipped.insert(module.to_owned(), Value::Dict(result));
            return;
        }
        if let Some(Value::Dict(facts)) = result.shift_remove("ansible_facts") {
            merge(&mut self.facts, facts);
        }
        for (key, list) in [("warnings", &mut self.warnings), ("deprecations", &mut self.deprecations)] {
            if let Some(Value::List(items)) = result.shift_remove(key) {
                list.extend(items);
            }
        }
    }
}

/// Merges facts into others, recursively. Lists get the items of both, and other values replace what is there.
fn merge(old: &mut Dict, new: Dict) {
    for (key, value) in new {
        match (old.get_mut(&key), value) {
            (Some(Value::Dict(inner)), Value::Dict(value)) => merge(inner, value),
            (Some(Value::List(items)), Value::List(value)) => {
                items.retain(|item| !value.contains(item));
                items.extend(value);
            }
            (_, value) => drop(old.insert(key, value)),
        }
    }
}

/// Returns the modules that gather facts: `setup`, unless the variable `ansible_facts_modules` names others.
fn modules(context: &ActionContext<'_>) -> Vec<String> {
    let named = match context.scope.get("ansible_facts_modules").map(|slot| slot.content()) {
        Some(Content::Value(value)) => layer::to_json(value),
        Some(Content::Source(source)) => context.evaluate(source).unwrap_or_default(),
        _ => Value::Null,
    };
    let mut names: Vec<String> = match named {
        Value::List(items) => items.iter().map(modbox_python_json::str).collect(),
        Value::Null => vec!["smart".to_owned()],
        other => modbox_python_json::str(&other).split(',').map(|name| name.trim().to_owned()).collect(),
    };
    let smart = names.iter().any(|name| name == "smart");
    names.retain(|name| name != "smart" && !name.is_empty());
    if smart || names.is_empty() {
        let module = of_network(context).unwrap_or_else(|| SETUP.to_owned());
        if !names.iter().any(|name| short_name(name) == short_name(&module)) {
            names.push(module);
        }
    }
    names
}

/// Returns the module for facts of a network device, if the variable `ansible_network_os` says that the host is one.
fn of_network(context: &ActionContext<'_>) -> Option<String> {
    context.scope.get("ansible_network_os")?;
    let found = context.engine.expression(&Source::literal("ansible_network_os"), context.scope).ok()?;
    facts_of(layer::to_json(&found.value).as_str()?)
}

/// Returns the module for facts of a network device, by the name of its system.
fn facts_of(system: &str) -> Option<String> {
    if NETWORK.contains(&system) {
        return Some(format!("ansible.legacy.{system}_facts"));
    }
    if system == "wti.remote.cpm" {
        return Some("wti.remote.cpm_get_facts".to_owned());
    }
    let (collection, name) = system.rsplit_once('.')?;
    (NETWORK_COLLECTIONS.contains(&collection) && NETWORK.contains(&name)).then(|| format!("{system}_facts"))
}

fn module_args(context: &mut ActionContext<'_>, module: &str) -> Result<Dict, ActionError> {
    let mut args = context.args.clone();
    if short_name(module) != "setup" {
        for (name, word) in SETUP_ARGS {
            let Some(value) = args.shift_remove(name).filter(|value| *value != Value::Null) else { continue };
            let text = modbox_python_json::str(&value);
            if name != "gather_subset" || !matches!(text.as_str(), "all" | "['all']") {
                context.warn(format!("Not passing {word}({text}) to {module}"));
            }
        }
    }
    args.retain(|_, value| *value != Value::Null);
    let name = context.host.resolve(module, &context.options.collections).unwrap_or_else(|| module.to_owned());
    context.with_defaults(&name, args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_devices_have_modules_of_their_own() {
        let check = |system: &str, expect: Option<&str>| assert_eq!(facts_of(system).as_deref(), expect, "{system}");
        check("ios", Some("ansible.legacy.ios_facts"));
        check("cisco.ios.ios", Some("cisco.ios.ios_facts"));
        check("wti.remote.cpm", Some("wti.remote.cpm_get_facts"));
        check("linux", None);
        check("my.own.ios", None);
    }

    #[test]
    fn facts_of_several_modules_are_merged() {
        let dict = |json: &str| modbox_python_json::decode(json).unwrap().as_dict().unwrap().clone();
        let mut facts = dict(r#"{"a": {"b": 1, "c": [1, 2]}, "d": 1}"#);
        merge(&mut facts, dict(r#"{"a": {"c": [2, 3], "e": 2}, "d": {"f": 1}}"#));
        let expect = r#"{"a": {"b": 1, "c": [1, 2, 3], "e": 2}, "d": {"f": 1}}"#;
        assert_eq!(modbox_python_json::encode_dict(&facts), expect);
    }
}
