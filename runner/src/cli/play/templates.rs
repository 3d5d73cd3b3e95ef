//! Template files that `include`, `import` and `extends` name: beside the template, and in the play's tree.

use std::path::{Path, PathBuf};

use modbox_tasks::files::{FileError, PlayFiles};
use modbox_template::TemplateFiles;
use modbox_yaml::{Source, template_file};

use crate::cli::play::tree::PlayTree;

/// Template files in the folder of a template.
pub(crate) struct TemplateFolder {
    folder: PathBuf,
    tree: PlayTree,
}

impl TemplateFolder {
    /// Returns the files of a folder, through a tree that holds it.
    pub(crate) fn new(folder: PathBuf, tree: PlayTree) -> Self {
        Self { folder, tree }
    }
}

impl TemplateFiles for TemplateFolder {
    fn template(&self, name: &str) -> Result<Option<Source>, String> {
        let path = self.folder.join(Path::new(name)).display().to_string();
        match self.tree.text(&path) {
            Ok(text) => Ok(Some(template_file(&text, &path))),
            Err(FileError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}
