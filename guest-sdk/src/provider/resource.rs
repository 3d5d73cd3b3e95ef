//! The types of a provider's functions: resources, updates and changes.
//!
//! Attributes are text here; `value` has their types.

use crate::result::Failure;

/// A resource: its name, and the attributes that are known or set. [`provider!`](crate::provider!) implements it.
pub trait Resource: Clone + Sized {
    /// Returns a resource of which only the name is known.
    fn named(name: String) -> Self;

    /// Returns the name.
    fn name(&self) -> &str;

    /// Sets an attribute from its text.
    ///
    /// # Errors
    ///
    /// An unknown attribute, or a text that is not a value of its type; the error says what is wrong.
    fn set(&mut self, attribute: &str, text: &str) -> core::result::Result<(), String>;

    /// Returns the known attributes and their texts, in the order of the declaration.
    fn attributes(&self) -> Vec<(&'static str, String)>;
}

/// Request to change a resource.
#[derive(Debug, Clone)]
pub struct Update<R> {
    /// The resource as it is; `None` if it is unknown.
    pub is: Option<R>,
    /// Its name, and the attributes to set.
    pub should: R,
    /// Whether nothing may change, and the answer says what would.
    pub noop: bool,
}

/// Answer to an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateAnswer {
    /// Every attribute that differed was changed.
    Everything,
    /// These attributes were changed, and no others.
    Changes(Vec<Change>),
    /// The resource does not exist and cannot be created.
    Unknown,
}

/// Change of one attribute, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The name of the attribute that was changed.
    pub attribute: String,
    /// Its value before, if it had one.
    pub was: Option<String>,
    /// Its value now.
    pub is: String,
}

/// Result of the functions of a provider.
pub type Result<T> = core::result::Result<T, Failure>;
