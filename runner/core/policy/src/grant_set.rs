//! The set of grants of a run: [`Policy`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use modbox_vocabulary::{GrantSource, User};
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::designated::Designated;
use crate::error::PolicyError;
use crate::grants::{EnvGrant, PathGrant, Shape};
use crate::min_confinement::MinConfinement;
use crate::missing::MissingPath;
use crate::net::{ListenGrant, NetGrant};
use crate::outside::OutsideGrant;
use crate::places::{RESERVED, check_nesting, is_own, lies_in, normalize};
use crate::rules::check_rule::CheckRule;
use crate::rules::python_place::PythonPlace;
use crate::rules::python_rule::PythonRule;
use crate::run::RunGrant;
use crate::single_files::SingleFiles;
use crate::trust::TrustStanding;
use crate::users::own::{OwnerGrant, Owners};
use crate::waypoints::Waypoints;

/// All grants and restrictions of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub(super) paths: Vec<PathGrant>,
    pub(super) env: Vec<EnvGrant>,
    pub(super) own: Vec<OwnerGrant>,
    pub(super) net: Vec<NetGrant>,
    pub(super) listen: Vec<ListenGrant>,
    pub(super) run: Vec<RunGrant>,
    pub(super) outside: Vec<OutsideGrant>,
    pub(super) everything: Option<GrantSource>,
    pub(super) designated: Designated,
    pub(super) designated_by_results: Designated,
    pub(super) designates: Vec<(String, Access)>,
    pub(super) check: CheckRule,
    pub(super) python: PythonPlace,
    pub(super) python_modules: PythonRule,
    pub(super) python_modules_by: String,
    pub(super) least_confinement: Option<MinConfinement>,
    pub(super) audit: Vec<PathBuf>,
    pub(super) missing: Vec<MissingPath>,
    pub(super) waypoints: Waypoints,
    pub(super) single_files: SingleFiles,
    pub(super) user: Option<User>,
    /// It is examined before the run starts, by the process that starts it.
    #[serde(skip)]
    pub(super) trust: TrustStanding,
}

impl Policy {
    /// Grants a file or a directory. If the same path is granted twice at the same place, the wider access holds.
    ///
    /// # Errors
    ///
    /// A grant that contradicts an earlier one.
    pub fn allow_path(&mut self, grant: PathGrant) -> Result<(), PolicyError> {
        self.allow_paths([grant])
    }

    /// Grants several paths, in any order. An error leaves the policy unchanged.
    ///
    /// # Errors
    ///
    /// Grants that contradict each other or earlier ones.
    pub fn allow_paths(&mut self, grants: impl IntoIterator<Item = PathGrant>) -> Result<(), PolicyError> {
        let shown = |path: &Path| path.display().to_string();
        let mut paths = self.paths.clone();
        let mut places: HashMap<String, usize> =
            paths.iter().enumerate().map(|(index, grant)| (grant.guest.clone(), index)).collect();
        for grant in grants {
            if is_own(&grant.guest) {
                return Err(PolicyError::Reserved { host: shown(&grant.host), guest: grant.guest });
            }
            let Some(same) = places.get(&grant.guest).and_then(|index| paths.get_mut(*index)) else {
                places.insert(grant.guest.clone(), paths.len());
                paths.push(grant);
                continue;
            };
            if same.host != grant.host {
                let (first, second) = (shown(&same.host), shown(&grant.host));
                return Err(PolicyError::SamePlace { first, second, guest: grant.guest });
            }
            if grant.access > same.access {
                *same = grant;
            }
        }
        check_nesting(&paths)?;
        self.paths = paths;
        Ok(())
    }

    /// Grants a path that an argument names. Read grants inside a path that becomes writable are removed, because they
    /// add nothing.
    ///
    /// # Errors
    ///
    /// A place that belongs to the guest, or that another host path has.
    pub fn designate(&mut self, grant: PathGrant) -> Result<(), PolicyError> {
        let mut widened = self.clone();
        if grant.access == Access::Write {
            widened.paths.retain(|inner| inner.access == Access::Write || !lies_in(inner, &grant));
        }
        widened.allow_path(grant)?;
        *self = widened;
        Ok(())
    }

