//! Decides which granted paths get layers: everything that the run may write, each file once.
//!
//! The decision is pure except for one question to the machine: which paths are devices of every module.

use std::path::{Path, PathBuf};

use modbox_native::base;
use modbox_overlay::layers::LayerPlan;
use modbox_overlay::quota::Quota;
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::Limits;

use crate::layered::changes::outside::reaches_out;
use crate::reports::error::layered_error::LayeredError;

/// Entries that a copy of a directory may have, beside those that the module makes.
const COPIED_ENTRIES: u64 = 20_000;

/// Returns the layers for what a policy grants for writing. A path inside a directory with a layer gets none of its own.
pub(crate) fn of(policy: &Policy, limits: &Limits, scratch: &Path) -> LayerPlan {
    let written: Vec<&PathGrant> = policy.paths().iter().filter(|grant| is_layered(grant)).collect();
    let paths = |shape: Shape| {
        let mut paths: Vec<PathBuf> = Vec::new();
        for grant in written.iter().filter(|grant| grant.shape == shape) {
            let inside = |outer: &&PathGrant| {
                outer.shape == Shape::Directory && grant.host.starts_with(&outer.host) && outer.host != grant.host
            };
            if !written.iter().copied().any(|outer| inside(&outer)) && !paths.contains(&grant.host) {
                paths.push(grant.host.clone());
            }
        }
        paths
    };
    let quota = Quota { bytes: limits.max_disk, files: limits.max_files.saturating_add(COPIED_ENTRIES) };
    LayerPlan {
        trees: paths(Shape::Directory),
        names: paths(Shape::Name),
        quota,
        scratch: scratch.to_owned(),
        own: policy.audit().to_vec(),
        ..LayerPlan::default()
    }
}

/// Returns whether a run can be made twice: nothing that it does leaves its layers. The renames of a guest's commands are
/// not reported.
pub(crate) fn is_repeatable(policy: &Policy) -> bool {
    !reaches_out(policy) && !policy.allows_commands()
}

/// Returns whether a run sees and does the same in a user namespace that has this user and group alone. A native module
/// is in such a namespace in any case. A guest would see no other owners outside of its layers, and could give no file to
/// another group.
pub(crate) fn needs_one_owner(policy: &Policy, is_guest: bool) -> bool {
    let grants = policy.paths();
    let is_in_layer = |path: &Path| {
        let mut layered = grants.iter().filter(|grant| is_layered(grant));
        layered.any(|grant| path == grant.host || grant.shape == Shape::Directory && path.starts_with(&grant.host))
    };
    policy.own().is_empty()
        && (!is_guest || grants.iter().all(|grant| is_in_layer(&grant.host) || base::is_device(&grant.host)))
}

/// Refuses a policy with commands outside, which no layer holds.
pub(crate) fn refuse_outside(policy: &Policy) -> Result<(), LayeredError> {
    policy.outside().first().map_or(Ok(()), |grant| Err(LayeredError::CommandsOutside(grant.shown())))
}

/// Returns whether the run may write a file of the machine by a grant. Devices of every module hold nothing.
pub(crate) fn is_layered(grant: &PathGrant) -> bool {
    grant.access == Access::Write && !base::is_device(&grant.host)
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn each_written_file_has_one_layer() {
        let mut policy = Policy::default();
        for (host, shape, access) in [
            ("/srv", Shape::Directory, Access::Write),
            ("/srv/inner", Shape::Directory, Access::Write),
            ("/srv/file", Shape::Name, Access::Write),
            ("/srv-other", Shape::Name, Access::Write),
            ("/etc", Shape::Directory, Access::Read),
            ("/etc/motd", Shape::Name, Access::Write),
            ("/dev/null", Shape::Name, Access::Write),
        ] {
            let (host, guest) = (host.into(), host.to_owned());
            policy.allow_path(PathGrant { host, shape, guest, access, source: GrantSource::named("") }).unwrap();
        }
        let plan = of(&policy, &Limits::default(), Path::new("/tmp"));
        assert_eq!(plan.trees, [Path::new("/srv")]);
        assert_eq!(plan.names, [Path::new("/srv-other"), Path::new("/etc/motd")]);
    }
}
