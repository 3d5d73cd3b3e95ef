//! Where `include`, `import` and `extends` find templates.

use std::fmt;
use std::sync::Arc;

use modbox_yaml::Source;

use crate::options::TemplateOptions;

/// A source of template files, given by the caller. It decides which files of the play's tree may be read.
pub trait TemplateFiles: Send + Sync {
    /// Returns the template of a name, or `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// The file may not be read, or cannot be.
    fn template(&self, name: &str) -> Result<Option<Source>, String>;
}

/// Template files, and the options that they have in common.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) files: Arc<dyn TemplateFiles>,
    pub(crate) options: TemplateOptions,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("options", &self.options).finish_non_exhaustive()
    }
}
