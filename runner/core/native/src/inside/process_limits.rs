//! Resource limits that a module without a room inherits.

use modbox_vocabulary::Limits;
use modbox_vocabulary::time::micros;
use rustix::process::{Resource, Rlimit};

use crate::protocol::Spec;

/// Minimum of RLIMIT_DATA, because the limit also binds the launcher while it starts the shell.
const MIN_DATA_LIMIT: u64 = 32 << 20;

/// The least values of memory and processor time that mean no limit. An observed module then has the limits of its task.
const NO_LIMITS: (u64, u64) = (1 << 50, 365 * 24 * 3_600_000_000);

/// Sets the limits that children inherit. Returns the processor limit to restore.
///
/// Three limits are left out. RLIMIT_NPROC counts all processes of the user instead of those of this tree, and is not
/// enforced for root. RLIMIT_AS would refuse reservations of addresses, which Go, Node and every wasm engine make.
/// RLIMIT_FSIZE would bound each file separately.
pub(crate) fn lower_limits(spec: &Spec) -> rustix::io::Result<Rlimit> {
    let lower = |resource: Resource, wanted: u64| {
        let old = rustix::process::getrlimit(resource);
        let least = |old: Option<u64>| Some(old.map_or(wanted, |old| old.min(wanted)));
        rustix::process::setrlimit(resource, Rlimit { current: least(old.current), maximum: least(old.maximum) })
    };
    let usual = Limits::default();
    // What stays after the module would inherit them; the watch holds the module itself to its limits.
    let is_named = |value: u64, usual: u64| !spec.leaves_processes || value != usual;
    if spec.room.as_ref().map_or(!spec.leaves_processes, |room| !room.observed) {
        lower(Resource::Core, 0)?;
    }
    if spec.max_memory < NO_LIMITS.0 && is_named(spec.max_memory, usual.max_memory) {
        lower(Resource::Data, spec.max_memory.max(MIN_DATA_LIMIT))?;
    }
    // RLIMIT_CPU is only a backstop for when the watch fails, so it is a little more than the limit itself. Only the
    // soft limit is set, because the launcher could not raise a lowered hard limit again.
    let seconds = spec.cpu_time_us.div_ceil(1_000_000).saturating_add(1);
    let old = rustix::process::getrlimit(Resource::Cpu);
    if spec.cpu_time_us >= NO_LIMITS.1 || !is_named(spec.cpu_time_us, micros(usual.cpu_time)) {
        return Ok(old);
    }
    let current = old.current.map_or(seconds, |old| old.min(seconds));
    rustix::process::setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum: old.maximum })?;
    Ok(old)
}
