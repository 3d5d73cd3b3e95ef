//! Files outside of a play's folders, for a play that is to be learned: they are read, and noted as what needs a grant.

use std::path::{Path, PathBuf};

use modbox_policy::normalize;

use crate::cli::play::extent::Extent;
use crate::cli::play::files::denials::switch;
use crate::cli::play::files::tree::PlayTree;
use crate::cli::play::files::tree_root::Root;
use crate::cli::play::needs::Needs;

impl PlayTree {
    /// Returns the grants that the play lacked for files and lookups so far.
    pub(crate) fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Lets every file be read, and notes those that need a grant.
    pub(crate) fn learn(&mut self) {
        let root = Path::new("/");
        self.whole = Root::open(root.to_owned(), root.to_owned(), Extent::Granted).ok();
    }

    /// Returns the root of the machine and the rest of a path; `None` unless the play is to be learned.
    pub(super) fn learned(&self, path: &str) -> Option<(&Root, PathBuf)> {
        let whole = self.whole.as_ref()?;
        let rest = normalize(Path::new(path)).strip_prefix("/").map(Path::to_owned).unwrap_or_default();
        let rest = if rest.as_os_str().is_empty() { PathBuf::from(".") } else { rest };
        if whole.dir().symlink_metadata(&rest).is_ok() {
            self.needs.add(&format!("read `{path}`"), &switch(path));
        }
        Some((whole, rest))
    }
}
