//! Completes a result: adds the facts of its file, `invocation`, warnings and deprecations, and masks secrets.

use modbox_python_json::{Dict, Value};

use crate::files::facts::add_file_facts;
use crate::module::{Deprecation, Module};

/// Completes a result with what the run collected, and masks the secrets in it.
pub(crate) fn complete(module: &Module, mut entries: Dict) -> Dict {
    add_file_facts(&mut entries);
    // Since ansible-core 2.21 on request only (`AnsibleModule._return_formatted`).
    if module.internal.inject_invocation == Some(false) {
        entries.shift_remove("invocation");
    } else {
        let invocation = Value::from([("module_args", module.parameters.clone())]);
        entries.entry("invocation".to_owned()).or_insert(invocation);
    }
    let lost = crate::replacement::take_warnings();
    let warnings = module.warnings.iter().chain(&lost).map(|warning| warning.as_str().into());
    merge(&mut entries, "warnings", warnings.collect());
    merge(&mut entries, "deprecations", module.deprecations.iter().map(deprecation).collect());
    module.secrets.mask_dict(entries)
}

/// Puts the collected items before those that the result has under the same key, each once, as ansible-core does with
/// the warnings of `exit_json`.
fn merge(entries: &mut Dict, key: &str, mut all: Vec<Value>) {
    let more = match entries.shift_remove(key) {
        Some(Value::List(more)) => more,
        Some(Value::Null) | None => Vec::new(),
        Some(one) => vec![one],
    };
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if !all.is_empty() {
        entries.insert(key.to_owned(), Value::List(all));
    }
}

fn deprecation(deprecation: &Deprecation) -> Value {
    let mut entries = Dict::from_iter([("msg".to_owned(), Value::from(deprecation.message.as_str()))]);
    let others = [
        ("version", &deprecation.version),
        ("date", &deprecation.date),
        ("collection_name", &deprecation.collection_name),
    ];
    for (key, text) in others {
        entries.extend(text.as_deref().map(|text| (key.to_owned(), Value::from(text))));
    }
    Value::Dict(entries)
}
