//! Names: of the template, of variables, and of globals.

use minijinja::Value;

use super::interpreter::Interpreter;
use crate::marker::{Cause, Run, Stop};
use crate::objects::{Method, SelfReference};

impl Interpreter<'_> {
    /// Returns the value of a name. A name that does not exist is a marker.
    pub(super) fn name(&self, name: &str) -> Run<Value> {
        if let Some(value) = self.frame.get(name) {
            return Ok(value);
        }
        if let Some(value) = self.variable(name).filter(|_| !self.frame.is_isolated()) {
            return Ok(value);
        }
        if let Some(value) = self.evaluation.machine.globals.get(name) {
            return Ok(value.clone());
        }
        match name {
            "self" => Ok(Value::from_object(SelfReference)),
            "super" if self.block.is_some() => {
                Ok(Value::from_object(Method { receiver: Value::from_object(SelfReference), name: name.into() }))
            }
            _ => Ok(self.undefined_name(&Value::from(name), format!("'{name}' is undefined"))),
        }
    }

    /// Returns the value of a variable, which is the same each time.
    pub(crate) fn variable(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.evaluation.known_variable(name) {
            return Some(value);
        }
        let value = self.evaluation.slot_value(self.evaluation.scope.get(name)?);
        self.evaluation.keep_variable(name, &value);
        Some(value)
    }

    /// Makes the failure of looking for a variable by its name.
    pub(crate) fn missing_variable(&self, name: &str) -> Stop {
        self.stop(Cause::Undefined, format!("No variable named '{name}' was found."))
    }
}
