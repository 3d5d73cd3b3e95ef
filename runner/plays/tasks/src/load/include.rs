//! Finding the file that `import_tasks` or `include_tasks` names: relative to the files around it, the role and the play.

use crate::files::PlayFiles;
use crate::load::find;
use crate::model::frame::{Frame, FrameKind};
use crate::paths;

/// Where the file of an import or include is looked for.
#[derive(Debug)]
pub struct IncludeSearch<'a> {
    /// The play's files.
    pub files: &'a dyn PlayFiles,
    /// What the task is in.
    pub frame: &'a Frame,
    /// The folder of the playbook.
    pub base: &'a str,
    /// Whether the task is a handler.
    pub handler: bool,
    /// Whether the task is read while the play runs.
    pub dynamic: bool,
}

impl std::fmt::Debug for dyn PlayFiles + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlayFiles")
    }
}

impl IncludeSearch<'_> {
    /// Returns the path of the file, or the path where it was looked for last.
    #[must_use]
    pub fn find(&self, name: &str) -> String {
        let kind = if self.handler { "handlers" } else { "tasks" };
        let role = self.frame.role().map(|role| role.path.as_str());
        let mut below: Option<String> = None;
        for folder in self.including() {
            let folder = match below.take() {
                Some(inner) if !inner.starts_with('/') => paths::join(folder, &inner),
                _ => folder.to_owned(),
            };
            let found = self.candidate(role, kind, &folder, name);
            below = Some(folder);
            if let Some(found) = found {
                return found;
            }
        }
        let candidates = match role {
            Some(role) => find::relative(self.files, role, kind, name, self.base, self.dynamic),
            None => vec![paths::normalize(&paths::join(self.base, name))],
        };
        find::first_or_last(self.files, &candidates).unwrap_or_default()
    }

    /// Returns the path of the file relative to a file around the task, if it exists.
    fn candidate(&self, role: Option<&str>, kind: &str, folder: &str, name: &str) -> Option<String> {
        let exists = |path: &String| self.files.exists(path);
        let Some(role) = role else {
            let candidates = find::relative(self.files, self.base, folder, name, self.base, false);
            return find::first_or_last(self.files, &candidates).filter(exists);
        };
        let nested = paths::join(&paths::join(role, kind), folder);
        let folders = if self.dynamic { vec![role.to_owned(), nested] } else { vec![nested] };
        folders.iter().find_map(|folder| {
            let candidates = find::relative(self.files, folder, kind, name, self.base, self.dynamic);
            find::first_or_last(self.files, &candidates).filter(exists)
        })
    }

    /// Iterates over the folders of the files around the task, innermost first.
    fn including(&self) -> impl Iterator<Item = &str> {
        self.frame.chain().filter_map(|frame| match &frame.kind {
            FrameKind::Import(folder) | FrameKind::Include(folder) => Some(&**folder),
            _ => None,
        })
    }
}
