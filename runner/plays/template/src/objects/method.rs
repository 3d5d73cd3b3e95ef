//! A method of a value, before it is called.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};

/// `x.upper`
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) receiver: Value,
    pub(crate) name: Arc<str>,
}

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let receiver = modbox_jinja::values::type_name(&self.receiver);
        write!(f, "<built-in method {} of {receiver} object>", self.name)
    }
}
