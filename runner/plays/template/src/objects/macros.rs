//! Macros, and the bodies of call blocks.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};
use modbox_yaml::Source;

use crate::blocks::Blocks;
use crate::compile::{MacroDefinition, Program};
use crate::frame::Frame;

/// A macro with the scope that it was defined in.
pub(crate) struct Macro {
    pub(crate) definition: Arc<MacroDefinition>,
    pub(crate) source: Source,
    pub(crate) program: Arc<Program>,
    pub(crate) frame: Arc<Frame>,
    pub(crate) blocks: Arc<Blocks>,
    /// The value of the `autoescape` block that it was defined in.
    pub(crate) autoescape: Value,
}

impl fmt::Debug for Macro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Macro").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

impl Object for Macro {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let definition = &self.definition;
        match key.as_str()? {
            "name" => Some(Value::from(definition.name.clone())),
            "arguments" => Some(definition.parameters.iter().map(|(name, _)| Value::from(name.clone())).collect()),
            "catch_kwargs" => Some(Value::from(definition.takes_keywords)),
            "catch_varargs" => Some(Value::from(definition.takes_more)),
            "caller" => Some(Value::from(definition.takes_caller)),
            _ => None,
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.definition.name {
            // The body of a call block.
            "caller" => f.write_str("<Macro anonymous>"),
            name => write!(f, "<Macro '{name}'>"),
        }
    }
}
