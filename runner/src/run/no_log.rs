//! What is shown of a result under `no_log`.

use modbox_python_json::Value;

use crate::contract::ModuleResult;

/// What such a result is replaced by (ansible-core 2.19, `module_response_deepcopy` and `CENSORED`).
pub const CENSORED: &str =
    "the output has been hidden due to the fact that 'no_log: true' was specified for this result";

/// Returns a result that says how the module ended, and nothing else.
#[must_use]
pub fn censored(result: &ModuleResult) -> Value {
    let dict = result.as_dict();
    let mut shown = vec![("censored".to_owned(), Value::from(CENSORED))];
    for key in ["changed", "failed", "skipped"] {
        shown.extend(dict.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Value::Dict(shown.into_iter().collect())
}
