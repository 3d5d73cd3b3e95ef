//! Typed arguments: a struct says which options there are, and is filled with what was given.
//!
//! `#[derive(Args)]` writes the implementations. Which type of option a field is, and what else that says about the option, its
//! type knows: [`OptionValue`]. The text of the spec is put together by the compiler, from [`Piece`]s.

mod pieces;
mod values;

use modbox_python_json::{ConvertError, Dict, Value};

pub use self::pieces::{Extent, Piece, first, join, length};

/// A struct whose fields are options. Derive it.
///
/// The table of types and the keys of `#[arg(…)]` and `#[args(…)]` are in the crate's README.
///
/// ```
/// use modbox_sdk::{Args, Choice};
///
/// #[derive(Args)]
/// #[args(required_if("state", "present", ["content"]))]
/// struct Text {
///     /// The file.
///     #[arg(access = "write", alias = "dest")]
///     path: std::path::PathBuf,
///     content: Option<String>,
///     #[arg(default = "present")]
///     state: State,
/// }
///
/// #[derive(Choice)]
/// enum State {
///     Present,
///     Absent,
/// }
/// ```
///
/// What makes no sense does not compile, and the error names the field: a key that there is not,
///
/// ```compile_fail
/// #[derive(modbox_sdk::Args)]
/// struct Text {
///     #[arg(acess = "write")]
///     path: std::path::PathBuf,
/// }
/// ```
///
/// access to what is no path,
///
/// ```compile_fail
/// #[derive(modbox_sdk::Args)]
/// struct Text {
///     #[arg(access = "write")]
///     path: String,
/// }
/// ```
///
/// a default of another type, or that is none of the choices,
///
/// ```compile_fail
/// #[derive(modbox_sdk::Args)]
/// struct Text {
///     #[arg(default = "yes")]
///     force: bool,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(modbox_sdk::Args)]
/// struct Text {
///     #[arg(default = "gone")]
///     state: State,
/// }
/// #[derive(modbox_sdk::Choice)]
/// enum State {
///     Present,
/// }
/// ```
///
/// and a type that is none for an option:
///
/// ```compile_fail
/// #[derive(modbox_sdk::Args)]
/// struct Text {
///     when: std::time::Duration,
/// }
/// ```
pub trait Args: Sized {
    /// The options, as the entries of a JSON object.
    const OPTIONS: &'static [Piece];

    /// The rules between the options, as further entries beside the object of options; each begins with a comma.
    const RULES: &'static str;

    /// The paragraphs of the doc comment, as a JSON list.
    const DESCRIPTION: &'static str;

    /// Takes the options out of arguments that were validated.
    ///
    /// # Errors
    ///
    /// A value that the spec allows and the field's type does not hold, such as 300 for a `u8`.
    fn fill(arguments: &mut Dict) -> Result<Self, ConvertError>;
}

/// A type that a field of [`Args`] may have: what option it makes, and how it comes from a value.
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

/// Takes one option out of arguments. For what derives [`Args`].
///
/// # Errors
///
/// A value that the type does not hold, with the option's name.
pub fn take<T: OptionValue>(arguments: &mut Dict, name: &str) -> Result<T, ConvertError> {
    let value = arguments.get_mut(name).map(std::mem::take).unwrap_or_default();
    T::from_value(value).map_err(|error| error.inside(name))
}

/// Returns the entries of a dict. For what derives [`Args`].
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

fn unfit(value: &Value, wanted: &str) -> ConvertError {
    ConvertError::new(format!("{} is not {wanted}", modbox_python_json::repr(value)))
}

/// Whether an option holds paths. For checks that the compiler makes.
#[must_use]
pub const fn is_path(option_type: &str, elements: &str) -> bool {
    is_one_of(option_type, &["path"]) || (is_one_of(option_type, &["list"]) && is_one_of(elements, &["path"]))
}

/// Whether a text is among others. For checks that the compiler makes.
#[must_use]
pub const fn is_one_of(text: &str, others: &[&str]) -> bool {
    let mut at = 0;
    while at < others.len() {
        if pieces::same(text, others[at]) {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether choices allow a text; no choices allow all. For checks that the compiler makes.
#[must_use]
pub const fn allows(choices: &[&str], text: &str) -> bool {
    choices.is_empty() || is_one_of(text, choices)
}
