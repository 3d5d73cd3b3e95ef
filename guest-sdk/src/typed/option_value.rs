//! The types of options: the option that a type declares, and the conversion from a value.

use modbox_python_json::{ConvertError, Dict, Value};

use super::pieces::Piece;

/// A type for a field of [`Args`](super::Args): the option that it declares, and the conversion from a value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of an option",
    note = "options are text, numbers, `bool`, `PathBuf`, `Value`, `Dict`, enums that derive `Choice`, structs that derive `Args`, \
            and `Vec` or `Option` of those"
)]
pub trait OptionValue: Sized {
    /// Ansible's name of the type.
    const TYPE: &'static str;

    /// Further entries of the option. Each begins with a comma.
    const MORE: &'static [Piece] = &[];

    /// Whether the option is required if it has no default.
    const REQUIRED: bool = true;

    /// Ansible's name of the type of a list's items.
    const ELEMENTS: &'static str = "";

    /// The choices. An empty list allows all values.
    const CHOICES: &'static [&'static str] = &[];

    /// Converts a value that was validated.
    ///
    /// # Errors
    ///
    /// The type cannot hold the value.
    fn from_value(value: Value) -> Result<Self, ConvertError>;
}

/// An enum whose variants are choices. Derive this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no choices, so that a name cannot be its default",
    label = "write the value itself, or derive `Choice` for `{Self}`",
    note = "names can be defaults of options that are text, paths, `bool`, integers or enums that derive `Choice`"
)]
pub trait Choice: OptionValue {}

/// Returns the text of a choice that is the default of an option. For derived [`Args`](super::Args).
#[must_use]
pub const fn choice<T: Choice>(text: &'static str) -> &'static str {
    text
}

/// Takes one option out of arguments. For derived [`Args`](super::Args).
///
/// # Errors
///
/// The type cannot hold the value; the error names the option.
pub fn take<T: OptionValue>(arguments: &mut Dict, name: &str) -> Result<T, ConvertError> {
    let value = arguments.get_mut(name).map(std::mem::take).unwrap_or_default();
    T::from_value(value).map_err(|error| error.inside(name))
}

/// Returns the entries of a dict. For derived [`Args`](super::Args).
///
/// # Errors
///
/// The value is not a dict.
pub fn dict(value: Value) -> Result<Dict, ConvertError> {
    match value {
        Value::Dict(entries) => Ok(entries),
        other => Err(unfit(&other, "a dict")),
    }
}

/// Returns the error for a value that is not one of the choices. For derived `Choice`.
#[must_use]
pub fn no_choice(value: &Value, choices: &[&str]) -> ConvertError {
    unfit(value, &format!("one of {}", choices.join(", ")))
}

/// Returns the error for a value that a type cannot hold.
pub(super) fn unfit(value: &Value, wanted: &str) -> ConvertError {
    ConvertError::new(format!("{} is not {wanted}", modbox_python_json::repr(value)))
}
