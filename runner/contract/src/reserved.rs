//! Keys of a result that mean something to Ansible itself, and that no module may use.

use modbox_python_json::{Dict, Value, str as python_str};

use crate::warnings::Warnings;

/// What the reserved keys of a result start with; nobody but Ansible may use them.
const INTERNAL_PREFIX: &str = "_ansible_";

/// Keys by which a module could change the inventory.
const INVENTORY_KEYS: [&str; 2] = ["add_host", "add_group"];

/// Returns whether a key of a result means something to Ansible that has to be seen to, beside its status.
pub(super) fn is_treated(key: &str) -> bool {
    let treated = ["results", "ansible_facts", "stdout", "stderr", "warnings", "deprecations"];
    key.starts_with(INTERNAL_PREFIX) || INVENTORY_KEYS.contains(&key) || treated.contains(&key)
}

/// Removes keys by which a module would speak as Ansible, and says so.
pub(super) fn remove_internal_keys(dict: &mut Dict, warnings: &mut Warnings) {
    // Ansible has set this one itself by now, so it removes what a module sent without a word.
    dict.shift_remove("_ansible_parsed");
    let internal = |key: &str| key.starts_with(INTERNAL_PREFIX) || INVENTORY_KEYS.contains(&key);
    dict.retain(|key, value| {
        if internal(key) {
            let shown = python_str(value);
            warnings.add_text(format!("Removed unexpected internal key in module return: {key} = {shown}"));
        }
        !internal(key)
    });
}

/// Removes reserved keys at any depth, as Ansible does to a result before anyone sees it.
pub(super) fn strip_internal_keys(dict: &mut Dict) {
    dict.retain(|key, _| !key.starts_with(INTERNAL_PREFIX));
    dict.values_mut().for_each(strip_internal_keys_in);
}

fn strip_internal_keys_in(value: &mut Value) {
    match value {
        Value::Dict(dict) => strip_internal_keys(dict),
        Value::List(items) => items.iter_mut().for_each(strip_internal_keys_in),
        _ => {}
    }
}
