//! The value of `omit`: what holds it goes without the entry.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};

/// A placeholder that is dropped from lists and dicts.
#[derive(Debug)]
pub(crate) struct Omit;

impl Omit {
    pub(crate) fn value() -> Value {
        Value::from_object(Self)
    }

    pub(crate) fn is(value: &Value) -> bool {
        value.downcast_object_ref::<Self>().is_some()
    }
}

impl Object for Omit {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<<Omit>>")
    }
}
