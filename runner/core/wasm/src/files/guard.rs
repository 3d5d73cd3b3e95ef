//! The guard of one run, and how the store's data leads to it.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use modbox_policy::{Owners, Policy};
use modbox_scratch::RunDir;
use modbox_vocabulary::{InputFile, Limits};
use rustix::fs::Mode;
use wasmtime::component::{HasData, ResourceTable};
use wasmtime_wasi::filesystem::{WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::grants::{Grants, UnusableGrant};
use crate::files::ledger::Ledger;
use crate::files::records::Records;
use crate::files::replacing::temporaries::Temporaries;

/// The guard of one run.
pub(crate) struct FileGuard {
    pub(crate) grants: Grants,
    pub(crate) records: Records,
    /// User and group ids that files may be given to.
    pub(crate) owners: Owners,
    pub(crate) temporaries: Arc<Temporaries>,
    pub(crate) run_dir: Arc<RunDir>,
    pub(crate) ledger: Arc<Ledger>,
    /// Context for wasmtime-wasi's host, without preopened directories.
    stock: WasiFilesystemCtx,
    /// The permissions that new files do not get, beside those of the umask.
    pub(crate) new_mask: Mode,
    /// The times that `stat` reports for files that exist only for the guest.
    pub(crate) made: SystemTime,
}

impl FileGuard {
    /// Opens the paths that a policy grants, and the guest's `/tmp` in the run's directory.
    pub(crate) fn new(
        policy: &Policy,
        files: &[InputFile],
        limits: &Limits,
        run_dir: Arc<RunDir>,
    ) -> Result<Self, UnusableGrant> {
        Ok(Self {
            grants: Grants::open(policy, files, &run_dir)?,
            records: Records::default(),
            owners: policy.owners(),
            temporaries: Arc::new(Temporaries::new(Arc::clone(&run_dir))),
            run_dir,
            ledger: Arc::new(Ledger::new(limits)),
            stock: WasiFilesystemCtx::default(),
            new_mask: Mode::empty(),
            made: SystemTime::now(),
        })
    }

    /// Returns the ledger, which can be read while the guest runs.
    pub(crate) fn ledger(&self) -> Arc<Ledger> {
        Arc::clone(&self.ledger)
    }

    /// Returns the temporaries. They can be removed even if the guest's thread does not return.
    pub(crate) fn temporaries(&self) -> Arc<Temporaries> {
        Arc::clone(&self.temporaries)
    }
}

/// The guard with the resource table that holds its descriptors.
pub(crate) struct GuardView<'a> {
    pub(crate) guard: &'a mut FileGuard,
    pub(crate) table: &'a mut ResourceTable,
}

impl GuardView<'_> {
    pub(crate) fn stock(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView { ctx: &mut self.guard.stock, table: self.table }
    }
}

/// Returns the result of an `async` function of wasmtime-wasi without waiting. Such a function waits only when it hands
/// a file to another thread. On descriptors that may block this thread it finishes at once, and the guard creates no
/// others.
pub(crate) fn finish_now<T>(call: impl Future<Output = FsResult<T>>) -> FsResult<T> {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(FsError::trap(wasmtime::Error::msg("a file operation waits for another thread"))),
    }
}

/// A store that has a guard.
pub(crate) trait HasGuard: Send {
    /// Returns the guard with its table.
    fn guard(&mut self) -> GuardView<'_>;
}

/// Type that names the guard to the linker.
pub(crate) struct Files;

impl HasData for Files {
    type Data<'a> = GuardView<'a>;
}

#[cfg(test)]
mod tests {
    use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

    use super::*;

    #[test]
    fn a_call_that_would_wait_traps_and_a_finished_one_returns() {
        assert_eq!(finish_now(async { Ok(1) }).unwrap(), 1);
        assert!(finish_now::<()>(async { Err(ErrorCode::Loop.into()) }).unwrap_err().downcast_ref().is_some());
        assert!(finish_now::<()>(std::future::pending()).unwrap_err().downcast_ref().is_none());
    }
}
