//! What a run may reach: capability data that denies by default. Pure; nothing is opened here.
//!
//! A policy is gathered from the policy files and from the command line by adding grants; nothing ever
//! takes one away again, so the order does not matter. Two rules keep the result readable: the same
//! path granted twice has the wider access, and a read-only grant inside a writable one is refused,
//! because the outer one would void it.

mod file;
pub mod net;

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::file::{LimitOverrides, PolicyFile, PolicyFileError, parse_count, parse_duration, parse_size};
use self::net::{ListenGrant, NetGrant};

/// What may be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// Read what is there.
    Read,
    /// Read, change, create and remove.
    Write,
}

impl Access {
    /// Returns the word that reports and switches use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What a granted path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// A directory, with everything below it.
    Directory,
    /// One name in a directory: a file, or nothing yet.
    Name,
}

/// A file or a directory that a guest may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathGrant {
    /// Where it is, absolute; the directory that it lies in without symbolic links.
    pub host: PathBuf,
    /// Whether it is a directory.
    pub shape: Shape,
    /// Where the guest sees it, absolute.
    pub guest: String,
    /// What the guest may do there.
    pub access: Access,
    /// Who granted it: `--allow-read`, or a policy file.
    pub source: String,
}

/// An environment variable that a module sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvGrant {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Who granted it.
    pub source: String,
}

/// One line of a report's `grants`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// `read`, `write`, `env`, `net`, `listen` or `all`.
    pub capability: &'static str,
    /// The path or name; `*` for everything.
    pub subject: String,
    /// Who granted it.
    pub source: String,
}

/// Why grants contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A read-only grant that a writable one around it would void.
    #[error(
        "`{inner}` is granted for reading inside `{outer}`, which is granted for writing; \
         drop the inner grant, or map it elsewhere (`--allow-read {inner}::/GUEST/PATH`)"
    )]
    ReadInsideWrite {
        /// The read-only one.
        inner: String,
        /// The writable one.
        outer: String,
    },
    /// A grant in the place of a directory that every guest has.
    #[error("`{guest}` is every guest's own; map the grant elsewhere (`{host}::/GUEST/PATH`)")]
    Reserved {
        /// Where it was to be seen.
        guest: String,
        /// The host path.
        host: String,
    },
    /// Two host paths in one place.
    #[error("both `{first}` and `{second}` are mapped to `{guest}`; map one of them elsewhere")]
    SamePlace {
        /// One host path.
        first: String,
        /// The other.
        second: String,
        /// Where both would be.
        guest: String,
    },
}

/// Directories that a guest has anyway; a grant may lie inside or around them, not in their place.
pub const RESERVED: [&str; 2] = ["/args", "/tmp"];

/// Everything that a run may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    paths: Vec<PathGrant>,
    env: Vec<EnvGrant>,
    net: Vec<NetGrant>,
    listen: Vec<ListenGrant>,
    everything: Option<String>,
    audit: Vec<PathBuf>,
}

impl Policy {
    /// Grants a directory. The same directory granted twice in the same place has the wider access.
    ///
    /// # Errors
    ///
    /// A grant that contradicts an earlier one.
    pub fn allow_path(&mut self, grant: PathGrant) -> Result<(), PolicyError> {
        let shown = |path: &Path| path.display().to_string();
        if RESERVED.contains(&grant.guest.as_str()) {
            return Err(PolicyError::Reserved { host: shown(&grant.host), guest: grant.guest });
        }
        if let Some(same) = self.paths.iter_mut().find(|other| other.guest == grant.guest) {
            if same.host != grant.host {
                let (first, second) = (shown(&same.host), shown(&grant.host));
                return Err(PolicyError::SamePlace { first, second, guest: grant.guest });
            }
            if grant.access > same.access {
                *same = grant;
            }
        } else {
            self.paths.push(grant);
        }
        self.check_nesting()
    }

