//! The tool by which a client takes changes back.

use modbox_argument_spec::OptionType;
use modbox_python_json::Dict;

use crate::own::definition::{required, tool};
use crate::tool::{Reach, Tool};

/// Name of the tool that takes changes back.
pub const UNDO: &str = "modbox_undo";

/// Returns the tool by which a client takes back what one of its calls has changed. Like any other change, that is decided about.
#[must_use]
pub fn undo_tool() -> Tool {
    let run = required(OptionType::Str, "The run, as the answer of the call that changed something has it.");
    Tool {
        title: "Take changes back".to_owned(),
        description: "Takes back what a call has changed: all of it, or nothing if a file was changed meanwhile."
            .to_owned(),
        reach: Reach { changes: true, leaves: false },
        ..tool(UNDO, [("run", run)])
    }
}

/// Returns the run that a call of that tool names.
#[must_use]
pub fn undo_argument(arguments: &Dict) -> Option<&str> {
    arguments.get("run")?.as_str()
}
