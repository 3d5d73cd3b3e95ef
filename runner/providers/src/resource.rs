//! Resources and changes: what providers print.

use std::collections::BTreeMap;

use modbox_contract::{Dict, Value};

use crate::metadata::{ENSURE, NAME};
use crate::text::Text;
use crate::value::AttributeValue;

/// Attributes with their values, without the name.
pub type Attributes = BTreeMap<String, AttributeValue>;

/// Resource of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub name: Text,
    /// Its other attributes.
    pub attributes: Attributes,
}

/// Change of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The attribute.
    pub attribute: String,
    /// Its value afterwards.
    pub is: AttributeValue,
    /// Its value before.
    pub was: AttributeValue,
}

impl Resource {
    /// Makes a resource without attributes.
    #[must_use]
    pub fn new(name: Text) -> Self {
        Self { name, attributes: Attributes::new() }
    }

    /// Returns whether the resource says that it does not exist.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.attributes.get(ENSURE).is_some_and(is_absent)
    }

    /// Returns the resource as an object: the name first, then the attributes by their names.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.to_dict().into()
    }

    pub(crate) fn to_dict(&self) -> Dict {
        let attributes = self.attributes.iter().map(|(name, value)| (name.clone(), value.to_value()));
        [(NAME.to_owned(), self.name.to_value())].into_iter().chain(attributes).collect()
    }
}

impl Change {
    /// Returns the change as an object.
    #[must_use]
    pub fn to_value(&self) -> Value {
        [("attr", Value::from(self.attribute.as_str())), ("is", self.is.to_value()), ("was", self.was.to_value())]
            .into()
    }
}

/// Returns whether a value of `ensure` means that the resource does not exist.
pub(crate) fn is_absent(ensure: &AttributeValue) -> bool {
    ensure.as_text().is_some_and(|text| *text == "absent")
}
