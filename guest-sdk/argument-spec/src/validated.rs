//! The result of a validation: the converted arguments, and the errors, warnings and deprecations in Ansible's words.

use indexmap::IndexSet;
use modbox_python_json::Dict;

use crate::spec::Removal;

/// The arguments after a validation, with its messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Validated {
    /// The arguments, converted and completed with defaults. The entries of aliases and unknown arguments stay.
    pub parameters: Dict,
    /// The errors, in order. Ansible shows the first. If there are none, the arguments fit.
    pub errors: Vec<ValidationError>,
    /// Messages to the caller that are not errors.
    pub warnings: Vec<String>,
    /// The given arguments that are deprecated.
    pub deprecations: Vec<Deprecation>,
    /// The secrets, which are masked in the module's output.
    pub no_log_values: IndexSet<String>,
    /// The unknown arguments, as dotted paths.
    pub unsupported: Vec<String>,
}

/// An error in the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// Which rule the arguments break; Ansible raises an exception of its own for each.
    pub kind: ErrorKind,
    /// The message, in Ansible's words.
    pub message: String,
}

/// The kinds of errors, each one of Ansible's exception classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The spec is wrong: an option is required and has a default (`AliasError`, since Ansible checks this while it
    /// reads aliases).
    Alias,
    /// The spec's aliases are not a list, and there are unknown arguments (`RequiredDefaultError`).
    RequiredDefault,
    /// Secrets could not be collected (`NoLogError`).
    NoLog,
    /// Several given options exclude each other (`MutuallyExclusiveError`).
    MutuallyExclusive,
    /// A required option is missing (`RequiredError`).
    Required,
    /// A value cannot be converted to the option's type (`ArgumentTypeError`).
    ArgumentType,
    /// An item cannot be converted to the list's element type (`ElementError`).
    Element,
    /// A value is not one of the choices (`ArgumentValueError`).
    ArgumentValue,
    /// Only some options of a group are given (`RequiredTogetherError`).
    RequiredTogether,
    /// A group needs one option, and none is given (`RequiredOneOfError`).
    RequiredOneOf,
    /// An option is missing that another option's value requires (`RequiredIfError`).
    RequiredIf,
    /// An option is missing that another option requires (`RequiredByError`).
    RequiredBy,
    /// Sub-options are not a dict (`SubParameterTypeError`).
    SubParameterType,
    /// Some arguments are unknown (`UnsupportedError`).
    Unsupported,
}

impl ErrorKind {
    /// Returns the name of Ansible's exception class.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Alias => "AliasError",
            Self::RequiredDefault => "RequiredDefaultError",
            Self::NoLog => "NoLogError",
            Self::MutuallyExclusive => "MutuallyExclusiveError",
            Self::Required => "RequiredError",
            Self::ArgumentType => "ArgumentTypeError",
            Self::Element => "ElementError",
            Self::ArgumentValue => "ArgumentValueError",
            Self::RequiredTogether => "RequiredTogetherError",
            Self::RequiredOneOf => "RequiredOneOfError",
            Self::RequiredIf => "RequiredIfError",
            Self::RequiredBy => "RequiredByError",
            Self::SubParameterType => "SubParameterTypeError",
            Self::Unsupported => "UnsupportedError",
        }
    }
}

/// A given argument or alias that is deprecated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deprecation {
    /// The message, in Ansible's words.
    pub message: String,
    /// When it will be removed.
    pub removal: Removal,
}
