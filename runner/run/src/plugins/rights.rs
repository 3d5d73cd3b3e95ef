//! What a process of Python plugins may do besides reading its interpreter, packages and collections.

use std::path::{Path, PathBuf};

use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::GrantSource;

/// The rights of a process of Python plugins.
#[derive(Debug, Clone)]
pub struct PluginRights {
    policy: Policy,
}

impl PluginRights {
    /// Returns the rights to read files and folders of the play, besides what a rule for one plugin grants in `policy`. Of
    /// `every_module`, the policy of modules, only the confinement that is accepted counts. A path that contradicts a grant
    /// is left out.
    #[must_use]
    pub fn new(mut policy: Policy, every_module: &Policy, readable: &[PathBuf]) -> Self {
        if let Some(least) = every_module.least_confinement() {
            policy.require_confinement(least.level, &least.source);
        }
        for path in readable.iter().filter_map(|path| grant(path)) {
            if !policy.covers(Path::new(&path.guest), Access::Read) {
                // The rule is the operator's word; the play's tree gives way.
                policy.allow_paths([path]).ok();
            }
        }
        Self { policy }
    }

    /// Returns the grants, and the confinement that is accepted.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// Returns the grant to read a path; `None` if it does not exist, or its name is not text.
fn grant(path: &Path) -> Option<PathGrant> {
    let host = path.canonicalize().ok()?;
    let shape = if host.is_dir() { Shape::Directory } else { Shape::Name };
    Some(PathGrant {
        host,
        shape,
        guest: path.to_str()?.to_owned(),
        access: Access::Read,
        source: GrantSource::named("the play"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let rights = PluginRights::new(Policy::default(), &every_module, &[folder.clone(), file, path.join("none")]);
        let policy = rights.policy();
        assert!(!policy.allows_everything() && policy.paths().len() == 2);
        assert!(policy.covers(&folder.join("a"), Access::Read) && !policy.covers(&folder.join("a"), Access::Write));
        assert_eq!(policy.least_confinement().map(|least| least.level), Some(3));
    }
}
