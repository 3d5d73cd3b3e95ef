//! The keys of a result that have a meaning for Ansible itself, and that no module may use.

use modbox_python_json::{Dict, Value};

use crate::results::warnings::Warnings;

/// The prefix of a result's reserved keys. Only Ansible may use them.
pub(super) const INTERNAL_PREFIX: &str = "_ansible_";

/// The keys with which a module could change the inventory.
const INVENTORY_KEYS: [&str; 2] = ["add_host", "add_group"];

/// Returns whether a key of a result needs special handling. The keys of the status are handled separately.
pub(super) fn is_special_key(key: &str) -> bool {
    let special = ["results", "ansible_facts", "stdout", "stderr", "warnings", "deprecations"];
    key.starts_with(INTERNAL_PREFIX) || INVENTORY_KEYS.contains(&key) || special.contains(&key)
}

/// Removes the keys that only Ansible may send, with a warning for each. ansible-core up to 2.20 shows their values in it, which
/// can be secrets that a later release marks by a key of its own; modbox never shows them, as ansible-core since 2.21.
pub(super) fn remove_internal_keys(dict: &mut Dict, warnings: &mut Warnings) {
    // Ansible has set this key itself by now, so it removes the module's value without a warning.
    dict.shift_remove("_ansible_parsed");
    let internal = |key: &str| key.starts_with(INTERNAL_PREFIX) || INVENTORY_KEYS.contains(&key);
    dict.retain(|key, _| {
        if internal(key) {
            warnings.add_text(format!("Removed unexpected internal key in module return: {key}"));
        }
        !internal(key)
    });
}

/// Removes reserved keys at any depth, as Ansible does before it shows a result.
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
