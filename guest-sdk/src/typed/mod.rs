//! Typed arguments: a struct declares the options, and is filled with the arguments.
//!
//! `#[derive(Args)]` writes the implementations. The type of a field determines the option's type; see [`OptionValue`].
//! The compiler joins the text of the spec from [`Piece`]s.

mod option_value;
mod pieces;
mod values;

use modbox_python_json::{ConvertError, Dict};

pub use self::option_value::{Choice, OptionValue, choice, dict, no_choice, take};
pub use self::pieces::{Extent, Piece, first, join, length};

/// A struct whose fields are options. Derive this trait.
///
/// The crate's README has the table of types, and the keys of `#[arg(…)]` and `#[args(…)]`.
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
///     #[arg(default = State::Present)]
///     state: State,
///     #[arg(default = PORT)]
///     port: u16,
/// }
///
/// const PORT: u16 = 8080;
///
/// #[derive(Choice)]
/// enum State {
///     Present,
///     Absent,
/// }
/// ```
///
/// A default is a literal, the name of a constant or of a choice, or a list of those.
///
/// Mistakes do not compile, and the error names the field. Examples are an unknown key,
///
/// ```compile_fail
/// #[derive(modbox_sdk::Args)]
/// struct Text {
///     #[arg(acess = "write")]
///     path: std::path::PathBuf,
/// }
/// ```
///
/// access to something that is not a path,
///
/// ```compile_fail
/// #[derive(modbox_sdk::Args)]
/// struct Text {
///     #[arg(access = "write")]
///     path: String,
/// }
/// ```
///
/// a default of another type, or one that is not a choice,
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
/// and a type that options cannot have:
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

    /// The rules between the options: further entries next to the object of options. Each begins with a comma.
    const RULES: &'static str;

    /// The paragraphs of the doc comment, as a JSON list.
    const DESCRIPTION: &'static str;

    /// Takes the options out of validated arguments.
    ///
    /// # Errors
    ///
    /// The spec allows a value that the field's type cannot hold, such as 300 for a `u8`.
    fn fill(arguments: &mut Dict) -> Result<Self, ConvertError>;
}

/// Returns whether an option holds paths. For checks at compile time.
#[must_use]
pub const fn is_path(option_type: &str, elements: &str) -> bool {
    is_one_of(option_type, &["path"]) || (is_one_of(option_type, &["list"]) && is_one_of(elements, &["path"]))
}

/// Returns whether a text is among others. For checks at compile time.
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

/// Returns whether choices allow a text; without choices, all are allowed. For checks at compile time.
#[must_use]
pub const fn allows(choices: &[&str], text: &str) -> bool {
    choices.is_empty() || is_one_of(text, choices)
}
