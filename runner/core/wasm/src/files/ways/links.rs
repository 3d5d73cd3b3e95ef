//! Which absolute links a guest may make. The guard follows a link to nothing but what is granted, but other programs
//! follow it by their own rights. So an absolute target has to be a path that was granted to the guest.

use std::path::{Component, Path};

use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::files::guard::{FileGuard, GuardView};
use crate::files::ways::target::Act;

impl GuardView<'_> {
    /// Refuses the target of a link that no grant covers.
    pub(crate) fn may_link_to(&self, to: &str, act: Act) -> FsResult<()> {
        if !to.starts_with('/') || self.guard.grants_in_place(to) {
            return Ok(());
        }
        self.guard.deny(Act::read(act.name), to);
        Err(ErrorCode::NotPermitted.into())
    }
}

impl FileGuard {
    /// Returns whether an absolute path is granted, and equals the path on the host. A path with `..` never qualifies:
    /// links on the way decide where it leads.
    fn grants_in_place(&self, path: &str) -> bool {
        let climbs = Path::new(path).components().any(|part| part == Component::ParentDir);
        !climbs && self.is_granted(path) && self.host_of(path) == Path::new(path)
    }
}
