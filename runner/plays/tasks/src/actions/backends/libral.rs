//! `libral`: finds, lists or updates resources of a provider of libral.
//!
//! `type` chooses the provider. With `name` and other arguments, which are attributes, the resource is updated; with `name`
//! alone it is looked for; with neither, all are listed. `attributes` is for attributes that have the name of an argument
//! of the action.

use modbox_python_json::{Dict, Value};

use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;

/// The argument with the type of the resource, or the full name of a provider.
const TYPE: &str = "type";

/// The argument with further attributes.
const ATTRIBUTES: &str = "attributes";

/// The argument with the name of the resource.
const NAME: &str = "name";

/// Asks the provider.
///
/// # Errors
///
/// An argument is wrong, or the provider cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let mut args = std::mem::take(&mut context.args);
    let provider = match args.shift_remove(TYPE) {
        Some(Value::Str(provider)) if !provider.is_empty() => provider,
        None | Some(Value::Null) => {
            let message = "missing required argument: type, such as `service` or `service::systemd`";
            return Err(ActionError::failed(message));
        }
        Some(other) => return Err(ActionError::failed(format!("type must be a string, not {}", other.type_name()))),
    };
    merge_attributes(&mut args)?;
    if !args.contains_key(NAME)
        && let Some(attribute) = args.keys().next()
    {
        let message = format!("missing required argument: name, of the resource whose `{attribute}` is to be set");
        return Err(ActionError::failed(message));
    }
    context.manage_resource(&provider, args)
}

/// Moves what is in `attributes` to the other attributes.
fn merge_attributes(args: &mut Dict) -> Result<(), ActionError> {
    let further = match args.shift_remove(ATTRIBUTES) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Dict(further)) => further,
        Some(other) => {
            return Err(ActionError::failed(format!("attributes must be a dictionary, not {}", other.type_name())));
        }
    };
    for (attribute, value) in further {
        if args.contains_key(&attribute) {
            return Err(ActionError::failed(format!("`{attribute}` is given twice, also in `attributes`; leave one")));
        }
        args.insert(attribute, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::actions::table;
    use crate::actions::tests_of_modules::{fails, task};

    #[test]
    fn libral_gives_the_host_a_provider_a_name_and_attributes() {
        let ran = task("libral: {type: mount, name: /m, attributes: {type: ext4}, ensure: '{{ v }}'}");
        assert_eq!(
            (ran.calls().as_str(), ran.args().as_str()),
            ("mount", r#"{"name": "/m", "ensure": "val", "type": "ext4"}"#)
        );
        assert_eq!(ran.text("resource"), r#"{"name": "n"}"#);
        assert_eq!(task("libral: type=mount::x name=/m").args(), r#"{"name": "/m"}"#);
        assert_eq!(task("libral: {type: mount}").args(), "{}");
        for (text, part) in [
            ("libral: {name: x}", "missing required argument: type, such as"),
            ("libral: {type: '', name: x}", "type must be a string"),
            ("libral: {type: [x], name: x}", "type must be a string, not list"),
            ("libral: {type: mount, ensure: x}", "missing required argument: name, of the resource whose `ensure`"),
            ("libral: {type: mount, name: x, attributes: x}", "attributes must be a dictionary, not str"),
            ("libral: {type: mount, name: x, a: 1, attributes: {a: 1}}", "`a` is given twice"),
        ] {
            fails(text, "", part);
        }
        // It has no name in a collection of Ansible.
        assert!(table::find("ansible.builtin.libral").is_none());
    }
}
