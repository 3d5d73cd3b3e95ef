//! Denials: the errors of paths that no grant covers, and their record.

use modbox_policy::Access;
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::files::grants::ARGS;
use crate::files::guard::{FileGuard, GuardView};
use crate::files::ledger::flag;
use crate::files::tree::{NodeId, join};
use crate::files::ways::target::{Act, MissingName};

impl GuardView<'_> {
    /// Records a path that leads above the directory where it starts, and returns the error.
    pub(crate) fn outside(&self, guest: &str, act: Act) -> FsError {
        let guest = join(guest, "");
        if !self.guard.covers(&guest, act.access) {
            self.guard.deny(act, &guest);
        }
        ErrorCode::NotPermitted.into()
    }
}

impl FileGuard {
    /// Records a denial of a path; the record names it as the guest did.
    pub(crate) fn deny(&self, act: Act, guest: &str) {
        self.ledger.deny(act.access, guest, act.name, || flag(act.access, &self.host_of(guest), guest));
    }

    /// Records that a FIFO, socket or device was refused. No flag allows one.
    pub(crate) fn deny_special(&self, guest: &str, act: Act) {
        self.ledger.deny(act.access, guest, act.name, String::new);
    }

    /// Returns the error for a path that no grant covers, and records it. The path is given without links and `..`, so that
    /// a grant of it helps.
    pub(crate) fn absent(&self, dir: NodeId, guest: &str, act: Act) -> FsError {
        if &*self.grants.tree.node(dir).path == ARGS {
            return match act.access {
                Access::Read => ErrorCode::NoEntry.into(),
                Access::Write => ErrorCode::NotPermitted.into(),
            };
        }
        self.deny(act, guest);
        match act.access {
            Access::Read => ErrorCode::Access.into(),
            Access::Write => ErrorCode::NotPermitted.into(),
        }
    }

    /// Like [`FileGuard::absent`], for a name in a directory of the tree. A temporary that the guest has moved or removed is
    /// only missing.
    pub(crate) fn absent_beside(&self, beside: &MissingName, act: Act) -> FsError {
        if self.temporaries.was_made(beside.dir, &beside.name) {
            return ErrorCode::NoEntry.into();
        }
        self.absent(beside.dir, &join(&self.path_of(beside.dir), &beside.name), act)
    }
}
