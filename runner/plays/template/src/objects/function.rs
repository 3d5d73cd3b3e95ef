//! Functions that templates call by a global name.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum FunctionKind {
    Cycler,
    Dict,
    Joiner,
    Lipsum,
    Lookup,
    Namespace,
    Now,
    Query,
    Range,
    Undef,
}

/// A function of the engine.
#[derive(Debug)]
pub(crate) struct Function(pub(crate) FunctionKind);

impl Object for Function {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, _: &Value) -> Option<Value> {
        None
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<function {}>", self.0)
    }
}