    /// Grants an environment variable to the module. The last grant of a name holds.
    pub fn allow_env(&mut self, grant: EnvGrant) {
        self.env.retain(|other| other.name != grant.name);
        self.env.push(grant);
    }

    /// Removes the variables that are granted only because everything is.
    pub fn forbid_other_env(&mut self) {
        let everything = self.everything.clone();
        self.env.retain(|grant| Some(&grant.source) != everything.as_ref());
    }

    /// Requires a level of confinement. The highest required level holds. If none is required, the caller decides.
    pub fn require_confinement(&mut self, level: u8, source: &GrantSource) {
        if self.least_confinement.as_ref().is_none_or(|least| level > least.level) {
            self.least_confinement = Some(MinConfinement { level, source: source.clone() });
        }
    }

    /// Returns the required minimum level of confinement, if there is one.
    #[must_use]
    pub fn least_confinement(&self) -> Option<&MinConfinement> {
        self.least_confinement.as_ref()
    }

    /// Grants hosts and ports that the module may connect to.
    pub fn allow_net(&mut self, grant: NetGrant) {
        if self.net.iter().all(|other| other.rule != grant.rule) {
            self.net.push(grant);
        }
    }

    /// Grants an address on which the module may listen.
    pub fn allow_listen(&mut self, grant: ListenGrant) {
        if self.listen.iter().all(|other| other.rule != grant.rule) {
            self.listen.push(grant);
        }
    }

    /// Removes the network grants whose rule has this text.
    pub fn forbid_net(&mut self, rule: &str) {
        self.net.retain(|grant| grant.rule.to_string() != rule);
        self.listen.retain(|grant| grant.rule.to_string() != rule);
    }

    /// Returns the policy without any grant of the network.
    #[must_use]
    pub fn without_network(self) -> Self {
        Self { net: Vec::new(), listen: Vec::new(), ..self }
    }

    /// Returns the policy without any right to change this machine: paths can only be read, and no owner, command or
    /// address to listen at is granted. Commands outside that only ask stay. A path that does not exist yet is left out. It
    /// does not take back that everything is granted.
    #[must_use]
    pub fn read_only(self) -> Self {
        let read = |grant: PathGrant| PathGrant { access: Access::Read, ..grant };
        let paths = self.paths.into_iter().filter(|grant| grant.access == Access::Read || grant.host.exists());
        let paths = paths.map(read).collect();
        let outside = self.outside.into_iter().filter(|grant| grant.is_query).collect();
        Self { paths, outside, own: Vec::new(), listen: Vec::new(), run: Vec::new(), ..self }
    }

    /// Returns the policy without some of its paths, and without what a module sees on the way to named paths: what runs have in
    /// common that differ in these alone. `is_left_out` is asked once for each path, in order.
    #[must_use]
    pub fn without_paths(mut self, mut is_left_out: impl FnMut(&PathGrant) -> bool) -> Self {
        self.paths.retain(|grant| !is_left_out(grant));
        Self { missing: Vec::new(), waypoints: Waypoints::default(), ..self }
    }

    /// Grants everything that the caller can access: for a module that the caller trusts completely.
    pub fn allow_everything(&mut self, source: &GrantSource) {
        // Mapped paths stay where they are. Unmapped ones are part of the root.
        self.paths.retain(|grant| Path::new(&grant.guest) != grant.host);
        let (host, guest) = (PathBuf::from("/"), "/".to_owned());
        let shape = Shape::Directory;
        self.paths.push(PathGrant { host, shape, guest, access: Access::Write, source: source.clone() });
        self.everything = Some(source.clone());
    }

    /// Returns whether everything is granted.
    #[must_use]
    pub fn allows_everything(&self) -> bool {
        self.everything.is_some()
    }

    /// Adds an audit file, which gets a line for each run. Audit files of several sources add up.
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

