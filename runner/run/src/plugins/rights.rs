//! What a process of Python plugins may do besides reading its interpreter, packages and collections.

use std::path::PathBuf;

use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::GrantSource;

/// A file or a folder that a process of plugins may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPath {
    /// The absolute path by which the process finds it.
    pub path: PathBuf,
    /// The path of it without links. A link there is not shown.
    pub real: PathBuf,
}

impl ShownPath {
    /// Returns where the path is shown beside folders that are shown as they are. A link in one of those leads to its own place;
    /// nothing can be shown over it.
    #[must_use]
    pub fn placed(self, apart: &[PathBuf]) -> Self {
        match apart.iter().any(|folder| self.path.starts_with(folder)) {
            true => Self { path: self.real.clone(), real: self.real },
            false => self,
        }
    }
}

/// The rights of a process of Python plugins.
#[derive(Debug, Clone)]
pub struct PluginRights {
    policy: Policy,
}

impl PluginRights {
    /// Returns the rights to read files and folders of the play, besides what a rule for one plugin grants in `policy`. Of
    /// `every_module`, the policy of modules, only the confinement that is accepted counts. A path that is a link, or for which
    /// there is a rule, is left out.
    #[must_use]
    pub fn new(mut policy: Policy, every_module: &Policy, readable: &[ShownPath]) -> Self {
        if let Some(least) = every_module.least_confinement() {
            policy.require_confinement(least.level, &least.source);
        }
        // The rule is the operator's word; the play's tree gives way.
        let is_free = |shown: &&ShownPath| !policy.covers(&shown.path, Access::Read);
        let grants: Vec<PathGrant> = readable.iter().filter(is_free).filter_map(grant).collect();
        // One by one only where they contradict each other, since each time the whole policy is looked at.
        if policy.allow_paths(grants.clone()).is_err() {
            grants.into_iter().for_each(|grant| drop(policy.allow_path(grant)));
        }
        Self { policy }
    }

    /// Returns the grants, and the confinement that is accepted.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// Returns the grant to read a path; `None` if it does not exist, is a link, or its name is not text.
fn grant(shown: &ShownPath) -> Option<PathGrant> {
    let found = shown.real.symlink_metadata().ok()?;
    let shape = match found.file_type() {
        kind if kind.is_symlink() => return None,
        kind if kind.is_dir() => Shape::Directory,
        _ => Shape::Name,
    };
    Some(PathGrant {
        host: shown.real.clone(),
        shape,
        guest: shown.path.to_str()?.to_owned(),
        access: Access::Read,
        source: GrantSource::named("the play"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn shown(path: PathBuf) -> ShownPath {
        ShownPath { real: path.clone(), path }
    }

    #[test]
    fn files_of_the_play_are_read_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let (folder, file) = (path.join("files"), path.join("play.yml"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, "").unwrap();
        let mut every_module = Policy::default();
        every_module.require_confinement(3, &GrantSource::named("a file"));
        every_module.allow_everything(&GrantSource::named("a switch"));
        let rights =
            PluginRights::new(Policy::default(), &every_module, &[folder.clone(), file, path.join("none")].map(shown));
        let policy = rights.policy();
        assert!(!policy.allows_everything() && policy.paths().len() == 2);
        assert!(policy.covers(&folder.join("a"), Access::Read) && !policy.covers(&folder.join("a"), Access::Write));
        assert_eq!(policy.least_confinement().map(|least| least.level), Some(3));
    }

    #[test]
    fn a_link_is_not_followed_and_a_rule_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for name in ["secret", "text", "written/text"] {
            std::fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
            std::fs::write(path.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(path.join("secret"), path.join("link")).unwrap();
        let at = |name: &str| ShownPath { path: Path::new("/play").join(name), real: path.join(name) };
        let mut rule = Policy::default();
        rule.allow_path(PathGrant {
            host: path.join("written"),
            shape: Shape::Directory,
            guest: "/play/written".to_owned(),
            access: Access::Write,
            source: GrantSource::named("a rule"),
        })
        .unwrap();
        let readable = ["link", "text", "written/text", "text"].map(at);
        let rights = PluginRights::new(rule, &Policy::default(), &readable);
        let granted: Vec<_> = rights.policy().paths().iter().map(|grant| (&*grant.guest, &grant.host)).collect();
        let (written, text) = (path.join("written"), path.join("text"));
        assert_eq!(granted, [("/play/written", &written), ("/play/text", &text)]);
    }
}