    fn check_nesting(&self) -> Result<(), PolicyError> {
        let writable = |grant: &&PathGrant| grant.access == Access::Write;
        for inner in self.paths.iter().filter(|grant| !writable(grant)) {
            let around = |outer: &&PathGrant| Path::new(&inner.guest).starts_with(&outer.guest);
            if let Some(outer) = self.paths.iter().filter(writable).find(around) {
                return Err(PolicyError::ReadInsideWrite { inner: inner.guest.clone(), outer: outer.guest.clone() });
            }
        }
        Ok(())
    }

    /// Shows an environment variable to the module; the last grant of a name counts.
    pub fn allow_env(&mut self, grant: EnvGrant) {
        self.env.retain(|other| other.name != grant.name);
        self.env.push(grant);
    }

    /// Lets the module reach hosts and ports.
    pub fn allow_net(&mut self, grant: NetGrant) {
        if self.net.iter().all(|other| other.rule != grant.rule) {
            self.net.push(grant);
        }
    }

    /// Lets the module listen somewhere.
    pub fn allow_listen(&mut self, grant: ListenGrant) {
        if self.listen.iter().all(|other| other.rule != grant.rule) {
            self.listen.push(grant);
        }
    }

    /// Grants everything that the caller can reach: for a module that one trusts as oneself.
    pub fn allow_everything(&mut self, source: &str) {
        // What is mapped elsewhere stays there; what is where it is on the host lies in the whole.
        self.paths.retain(|grant| Path::new(&grant.guest) != grant.host);
        let (host, guest) = (PathBuf::from("/"), "/".to_owned());
        let shape = Shape::Directory;
        self.paths.push(PathGrant { host, shape, guest, access: Access::Write, source: source.to_owned() });
        self.everything = Some(source.to_owned());
    }

    /// Returns whether everything is granted.
    #[must_use]
    pub fn allows_everything(&self) -> bool {
        self.everything.is_some()
    }

    /// Names a file that gets a line of every run. Restrictions add up, as grants do: each file that is named gets it.
    pub fn add_audit(&mut self, path: PathBuf) {
        if !self.audit.contains(&path) {
            self.audit.push(path);
        }
    }

    /// Returns the audit files.
    #[must_use]
    pub fn audit(&self) -> &[PathBuf] {
        &self.audit
    }

    /// Returns the granted directories.
    #[must_use]
    pub fn paths(&self) -> &[PathGrant] {
        &self.paths
    }

    /// Returns the granted environment variables.
    #[must_use]
    pub fn env(&self) -> &[EnvGrant] {
        &self.env
    }

    /// Returns what may be reached on the network.
    #[must_use]
    pub fn net(&self) -> &[NetGrant] {
        &self.net
    }

    /// Returns where the module may listen.
    #[must_use]
    pub fn listen(&self) -> &[ListenGrant] {
        &self.listen
    }

    /// Returns whether the host path that a guest knows by this absolute path is granted in this way: the innermost
    /// grant around it decides, as it does for the guest. In the guest's own directories nothing is the host's.
    #[must_use]
    pub fn covers(&self, guest_path: &Path, access: Access) -> bool {
        let path = normalize(guest_path);
        let own = RESERVED.map(|dir| (dir, None));
        let granted = self.paths.iter().map(|grant| (grant.guest.as_str(), Some(grant.access)));
        own.into_iter()
            .chain(granted)
            .filter(|(dir, _)| path.starts_with(dir))
            .max_by_key(|(dir, _)| dir.len())
            .is_some_and(|(_, granted)| granted >= Some(access))
    }