    /// Permits the module to make a user or a group the owner of files.
    pub fn allow_own(&mut self, grant: OwnerGrant) {
        let key = |grant: &OwnerGrant| (grant.user, grant.group, grant.set_id);
        let same = |other: &OwnerGrant| key(other) == key(&grant);
        if !self.own.iter().any(same) {
            self.own.push(grant);
        }
    }

    /// Returns the grants of owners.
    #[must_use]
    pub fn own(&self) -> &[OwnerGrant] {
        &self.own
    }

    /// Returns the permitted owners of files.
    #[must_use]
    pub fn owners(&self) -> Owners {
        if self.allows_everything() { Owners::Any } else { Owners::Some(self.own.clone()) }
    }

    /// Permits the module to run commands.
    pub fn allow_run(&mut self, grant: RunGrant) {
        if self.run.iter().all(|other| (&other.rule, &other.programs) != (&grant.rule, &grant.programs)) {
            self.run.push(grant);
        }
    }

    /// Returns the grants of commands.
    #[must_use]
    pub fn run(&self) -> &[RunGrant] {
        &self.run
    }

    /// Returns whether any server may have any certificate.
    #[must_use]
    pub fn allows_any_certificate(&self) -> bool {
        self.allows_everything() || self.net.iter().any(|grant| grant.rule.is_unverified())
    }

    /// Returns the first grant that covers a command.
    #[must_use]
    pub fn run_grant(&self, program: &str, arguments: &[String]) -> Option<&RunGrant> {
        self.run.iter().find(|grant| grant.covers(program, arguments))
    }

    /// Records a path that an argument names for writing and that nothing grants, since its directory is missing.
    pub fn add_missing(&mut self, path: MissingPath) {
        if !self.missing.contains(&path) {
            self.missing.push(path);
        }
    }

    /// Returns the paths that nothing grants, since their directories are missing.
    pub fn missing(&self) -> impl Iterator<Item = &MissingPath> {
        // Another argument may name the same path and grant it.
        self.missing.iter().filter(|missing| !self.covers(Path::new(&missing.path), Access::Write))
    }

    /// Returns what the module sees on the way to named paths.
    #[must_use]
    pub fn waypoints(&self) -> &Waypoints {
        &self.waypoints
    }

    /// Returns what the module sees on the way to named paths, to add to it.
    pub fn waypoints_mut(&mut self) -> &mut Waypoints {
        &mut self.waypoints
    }

    /// Sets where changes of single files go, which a native module makes on copies.
    pub fn set_single_files(&mut self, single_files: SingleFiles) {
        self.single_files = single_files;
    }

    /// Returns where changes of single files go.
    #[must_use]
    pub fn single_files(&self) -> &SingleFiles {
        &self.single_files
    }

    /// Puts other files or directories of the host into the places of granted ones. The module sees them under the same
    /// paths. `other` returns the new path, or `None` to keep a grant as it is.
    ///
    /// # Errors
    ///
    /// The first error of `other`; the policy is then unchanged.
    pub fn replace_hosts<E>(
        &mut self,
        mut other: impl FnMut(&PathGrant) -> Result<Option<PathBuf>, E>,
    ) -> Result<(), E> {
        let mut paths = self.paths.clone();
        for grant in &mut paths {
            if let Some(host) = other(grant)? {
                grant.host = host;
            }
        }
        self.paths = paths;
        Ok(())
    }

    /// Makes the run that of another user: all grants then have that user's rights, and everything that the run starts
    /// is a process of that user.
    pub fn set_user(&mut self, user: User) {
        self.user = Some(user);
    }

    /// Returns the user whose run it is; `None` for the user who runs modbox.
    #[must_use]
    pub fn user(&self) -> Option<&User> {
        self.user.as_ref()
    }

    /// Sets what the trust rules say of the module.
    pub fn set_trust(&mut self, trust: TrustStanding) {
        self.trust = trust;
    }

    /// Returns what the trust rules say of the module.
    #[must_use]
    pub fn trust(&self) -> &TrustStanding {
        &self.trust
    }

