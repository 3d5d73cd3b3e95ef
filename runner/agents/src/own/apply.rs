//! The tool by which a client makes the changes of a plan.

use modbox_argument_spec::OptionType;
use modbox_python_json::{Dict, Value};

use crate::own::definition::{required, tool};
use crate::tool::{Reach, Tool};

/// Name of the tool that makes the changes of a plan.
pub const APPLY: &str = "modbox_apply";

/// Returns the tool by which a client makes the changes of a plan. Its arguments repeat the changes, since a client shows its person
/// nothing but arguments.
#[must_use]
pub fn apply_tool() -> Tool {
    let plan = required(OptionType::Str, "The plan, as the answer of the planned call has it.");
    let changes = required(OptionType::List, "The changes of the plan, as that answer lists them.");
    Tool {
        title: "Make planned changes".to_owned(),
        description: "Makes the changes of a call whose status was `planned`: all of them, or none if a file was changed meanwhile."
            .to_owned(),
        reach: Reach { changes: true, leaves: false },
        ..tool(APPLY, [("plan", plan), ("changes", changes)])
    }
}

/// Returns the plan and the changes of a call of that tool.
#[must_use]
pub fn apply_arguments(arguments: &Dict) -> Option<(String, Vec<String>)> {
    let plan = arguments.get("plan")?.as_str()?.to_owned();
    let changes = arguments.get("changes").and_then(Value::as_list)?;
    Some((plan, changes.iter().map(|change| change.as_str().map(str::to_owned)).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    fn dict(text: &str) -> Dict {
        let Value::Dict(arguments) = decode(text).unwrap() else { panic!("an object") };
        arguments
    }

    #[test]
    fn a_plan_is_made_by_its_name_and_its_changes() {
        let tool = apply_tool();
        assert_eq!(tool.input_schema["required"], serde_json::json!(["plan", "changes"]));
        let good = dict(r#"{"plan": "p", "changes": ["modified /x", "created /y"]}"#);
        assert_eq!(tool.mistakes(&good), Vec::<String>::new());
        let expect = ("p".to_owned(), vec!["modified /x".to_owned(), "created /y".to_owned()]);
        assert_eq!(apply_arguments(&good), Some(expect));
        for wrong in [r#"{}"#, r#"{"plan": "p"}"#, r#"{"plan": "p", "changes": [], "x": 1}"#] {
            assert!(!tool.mistakes(&dict(wrong)).is_empty(), "{wrong}");
        }
        assert_eq!(apply_arguments(&dict(r#"{"plan": "p", "changes": [1]}"#)), None);
    }
}
