//! What no tool may write: files that decide what tools may do, and what modbox keeps. An agent that can write one of them grants
//! itself what it likes, so the server does not start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_run::resolve_way;

use crate::cli::context::Context;
use crate::cli::folders::state_folder;
use crate::cli::settings::Settings;

/// What decides what tools may do.
#[derive(Debug, Default)]
pub(crate) struct OwnFiles(PathNames);

/// Files and folders, each with its number and what it is. The order of paths is by their parts, so what is in a folder follows it.
type PathNames = BTreeMap<PathBuf, (usize, &'static str)>;

impl OwnFiles {
    /// Collects what is known of the settings and of this user's folders.
    pub(crate) fn new(context: &Context, settings: &Settings) -> Self {
        let environment = &context.environment;
        let mut own = Self::default();
        for (path, _) in &settings.files {
            own.add(path, "a policy file");
        }
        // A file that is made in these folders is a policy file, too.
        let folders = environment.policy_files.iter().filter_map(|path| path.parent());
        folders.for_each(|folder| own.add(folder, "the folder of a policy file"));
        environment.policy_folder.iter().for_each(|folder| own.add(folder, "the folder of policy files"));
        settings.key_files.iter().for_each(|path| own.add(path, "a file of the trust rules"));
        let folders = [&environment.cache_dir, &environment.data_dir].into_iter().flatten();
        folders.for_each(|folder| own.add(folder, "a folder of modbox"));
        if let Ok(transactions) = state_folder::transactions(environment) {
            own.add(transactions.parent().unwrap_or(&transactions), "a folder of modbox");
        }
        if let Ok(program) = std::env::current_exe() {
            own.add(&program, "modbox itself");
        }
        own
    }

    /// Adds a file or a folder, with the place that links lead to.
    pub(crate) fn add(&mut self, path: &Path, what: &'static str) {
        self.insert(real(path), what);
        self.insert(path.to_owned(), what);
    }

    /// Adds a path. What it was called first counts.
    fn insert(&mut self, path: PathBuf, what: &'static str) {
        let number = self.0.len();
        self.0.entry(path).or_insert((number, what));
    }

    /// Adds the links on the ways to granted paths, as these were written. Who can put another link there decides what the grant is of.
    pub(crate) fn add_ways<P: AsRef<Path>>(&mut self, written: impl IntoIterator<Item = P>) {
        written.into_iter().for_each(|path| self.add_links(path.as_ref(), "a link on the way to a granted path"));
    }

    /// Adds the links on the way to a path.
    pub(crate) fn add_links(&mut self, path: &Path, what: &'static str) {
        resolve_way(path, true).links.into_iter().for_each(|link| self.insert(link, what));
    }

    /// Checks the grants of a module, whatever of them is withheld.
    ///
    /// # Errors
    ///
    /// The right to write one of the files is granted.
    pub(crate) fn check(&self, policy: &Policy) -> anyhow::Result<()> {
        self.check_paths(policy.paths(), policy.audit())
    }

    /// Checks paths that are granted, or may be asked for, beside audit files.
    ///
    /// # Errors
    ///
    /// One of them is the right to write one of the files.
    pub(crate) fn check_paths(&self, paths: &[PathGrant], audits: &[PathBuf]) -> anyhow::Result<()> {
        let written: Vec<&PathGrant> = paths.iter().filter(|grant| grant.access == Access::Write).collect();
        if written.is_empty() {
            return Ok(());
        }
        let audits = audits.iter().flat_map(|path| [real(path), path.clone()]);
        let audits: PathNames = audits.map(|path| (path, (0, "an audit file"))).collect();
        for grant in written {
            if let Some((path, what)) = reached(grant, &self.0).or_else(|| reached(grant, &audits)) {
                bail!(
                    "the right to write `{}` ({}) reaches `{}`, {what}, so an agent could change what it may do; grant a narrower path",
                    grant.host.display(),
                    grant.source,
                    path.display(),
                );
            }
        }
        Ok(())
    }
}

/// Returns the first file that a grant is of, of a folder around it, or of something in it.
fn reached<'o>(grant: &PathGrant, own: &'o PathNames) -> Option<(&'o PathBuf, &'static str)> {
    let inside = own.range(grant.host.clone()..).take_while(|(path, _)| path.starts_with(&grant.host));
    let inside = inside.filter(|_| grant.shape == Shape::Directory);
    let around = grant.host.ancestors().filter_map(|part| own.get_key_value(part));
    let first = inside.chain(around).min_by_key(|(_, (number, _))| *number);
    first.map(|(path, (_, what))| (path, *what))
}

/// Returns the place of a path, with the links of what exists of it followed.
fn real(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, real)) = existing else { return path.to_owned() };
    match path.strip_prefix(part) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn policy(host: &Path, shape: Shape, access: Access) -> Policy {
        let guest = host.to_str().unwrap().to_owned();
        let mut policy = Policy::default();
        policy
            .allow_path(PathGrant {
                host: host.to_owned(),
                shape,
                guest,
                access,
                source: modbox_vocabulary::GrantSource::named("test"),
            })
            .unwrap();
        policy
    }

    #[test]
    fn grants_around_on_and_in_own_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("r");
        fs::create_dir_all(root.join("real/state")).unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        let mut own = OwnFiles::default();
        own.add(&root.join("link/agent.yaml"), "a policy file");
        own.add(&root.join("real/state"), "a folder of modbox");
        for (path, shape, is_refused) in [
            ("", Shape::Directory, true),
            ("real", Shape::Directory, true),
            ("real/agent.yaml", Shape::Name, true),
            ("real/state/plans", Shape::Directory, true),
            ("real/other", Shape::Name, false),
            ("real/agent.yaml.bak", Shape::Name, false),
            ("other", Shape::Directory, false),
        ] {
            let host = if path.is_empty() { root.clone() } else { root.join(path) };
            assert_eq!(own.check(&policy(&host, shape, Access::Write)).is_err(), is_refused, "{path}");
            assert!(own.check(&policy(&host, shape, Access::Read)).is_ok(), "{path}");
        }
        symlink(root.join("real/other"), root.join("real/way")).unwrap();
        fs::create_dir(root.join("real/other")).unwrap();
        let mut ways = OwnFiles::default();
        ways.add_ways([root.join("link/way/x")]);
        for (path, is_refused) in [("real", true), ("", true), ("real/other", false), ("real/way", true)] {
            let host = if path.is_empty() { root.clone() } else { root.join(path) };
            assert_eq!(ways.check(&policy(&host, Shape::Directory, Access::Write)).is_err(), is_refused, "{path}");
        }
        let mut audited = policy(&root.join("log"), Shape::Directory, Access::Write);
        audited.add_audit(root.join("log/audit.jsonl"));
        let error = own.check(&audited).unwrap_err().to_string();
        assert!(error.contains("an audit file"), "{error}");
    }
}
