//! Tells which arguments of a task's module are not only the caller's word: they were made from results of modules, or,
//! under `--strict`, from text outside of the play's folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_policy::normalize;
use modbox_run::{ArgumentOrigin, Distrust};
use modbox_tasks::run::host::ModuleCall;
use modbox_template::{Origin, Provenance};

use crate::cli::play::files::tree::PlayTree;

/// Maximum number of origins that are named.
const MAX_NAMED: usize = 3;

/// Judge of the origins of arguments.
#[derive(Debug)]
pub(crate) struct ArgumentTrust {
    tree: Arc<PlayTree>,
    /// The caller's folders; `None` unless text elsewhere is not trusted.
    strict: Option<CallerFolders>,
}

/// The folders whose text is the caller's own, and folders in them whose text is not.
#[derive(Debug)]
pub(crate) struct CallerFolders {
    /// Folders of playbooks.
    pub(crate) own: Vec<PathBuf>,
    /// Folders of roles and collections from elsewhere.
    pub(crate) foreign: Vec<PathBuf>,
}

impl CallerFolders {
    fn hold(&self, file: &str) -> bool {
        let file = normalize(Path::new(file));
        let depth = |folders: &[PathBuf]| {
            let around = folders.iter().filter(|folder| file.starts_with(folder));
            around.map(|folder| folder.components().count()).max()
        };
        depth(&self.own).is_some_and(|own| depth(&self.foreign).is_none_or(|foreign| own >= foreign))
    }
}

impl ArgumentTrust {
    /// Creates a judge. With `strict`, text outside of the caller's folders is not trusted.
    pub(crate) fn new(tree: Arc<PlayTree>, strict: Option<CallerFolders>) -> Self {
        Self { tree, strict }
    }

    /// Returns the origins of the arguments of a call that are not only the caller's word.
    pub(crate) fn origins(&self, call: &ModuleCall) -> Vec<ArgumentOrigin> {
        let mut found = Vec::new();
        for (argument, provenance) in &call.provenance {
            let mut add = |distrust, origins: Vec<String>| {
                if !origins.is_empty() {
                    let (argument, made_from) = (argument.clone(), listed(&origins));
                    found.push(ArgumentOrigin { argument, made_from, distrust });
                }
            };
            add(Distrust::Outside, self.outside(provenance));
            add(Distrust::Results, self.results(provenance));
        }
        found
    }

    fn results(&self, provenance: &Provenance) -> Vec<String> {
        let shown = |origin: &Origin| match origin {
            Origin::Play(position) if self.tree.is_written(&position.file) => {
                Some(format!("text at {position}, which a task may have written"))
            }
            origin => origin.is_result().then(|| origin.to_string()),
        };
        provenance.iter().filter_map(shown).collect()
    }

    fn outside(&self, provenance: &Provenance) -> Vec<String> {
        let Some(folders) = &self.strict else { return Vec::new() };
        let shown = |origin: &Origin| match origin {
            Origin::Play(position) if !folders.hold(&position.file) => Some(origin.to_string()),
            _ => None,
        };
        provenance.iter().filter_map(shown).collect()
    }
}

/// Returns the first origins as a text.
fn listed(origins: &[String]) -> String {
    let mut text = origins.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(" and ");
    if let Some(more) = origins.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_folder_decides() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        let folders =
            CallerFolders { own: paths(&["/people/u", "/srv/play"]), foreign: paths(&["/people/u/.ansible/roles"]) };
        for (file, expect) in [
            ("/people/u/play.yml", true),
            ("/people/u/roles/a/tasks/main.yml", true),
            ("/people/u/.ansible/roles/a/tasks/main.yml", false),
            ("/people/u/x/../.ansible/roles/a", false),
            ("/srv/play/x", true),
            ("/usr/share/ansible/roles/x", false),
            ("", false),
        ] {
            assert_eq!(folders.hold(file), expect, "{file}");
        }
    }

    #[test]
    fn many_origins_are_counted() {
        let origins: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        assert_eq!(listed(&origins), "a and b and c and 2 more");
        assert_eq!(listed(&origins[..2]), "a and b");
    }
}
