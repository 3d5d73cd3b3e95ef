//! What Python modules in the sandbox may read and see besides their grants, as native modules may: names of users and of
//! places, the system's release, the certificates of authorities, devices without hardware, the usual variables, and the
//! programs of granted commands.
//!
//! Programs and libraries of the machine are not among them: nothing in the sandbox could start or load them.

use std::path::{Path, PathBuf};

use modbox_native::base;
use modbox_policy::run::RunGrant;
use modbox_policy::{Access, EnvGrant, PathGrant, Policy, Shape};
use modbox_vocabulary::{GrantSource, User};

use crate::home::HOME;

/// The source of these grants.
const SOURCE: &str = "what every Python module may read";

/// The variable that makes Ansible's modules write in place what they cannot replace. A guest can replace a granted file, and
/// one that a limit stops would leave half of it.
const WRITES_IN_PLACE: &str = "ANSIBLE_UNSAFE_WRITES";

/// Time zones. They are among the programs of the native base.
const ZONES: &str = "/usr/share/zoneinfo";

/// Returns a policy with these grants, for a user with this home. A policy that grants everything stays as it is.
pub(crate) fn with_base(policy: &Policy, home: Option<&Path>) -> Policy {
    let mut whole = policy.clone();
    if policy.allows_everything() {
        return whole;
    }
    // The variables of another user go before the usual ones, as for native modules.
    let own = policy.user().into_iter().flat_map(User::variables);
    let own = own.filter_map(|(name, value)| Some((name, value.to_str()?)));
    let usual = modbox_native::USUAL_VARIABLES.into_iter().filter(|(name, _)| *name != WRITES_IN_PLACE);
    let home = home.and_then(Path::to_str).map(|home| (HOME, home));
    for (name, value) in own.chain(usual).chain(home) {
        if whole.env().iter().all(|grant| grant.name != name) {
            let (name, value, source) = (name.to_owned(), value.to_owned(), GrantSource::named(SOURCE));
            whole.allow_env(EnvGrant { name, value, source });
        }
    }
    let files = base::INFORMATION.into_iter().chain([ZONES]).chain(base::authorities());
    let files = files.chain(base::AUTHORITY_FOLDERS);
    let files = files.map(|path| (Path::new(path), Access::Read));
    let devices = base::DEVICES.into_iter().map(|path| (Path::new(path), Access::Write));
    let outside = policy.outside().iter().filter_map(|grant| grant.programs.first());
    let programs = policy.run().iter().filter_map(RunGrant::program).chain(outside.map(PathBuf::as_path));
    let programs = programs.map(|path| (path, Access::Read));
    for (path, access) in files.chain(devices).chain(programs) {
        if policy.covers(path, access) {
            continue;
        }
        let Ok(host) = path.canonicalize() else { continue };
        let shape = if host.is_dir() { Shape::Directory } else { Shape::Name };
        let grant =
            PathGrant { host, shape, guest: path.display().to_string(), access, source: GrantSource::named(SOURCE) };
        // What contradicts a grant of the operator is left out.
        if let Err(error) = whole.allow_path(grant) {
            tracing::debug!(%error, "a path of every Python module is not granted");
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_added_to_the_grants_and_replaces_none() {
        let mut policy = Policy::default();
        policy.allow_env(EnvGrant {
            name: "PATH".to_owned(),
            value: "/own".to_owned(),
            source: GrantSource::named(""),
        });
        let etc = PathGrant {
            host: "/etc".into(),
            shape: Shape::Directory,
            guest: "/etc".to_owned(),
            access: Access::Write,
            source: GrantSource::named(""),
        };
        assert!(with_base(&policy, None).covers(Path::new("/etc/passwd"), Access::Read));
        assert!(!with_base(&policy, None).covers(Path::new("/etc/passwd"), Access::Write));
        assert!(with_base(&policy, None).covers(Path::new("/dev/null"), Access::Write));
        assert!(with_base(&policy, None).env().iter().all(|grant| grant.name != WRITES_IN_PLACE));
        let user = User {
            name: "app".to_owned(),
            uid: 7,
            gid: 8,
            groups: vec![8],
            home: "/srv/app".into(),
            shell: "/bin/sh".into(),
        };
        let mut of_user = policy.clone();
        of_user.set_user(user);
        let value = |policy: &Policy, name: &str| {
            let whole = with_base(policy, Some(Path::new("/root")));
            whole.env().iter().find(|grant| grant.name == name).map(|grant| grant.value.clone())
        };
        let homes = [value(&of_user, "HOME"), value(&of_user, "USER"), value(&policy, "HOME"), value(&policy, "USER")];
        assert_eq!(homes, [Some("/srv/app".to_owned()), Some("app".to_owned()), Some("/root".to_owned()), None]);
        policy.allow_path(etc).unwrap();
        let whole = with_base(&policy, None);
        assert!(whole.covers(Path::new("/etc/passwd"), Access::Write));
        assert!(whole.env().iter().any(|grant| grant.name == "PATH" && grant.value == "/own"));
        assert!(!with_base(&Policy::default(), None).covers(Path::new("/etc/shadow"), Access::Read));
    }
}