    /// Lists the grants for a report.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant> {
        if let Some(source) = &self.everything {
            return vec![Grant { capability: "all", subject: "*".to_owned(), source: source.clone() }];
        }
        let path = |grant: &PathGrant| {
            let host = grant.host.display().to_string();
            let subject = if host == grant.guest { host } else { format!("{host}::{}", grant.guest) };
            Grant { capability: grant.access.as_str(), subject, source: grant.source.clone() }
        };
        let env =
            |grant: &EnvGrant| Grant { capability: "env", subject: grant.name.clone(), source: grant.source.clone() };
        let line = |capability, subject: String, source: &String| Grant { capability, subject, source: source.clone() };
        let net = |grant: &NetGrant| line("net", grant.rule.to_string(), &grant.source);
        let listen = |grant: &ListenGrant| line("listen", grant.rule.to_string(), &grant.source);
        let places = self.paths.iter().map(path).chain(self.env.iter().map(env));
        places.chain(self.net.iter().map(net)).chain(self.listen.iter().map(listen)).collect()
    }
}

/// Resolves `.` and `..` by their letters alone. Good enough to ask which grant a path is meant to lie in;
/// what a path really reaches is decided when it is opened, beneath the granted directory.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(path: &str, access: Access) -> PathGrant {
        PathGrant {
            host: path.into(),
            shape: Shape::Directory,
            guest: path.to_owned(),
            access,
            source: "test".to_owned(),
        }
    }

    #[test]
    fn the_default_grants_nothing() {
        let policy = Policy::default();
        assert!(policy.grants().is_empty());
        assert!(!policy.allows_everything());
        assert!(!policy.covers(Path::new("/"), Access::Read));
        assert!(!policy.covers(Path::new("/etc/passwd"), Access::Read));
    }

    #[test]
    fn the_innermost_grant_decides() {
        let mut policy = Policy::default();
        policy.allow_path(grant("/srv", Access::Read)).unwrap();
        policy.allow_path(grant("/srv/app", Access::Write)).unwrap();
        policy.allow_path(grant("/tmp/app", Access::Write)).unwrap();
        for (path, access, expect) in [
            ("/srv/x", Access::Read, true),
            ("/srv/x", Access::Write, false),
            ("/srv/app/x", Access::Write, true),
            ("/srv/app/../x", Access::Write, false),
            ("/srv/application", Access::Write, false),
            ("/tmp/x", Access::Read, false),
            ("/tmp/app/x", Access::Write, true),
            ("/args/args.json", Access::Read, false),
            ("/etc", Access::Read, false),
        ] {
            assert_eq!(policy.covers(Path::new(path), access), expect, "{path} {access:?}");
        }
    }

    #[test]
    fn everything_includes_what_was_mapped_elsewhere() {
        let mut policy = Policy::default();
        policy.allow_path(grant("/srv", Access::Read)).unwrap();
        policy.allow_path(PathGrant { host: "/data".into(), ..grant("/mapped", Access::Read) }).unwrap();
        policy.allow_everything("test");
        let seen: Vec<&str> = policy.paths().iter().map(|grant| grant.guest.as_str()).collect();
        assert_eq!(seen, ["/mapped", "/"]);
    }

    #[test]
    fn contradictions_are_refused() {
        let mut policy = Policy::default();
        policy.allow_path(grant("/srv", Access::Write)).unwrap();
        let inside = policy.clone().allow_path(grant("/srv/ro", Access::Read)).unwrap_err();
        assert!(matches!(inside, PolicyError::ReadInsideWrite { .. }), "{inside}");
        let reserved = policy.clone().allow_path(grant("/tmp", Access::Read)).unwrap_err();
        assert!(matches!(reserved, PolicyError::Reserved { .. }), "{reserved}");
        let elsewhere = PathGrant { host: "/other".into(), ..grant("/srv", Access::Read) };
        assert!(matches!(policy.allow_path(elsewhere), Err(PolicyError::SamePlace { .. })));
    }

    #[test]
    fn the_wider_access_wins_in_either_order() {
        for order in [[Access::Read, Access::Write], [Access::Write, Access::Read]] {
            let mut policy = Policy::default();
            for access in order {
                policy.allow_path(grant("/srv", access)).unwrap();
            }
            assert_eq!(policy.paths().len(), 1);
            assert!(policy.covers(Path::new("/srv/x"), Access::Write));
        }
    }
}
