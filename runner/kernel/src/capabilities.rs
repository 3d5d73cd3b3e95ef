//! Capabilities: of what root may do, a confined process keeps what opens the files that root may open, and nothing else.
//!
//! Whoever is not root keeps none: what a user namespace gives its first process is for making the room, not for the
//! module in it.
//!
//! Whoever starts a module keeps one that the module cannot have, and does not use it: the kernel lets a process look
//! into the memory of another one only when it may do all that that one may (ptrace(2), "Ptrace access mode checking").

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::plan::Plan;
use crate::profiles::Profile;

/// Reading, writing, removing and replacing files of others: a grant gives the rights of who runs modbox.
const FILES: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::CHOWN);

/// Gives up all others, for good, in the calling thread and those that it starts.
pub(super) fn reduce(plan: &Plan) -> rustix::io::Result<()> {
    let mut kept = FILES;
    if plan.net.any() {
        kept |= CapabilitySet::NET_BIND_SERVICE;
    }
    if matches!(plan.profile, Profile::Native | Profile::NativeOnHost) {
        if !rustix::process::geteuid().is_root() {
            kept = CapabilitySet::empty();
        }
        // A guest starts no program; a module does, and programs of root begin with all that is in this set.
        bound(kept)?;
    }
    let present = rustix::thread::capabilities(None)?;
    let own = match plan.profile {
        Profile::Guest | Profile::Compiler => None,
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

/// Leaves no others to any program that is started. Whoever may not change that has none to begin with, and with
/// `no_new_privs` gets none.
fn bound(kept: CapabilitySet) -> rustix::io::Result<()> {
    for capability in CapabilitySet::all().difference(kept).iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The first is a capability that this kernel does not know.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
