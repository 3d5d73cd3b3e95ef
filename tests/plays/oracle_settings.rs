//! The table of Ansible's settings, held against those of ansible-core's releases in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use modbox_contract::encode;
use modbox_tasks::settings::{ALL, Kind, Setting, find};
use serde_json::Value;

use crate::support::{fixture, oracle};

/// Releases whose settings modbox knows: the first one with its list, one between, and the one that it follows.
const RELEASES: [&str; 3] = ["2.16.19", "2.19.14", "2.21.5"];

/// Settings whose values depend on the machine or on Ansible's own files.
const OF_MACHINE: [&str; 3] = ["ANSIBLE_CONNECTION_PATH", "DEFAULT_LOCAL_TMP", "_ANSIBLE_CONNECTION_PATH"];

fn settings_of(release: &str) -> BTreeMap<String, Value> {
    let output = Command::new(oracle::python_of(release)).arg(fixture("oracle/settings.py")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{release}: {error}: {errors}"))
}

/// Returns the types of Ansible that a kind stands for.
fn types(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Bool => &["bool", "boolean"],
        Kind::Int => &["int", "integer"],
        Kind::Float => &["float"],
        Kind::List => &["list"],
        Kind::Folders => &["pathspec"],
        Kind::Paths => &["pathlist"],
        Kind::Path => &["path", "tmppath"],
        Kind::Any => &["dict", "raw"],
        Kind::Text => &["", "str", "string", "choices"],
    }
}

/// Settings without a type in a release, of which modbox knows one.
const TYPED: [&str; 3] = ["DEFAULT_JINJA2_EXTENSIONS", "DEFAULT_VAULT_ID_MATCH", "PYTHON_MODULE_RLIMIT_NOFILE"];

fn texts(value: &Value) -> Vec<String> {
    let text = |item: &Value| match item {
        Value::Array(parts) => parts.iter().map(|part| part.as_str().unwrap()).collect::<Vec<_>>().join("/"),
        item => item.as_str().unwrap().to_owned(),
    };
    value.as_array().unwrap().iter().map(text).collect()
}

/// Returns what sets a setting, by the table.
fn known(setting: &Setting) -> BTreeSet<String> {
    let keys = setting.keys.iter().map(|(section, key)| format!("{section}/{key}"));
    let names = setting.environment.iter().chain(setting.variables).map(|name| (*name).to_owned());
    names.chain(keys).collect()
}

fn check(name: &str, found: &Value, seen: &mut BTreeMap<&str, BTreeSet<String>>) -> Option<String> {
    let Some(setting) = find(name) else { return Some(format!("{name} is not in the table")) };
    let sets: BTreeSet<String> =
        ["environment", "keys", "variables"].iter().flat_map(|of| texts(&found[*of])).collect();
    let lacking: Vec<&String> = sets.iter().filter(|one| !known(setting).contains(*one)).collect();
    seen.entry(setting.name).or_default().extend(sets.iter().cloned());
    if !lacking.is_empty() {
        return Some(format!("{name} lacks {lacking:?}"));
    }
    let kind = found["type"].as_str().unwrap_or_default();
    (!types(setting.kind).contains(&kind) && !TYPED.contains(&name)).then(|| format!("{name} is of the type `{kind}`"))
}

#[test]
fn the_table_has_the_settings_of_the_releases_and_no_others() {
    let mut wrong = Vec::new();
    let mut seen = BTreeMap::new();
    let tested: Vec<&str> = RELEASES.into_iter().filter(|release| oracle::is_testable(release)).collect();
    for release in &tested {
        let found = settings_of(release);
        wrong.extend(found.iter().filter_map(|(name, setting)| check(name, setting, &mut seen)));
        if *release != oracle::version() {
            continue;
        }
        for setting in ALL.iter().filter(|setting| !OF_MACHINE.contains(&setting.name)) {
            let Some(of_ansible) = found.get(setting.name).map(|found| found["default"].clone()) else { continue };
            let ours = encode(&setting.default_value()).replace("\"~/", "\"/h/");
            if serde_json::from_str::<Value>(&ours).unwrap() != of_ansible {
                wrong.push(format!("the default of {} is {of_ansible}, not {ours}", setting.name));
            }
        }
    }
    // A release that this machine has no Python for may have had the rest.
    if tested.len() == RELEASES.len() {
        for setting in ALL {
            let rest = known(setting);
            let rest: Vec<&String> =
                rest.iter().filter(|one| !seen.get(setting.name).is_some_and(|seen| seen.contains(*one))).collect();
            if !seen.contains_key(setting.name) || !rest.is_empty() {
                wrong.push(format!("no release has {} with {rest:?}", setting.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
