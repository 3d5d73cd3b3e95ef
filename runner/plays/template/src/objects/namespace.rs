//! `namespace(x=1)`: attributes that blocks and loops can set for the template around them.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};

use crate::frame::Frame;

/// Attributes that can be set.
#[derive(Debug)]
pub(crate) struct Namespace(pub(crate) Arc<Frame>);

impl Object for Namespace {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<Namespace ")?;
        let dict = Value::from_pairs(self.0.all().into_iter().map(|(name, value)| (Value::from(name), value)));
        f.write_str(&modbox_jinja::values::repr(&dict).map_err(|_| fmt::Error)?)?;
        f.write_str(">")
    }
}
