//! Capabilities. A confined process of root keeps those for opening files, and no others.
//!
//! A process of another user keeps none: the first process of a user namespace needs its capabilities to set up the
//! namespaces, and the module does not.
//!
//! The process that starts a module keeps one capability that the module does not get, and does not use it. The kernel
//! lets a process read the memory of another one only if it has all its capabilities (ptrace(2), "Ptrace access mode
//! checking").

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::plan::Plan;
use crate::profile::Profile;

/// Read, write, remove and replace files of other users: a grant gives the rights of the user who runs modbox.
const FILES: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::CHOWN);

/// The same for a module without namespaces. It changes neither modes nor owners nor times by itself, and the process that does
/// so in its place looks at the grants; see [`on_host_calls`](crate::filters::on_host_calls).
const FILES_ON_HOST: CapabilitySet = CapabilitySet::DAC_OVERRIDE;

/// Drops all other capabilities permanently, in the calling thread and the threads that it starts.
pub(super) fn reduce(plan: &Plan) -> rustix::io::Result<()> {
    let mut kept = if plan.profile == Profile::NativeOnHost { FILES_ON_HOST } else { FILES };
    if plan.net.any() {
        kept |= CapabilitySet::NET_BIND_SERVICE;
    }
    if plan.profile == Profile::Transfer {
        kept = CapabilitySet::empty();
    }
    if matches!(plan.profile, Profile::Native | Profile::NativeOnHost) {
        if !rustix::process::geteuid().is_root() {
            kept = CapabilitySet::empty();
        }
        // A guest starts no programs. A module does, and programs of root start with all capabilities in this set.
        bound(kept)?;
    }
    let present = rustix::thread::capabilities(None)?;
    let own = match plan.profile {
        Profile::Guest | Profile::Compiler | Profile::Transfer => None,
        Profile::Native | Profile::NativeOnHost => present.permitted.difference(kept).iter().next(),
    };
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: present.effective & kept,
            permitted: present.permitted & (kept | own.unwrap_or(CapabilitySet::empty())),
            inheritable: CapabilitySet::empty(),
        },
    )
}

/// Drops all other capabilities from the bounding set. A process that may not do this has none, and gets none with
/// `no_new_privs`.
pub(super) fn bound(kept: CapabilitySet) -> rustix::io::Result<()> {
    for capability in CapabilitySet::all().difference(kept).iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The first error means that this kernel does not know the capability.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
