//! `set_stats`: sets statistics of the run or of the host.

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::actions::values::set_fact::check_names;

/// Sets statistics.
///
/// # Errors
///
/// The task gives unknown arguments, or a name that variables cannot have.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_args(&["aggregate", "data", "per_host"])?;
    let data = match context.args.get("data") {
        None => Dict::new(),
        Some(Value::Dict(data)) => data.clone(),
        Some(_) => {
            let mut result = entry("failed", true);
            result.extend(entry("msg", "The 'data' option needs to be a dictionary/hash"));
            return Ok(result);
        }
    };
    check_names(context, data.keys())?;
    let stats: Dict = [
        ("data".to_owned(), Value::Dict(data)),
        ("per_host".to_owned(), Value::Bool(context.flag_of(&context.args, "per_host", false))),
        ("aggregate".to_owned(), Value::Bool(context.flag_of(&context.args, "aggregate", true))),
    ]
    .into_iter()
    .collect();
    let mut result = entry("changed", false);
    result.extend(entry("ansible_stats", stats));
    Ok(result)
}