    /// Returns the granted paths.
    #[must_use]
    pub fn paths(&self) -> &[PathGrant] {
        &self.paths
    }

    /// Returns the granted environment variables.
    #[must_use]
    pub fn env(&self) -> &[EnvGrant] {
        &self.env
    }

    /// Returns the grants of network destinations.
    #[must_use]
    pub fn net(&self) -> &[NetGrant] {
        &self.net
    }

    /// Returns the grants of addresses to listen on.
    #[must_use]
    pub fn listen(&self) -> &[ListenGrant] {
        &self.listen
    }

    /// Returns whether the grants permit this access to the absolute guest path. The innermost grant around it decides,
    /// as it does for the guest. The guest's own directories have no host paths.
    #[must_use]
    pub fn covers(&self, guest_path: &Path, access: Access) -> bool {
        match self.decides(guest_path) {
            PathDecision::Grant(grant) => grant.access >= access,
            PathDecision::Own | PathDecision::Nothing => false,
        }
    }

    /// Returns the innermost grant or reserved directory around a guest path.
    #[must_use]
    pub fn decides(&self, guest_path: &Path) -> PathDecision<'_> {
        let path = normalize(guest_path);
        let own = RESERVED.iter().filter(|dir| path.starts_with(dir)).map(|dir| (dir.len(), PathDecision::Own));
        let around = |grant: &&PathGrant| match grant.shape {
            Shape::Directory => path.starts_with(&grant.guest),
            Shape::Name => path == Path::new(&grant.guest),
        };
        let granted = self.paths.iter().filter(around).map(|grant| (grant.guest.len(), PathDecision::Grant(grant)));
        own.chain(granted).max_by_key(|(length, _)| *length).map_or(PathDecision::Nothing, |(_, decides)| decides)
    }
}

/// The rule that decides about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathDecision<'a> {
    /// The innermost grant around the path.
    Grant(&'a PathGrant),
    /// The path is in one of the guest's own directories.
    Own,
    /// No grant: the path does not exist for the guest.
    Nothing,
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
            source: GrantSource::named("test"),
        }
    }

    #[test]
    fn the_default_grants_nothing() {
        let policy = Policy::default();
        assert!(policy.grants().is_empty());
        assert!(policy.paths().is_empty() && policy.env().is_empty());
        assert!(!policy.allows_everything());
        assert_eq!(policy.designated(), Designated::None);
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
        policy.allow_everything(&GrantSource::named("test"));
        let seen: Vec<&str> = policy.paths().iter().map(|grant| grant.guest.as_str()).collect();
        assert_eq!(seen, ["/mapped", "/"]);
    }

    #[test]
    fn the_highest_level_of_confinement_counts() {
        let mut policy = Policy::default();
        assert_eq!(policy.least_confinement(), None);
        for (level, highest) in [(1, 1), (2, 2), (0, 2)] {
            policy.require_confinement(level, &GrantSource::named(&format!("level {level}")));
            let least = policy.least_confinement().unwrap();
            assert_eq!((least.level, &least.source), (highest, &GrantSource::named(&format!("level {highest}"))));
        }
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
    fn the_root_leaves_grants_behind_directories_of_the_guests_own() {
        let mut policy = Policy::default();
        policy.allow_paths([grant("/", Access::Write), grant("/tmp/x", Access::Read)]).unwrap();
        let seen = ["/srv", "/tmp/y", "/tmp/x/y"].map(|path| policy.covers(Path::new(path), Access::Read));
        assert_eq!(seen, [true, false, true]);
        assert!(!policy.covers(Path::new("/tmp/x/y"), Access::Write));
        // Arguments that name the root leave it, too.
        let mut policy = Policy::default();
        policy.allow_paths([grant("/srv/x", Access::Read), grant("/tmp/x", Access::Read)]).unwrap();
        policy.designate(grant("/", Access::Write)).unwrap();
        assert_eq!(policy.paths().iter().map(|grant| &*grant.guest).collect::<Vec<_>>(), ["/tmp/x", "/"]);
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
