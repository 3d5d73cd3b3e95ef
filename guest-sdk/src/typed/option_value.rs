//! The types that options have: what a type says about its option, and how it is made of a value.

use modbox_python_json::{ConvertError, Dict, Value};

use super::pieces::Piece;

/// A type that a field of [`Args`](super::Args) may have: what option it makes, and how it comes from a value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type for an option",
    note = "options are text, numbers, `bool`, `PathBuf`, `Value`, `Dict`, enums that derive `Choice`, structs that derive `Args`, \
            and `Vec` or `Option` of those"
)]
pub trait OptionValue: Sized {
    /// Ansible's name of the type.
    const TYPE: &'static str;

    /// Further entries of the option; each begins with a comma.
    const MORE: &'static [Piece] = &[];

    /// Whether the option has to be given when there is no default.
    const REQUIRED: bool = true;

    /// Ansible's name of the type of a list's items.
    const ELEMENTS: &'static str = "";

    /// The choices; none for all.
    const CHOICES: &'static [&'static str] = &[];

    /// Takes a value that was validated.
    ///
    /// # Errors
    ///
    /// A value that the type does not hold.
    fn from_value(value: Value) -> Result<Self, ConvertError>;
}

/// Takes one option out of arguments. For what derives [`Args`](super::Args).
///
/// # Errors
///
/// A value that the type does not hold, with the option's name.
pub fn take<T: OptionValue>(arguments: &mut Dict, name: &str) -> Result<T, ConvertError> {
    let value = arguments.get_mut(name).map(std::mem::take).unwrap_or_default();
    T::from_value(value).map_err(|error| error.inside(name))
}

/// Returns the entries of a dict. For what derives [`Args`](super::Args).
///
/// # Errors
///
/// Another value.
pub fn dict(value: Value) -> Result<Dict, ConvertError> {
    match value {
        Value::Dict(entries) => Ok(entries),
        other => Err(unfit(&other, "a dict")),
    }
}

/// Returns why a value is none of the choices. For what derives `Choice`.
#[must_use]
pub fn no_choice(value: &Value, choices: &[&str]) -> ConvertError {
    unfit(value, &format!("one of {}", choices.join(", ")))
}

/// Returns the error about a value that a type does not hold.
pub(super) fn unfit(value: &Value, wanted: &str) -> ConvertError {
    ConvertError::new(format!("{} is not {wanted}", modbox_python_json::repr(value)))
}
