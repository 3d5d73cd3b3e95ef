//! Typed arguments: a struct says which options there are, and is filled with what was given.
//!
//! `#[derive(Args)]` writes the implementations. Which type of option a field is, and what else that says about the option, its
//! type knows: [`OptionValue`]. The text of the spec is put together by the compiler, from [`Piece`]s.

mod option_value;
mod pieces;
mod values;

use modbox_python_json::{ConvertError, Dict};

pub use self::option_value::{OptionValue, dict, no_choice, take};
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
