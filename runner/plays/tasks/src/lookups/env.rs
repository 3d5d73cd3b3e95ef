//! `env`: variables of the environment.

use modbox_template::{LookupError, Value};

use super::call::Call;
use super::options::failed;

pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut found = Vec::new();
    for term in call.texts()? {
        let name = term.split_whitespace().next().ok_or_else(|| failed("expected the name of a variable"))?;
        let value = call.host.variable(name)?.map(Value::from);
        let value = value.or_else(|| call.options.value("default").cloned()).unwrap_or_else(|| Value::from(""));
        if value.is_undefined() {
            return Err(LookupError::Undefined(format!("The environment variable '{name}' is not set.")));
        }
        found.push(value);
    }
    Ok(found)
}
