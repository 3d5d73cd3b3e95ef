//! The result of a validation: the converted arguments, and the errors, warnings and deprecations in Ansible's words.

use indexmap::IndexSet;
use modbox_python_json::Dict;

use crate::spec::Removal;

/// The arguments after a validation, and everything that was found about them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Validated {
    /// The arguments, converted and completed with defaults. Aliases keep their entries beside the
    /// option's own, unknown arguments stay.
    pub parameters: Dict,
    /// What is wrong, in order; Ansible shows the first. Empty means that the arguments fit.
    pub errors: Vec<ValidationError>,
    /// What the caller should know though nothing is wrong.
    pub warnings: Vec<String>,
    /// Which arguments were given that will go away.
    pub deprecations: Vec<Deprecation>,
    /// The secrets, to be masked in everything that leaves the module.
    pub no_log_values: IndexSet<String>,
    /// The arguments that the spec does not know, as dotted paths.
    pub unsupported: Vec<String>,
}

/// One thing wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// What sort of thing it is.
    pub kind: ErrorKind,
    /// The message, in Ansible's words.
    pub message: String,
}

/// The sorts of errors, each one of Ansible's exception classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The spec itself is wrong: an option that is required and has a default (`AliasError`, since Ansible looks at that
    /// where it looks at aliases).
    Alias,
    /// The spec's aliases are no list, and there are unknown arguments (`RequiredDefaultError`).
    RequiredDefault,
    /// Secrets could not be collected (`NoLogError`).
    NoLog,
    /// Several options that exclude each other (`MutuallyExclusiveError`).
    MutuallyExclusive,
    /// A required option is missing (`RequiredError`).
    Required,
    /// A value cannot become the option's type (`ArgumentTypeError`).
    ArgumentType,
    /// An item cannot become the list's element type (`ElementError`).
    Element,
    /// A value is none of the choices (`ArgumentValueError`).
    ArgumentValue,
    /// Some of a group that is all or none (`RequiredTogetherError`).
    RequiredTogether,
    /// None of a group that needs one (`RequiredOneOfError`).
    RequiredOneOf,
    /// Missing because of another option's value (`RequiredIfError`).
    RequiredIf,
    /// Missing because of another option (`RequiredByError`).
    RequiredBy,
    /// Sub-options that are no dict (`SubParameterTypeError`).
    SubParameterType,
    /// Arguments that the spec does not know (`UnsupportedError`).
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

/// An argument or alias that will go away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deprecation {
    /// The message, in Ansible's words.
    pub message: String,
    /// When it goes away.
    pub removal: Removal,
}
