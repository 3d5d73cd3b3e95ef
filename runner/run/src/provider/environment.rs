//! The environment of providers. Providers in shell take variables for arguments, so that a variable `ensure` of the
//! caller would be one. They get only `PATH`, `HOME`, `LANG`, `LC_ALL` and `AUGEAS_LENS_LIB`, and what is granted.

use std::ffi::OsString;
use std::path::PathBuf;

use modbox_native::NativeContext;
use modbox_policy::{Access, EnvGrant, PathGrant, Policy, Shape};
use modbox_vocabulary::GrantSource;

use crate::grants::native;

/// Source of the variables in reports.
const SOURCE: &str = "the convention of providers";

/// Variables that every provider has, so that tools print and sort the same everywhere.
const LOCALE: [(&str, &str); 2] = [("LANG", "C"), ("LC_ALL", "C")];

/// Variables of the room, or, for a provider that is granted everything, of the caller.
const KEPT: &[&str] = &["PATH", "HOME"];

/// The variable with the folders of Augeas' lenses.
const LENSES: &str = "AUGEAS_LENS_LIB";

/// Adds the variables of the convention to the grants of a run. That everything is granted does not include variables.
pub(super) fn add(policy: &mut Policy) {
    policy.forbid_other_env();
    for (name, value) in LOCALE {
        policy.allow_env(EnvGrant {
            name: name.to_owned(),
            value: value.to_owned(),
            source: GrantSource::named(SOURCE),
        });
    }
}

/// Leaves a native provider only the variables of the convention and the granted ones.
pub(crate) fn restrict(context: &mut NativeContext, policy: &Policy, caller: &[(OsString, OsString)]) {
    context.room_variables = Some(KEPT);
    if context.confine.is_none() {
        let kept = caller.iter().filter(|(name, _)| KEPT.iter().any(|kept| name == kept));
        context.environment = kept.cloned().chain(native::environment(policy)).collect();
    }
}

/// Grants reading the folders `lenses` of data directories, and names them in the variable of Augeas after the folders
/// that it has already.
pub fn lens_grants(policy: &mut Policy, data_dirs: &[PathBuf], given: Option<&str>) {
    let folders = data_dirs.iter().map(|dir| dir.join("lenses")).filter(|folder| folder.is_dir());
    let folders: Vec<PathBuf> = folders.filter_map(|folder| folder.canonicalize().ok()).collect();
    let mut named: Vec<String> = given.filter(|given| !given.is_empty()).map(str::to_owned).into_iter().collect();
    for host in folders {
        let Some(guest) = host.to_str().map(str::to_owned) else { continue };
        let grant = PathGrant {
            host,
            shape: Shape::Directory,
            guest: guest.clone(),
            access: Access::Read,
            source: GrantSource::named(SOURCE),
        };
        // A grant of the operator that contradicts this one comes first.
        if policy.covers(guest.as_ref(), Access::Read) || policy.allow_path(grant).is_ok() {
            named.push(guest);
        }
    }
    if !named.is_empty() {
        policy.allow_env(EnvGrant {
            name: LENSES.to_owned(),
            value: named.join(":"),
            source: GrantSource::named(SOURCE),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenses_are_named_and_readable() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let data = dir.path().canonicalize().unwrap();
        std::fs::create_dir(data.join("lenses")).unwrap();
        let mut policy = Policy::default();
        lens_grants(&mut policy, &[data.clone(), data.join("missing")], Some("/own"));
        let lenses = data.join("lenses").display().to_string();
        assert!(policy.covers(lenses.as_ref(), Access::Read) && !policy.covers(lenses.as_ref(), Access::Write));
        let grant = &policy.env()[0];
        assert_eq!((grant.name.as_str(), grant.value.as_str()), (LENSES, format!("/own:{lenses}").as_str()));
        let mut none = Policy::default();
        lens_grants(&mut none, &[data.join("missing")], None);
        assert!(none.env().is_empty() && none.paths().is_empty());
    }
}
