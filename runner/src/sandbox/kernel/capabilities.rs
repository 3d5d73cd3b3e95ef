//! Capabilities: of what root may do, a guest's process keeps what opens the files that root may open, and nothing else.

use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::sandbox::kernel::plan::Plan;

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
    let present = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: present.effective & kept,
            permitted: present.permitted & kept,
            inheritable: CapabilitySet::empty(),
        },
    )
}
