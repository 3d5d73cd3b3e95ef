//! Why arguments of a task cannot be evaluated.

use modbox_template::TemplateError;
use modbox_yaml::Source;

/// Why arguments cannot be finalized.
#[derive(Debug)]
pub enum FinalizeError {
    /// The action takes no free form.
    FreeForm(Source),
    /// An argument cannot be evaluated.
    Argument {
        /// Its name.
        name: String,
        /// Its source.
        source: Source,
        /// Why.
        cause: TemplateError,
    },
    /// A template for all arguments is not a mapping.
    NotMapping {
        /// The template.
        source: Source,
        /// The type of its value.
        found: &'static str,
    },
}
