//! Imported templates, and `self`.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};

/// What `{% import %}` gives: the names that a template set, and what it emitted.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) name: Arc<str>,
    pub(crate) names: Vec<(Arc<str>, Value)>,
    pub(crate) body: Vec<Value>,
}

impl Object for Module {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        self.names.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.clone())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<TemplateModule '{}'>", self.name)
    }
}

/// `self`, whose attributes are the blocks of the template.
#[derive(Debug)]
pub(crate) struct SelfReference;

impl Object for SelfReference {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<TemplateReference None>")
    }
}
