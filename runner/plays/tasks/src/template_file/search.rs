//! Where a template finds those that it includes, imports and extends.

use modbox_template::TemplateFiles;
use modbox_yaml::{Source, template_file};

use crate::files::{FileError, FileKind, SharedFiles};
use crate::paths;

/// Folders of templates, most preferred first.
pub struct TemplateSearch {
    files: SharedFiles,
    folders: Vec<String>,
}

impl std::fmt::Debug for TemplateSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemplateSearch").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl TemplateSearch {
    /// Returns a search in folders as they are.
    #[must_use]
    pub fn new(files: SharedFiles, folders: Vec<String>) -> Self {
        Self { files, folders }
    }
}

/// Returns folders, each after its folder `templates`.
#[must_use]
pub fn with_templates(folders: &[String]) -> Vec<String> {
    folders.iter().flat_map(|folder| [paths::join(folder, "templates"), folder.clone()]).collect()
}

impl TemplateFiles for TemplateSearch {
    /// Returns a template. As in Jinja, a name with `..` leads nowhere, and a leading slash does not count.
    fn template(&self, name: &str) -> Result<Option<Source>, String> {
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.is_empty() || parts.contains(&"..") {
            return Ok(None);
        }
        let name = parts.join("/");
        for folder in &self.folders {
            let path = paths::join(folder, &name);
            match self.files.kind(&path) {
                Ok(Some(FileKind::File)) => {
                    let text = self.files.source_text(&path).map_err(|error| error.to_string())?;
                    return Ok(Some(template_file(&text, &path)));
                }
                Ok(_) | Err(FileError::NotFound { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::memory_files::MemoryFiles;

    #[test]
    fn templates_are_found_in_folders_and_nowhere_else() {
        let files = MemoryFiles::new(&[("/p/templates/a.j2", "A"), ("/p/b/c.j2", "C"), ("/secret", "S")]);
        let search = TemplateSearch::new(Arc::new(files), with_templates(&["/p".to_owned()]));
        let check = |name: &str, expect: Option<&str>| {
            let found = search.template(name).unwrap();
            assert_eq!(found.as_ref().and_then(|source| source.as_text()).map(|text| &**text), expect, "{name}");
        };
        check("a.j2", Some("A"));
        check("/a.j2", Some("A"));
        check("b/c.j2", Some("C"));
        check("../secret", None);
        check("b/../../secret", None);
        check("", None);
    }
}
