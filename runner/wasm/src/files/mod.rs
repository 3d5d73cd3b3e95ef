//! The file guard: `wasi:filesystem` as guests see it, for components and adapted core modules alike.
//!
//! It stands around wasmtime-wasi's own host, which resolves paths beneath a directory and does most of the work, and
//! adds what that does not have:
//!
//! - grants of single files, and a tree of directories that exist only as far as the way to a grant needs (`tree`,
//!   `grants`, `names`);
//! - arguments from memory and a `/tmp` of the run's own;
//! - quotas of bytes, files and descriptors, and a record of every denial (`ledger`);
//! - modes and owners, which WASI does not have (`attributes`);
//! - files that cannot block: only regular files and directories are opened (`open`), and streams work on the guest's
//!   own thread (`streams`, `listing`).
//!
//! It costs less than it adds: what guests ask for most, opening, looking and listing, is done here in as few calls of the
//! kernel as there can be, and no file call is `async` (`host`).
//!
//! # Rules
//!
//! 1. The innermost grant around a path, by its letters, decides. A read-only grant inside a writable one is refused
//!    before the run.
//! 2. Beneath a granted directory the kernel resolves, and what leads out of it is not permitted, whatever else is
//!    granted.
//! 3. A granted name is never followed when it is a link: links were followed when it was granted.
//! 4. A file that is made beside a writable granted name is a temporary: the host sees it under a reserved name, and it
//!    is gone when the run is over unless it was renamed to a granted name.
//! 5. Nothing is moved or linked between a granted name and anything but a temporary or another granted name.
//! 6. A link says an absolute path only where a grant has that path, in the same place as the host. No guest follows it; others do.
//!
//! What it does not do: it does not see what other processes do in a
//! granted directory, but for refusing what they make of it.

mod attributes;
mod descriptors;
mod grants;
mod host;
mod ledger;
mod links;
mod listing;
mod names;
mod open;
mod open_file;
mod paths;
mod records;
mod resolve;
mod stat;
mod streams;
mod temporaries;
mod times;
mod tree;
mod two_paths;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use modbox_policy::{Owners, Policy};
use modbox_scratch::RunDir;
use modbox_vocabulary::{InputFile, Limits};
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::filesystem::{WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::sync::filesystem::types;
use wasmtime_wasi::p2::{FsError, FsResult};

pub(super) use self::attributes::add_attributes;
use self::grants::Grants;
pub(super) use self::ledger::Ledger;
use self::records::Records;
pub(super) use self::temporaries::Temporaries;

/// The guard of one run.
pub(super) struct FileGuard {
    grants: Grants,
    records: Records,
    /// To whom files may be given.
    owners: Owners,
    temporaries: Arc<Temporaries>,
    ledger: Arc<Ledger>,
    /// What wasmtime-wasi's host asks for; it knows no preopened directory.
    stock: WasiFilesystemCtx,
    /// The time of what only the guest has.
    made: SystemTime,
}

/// A granted path that cannot be opened.
#[derive(Debug)]
pub(super) struct CannotOpen {
    pub(super) path: PathBuf,
    pub(super) why: std::io::Error,
}

impl FileGuard {
    /// Opens what a policy grants, and the guest's own `/tmp` in the directory of the run.
    pub(super) fn new(
        policy: &Policy,
        files: &[InputFile],
        limits: &Limits,
        run_dir: Arc<RunDir>,
    ) -> Result<Self, CannotOpen> {
        let grants = Grants::open(policy, files, &run_dir)
            .map_err(|unusable| CannotOpen { path: unusable.path, why: unusable.why })?;
        Ok(Self {
            grants,
            records: Records::default(),
            owners: policy.owners(),
            temporaries: Arc::new(Temporaries::new(run_dir)),
            ledger: Arc::new(Ledger::new(limits)),
            stock: WasiFilesystemCtx::default(),
            made: SystemTime::now(),
        })
    }

    /// Returns the account, which can be read while the guest runs.
    pub(super) fn ledger(&self) -> Arc<Ledger> {
        Arc::clone(&self.ledger)
    }

    /// Returns the temporaries, which can be removed whether or not the guest's thread comes back.
    pub(super) fn temporaries(&self) -> Arc<Temporaries> {
        Arc::clone(&self.temporaries)
    }
}

/// The guard with the table that its descriptors are in.
pub(super) struct GuardView<'a> {
    pub(super) guard: &'a mut FileGuard,
    pub(super) table: &'a mut ResourceTable,
}

impl GuardView<'_> {
    fn stock(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView { ctx: &mut self.guard.stock, table: self.table }
    }
}

/// Returns what a function of wasmtime-wasi's says. It waits where files are handed to other threads; on descriptors
/// that may block this one, and the guard makes no others, it has its answer at once.
fn now<T>(call: impl Future<Output = FsResult<T>>) -> FsResult<T> {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(FsError::trap(wasmtime::Error::msg("a file operation waits for another thread"))),
    }
}

/// A store that has a guard.
pub(super) trait Guarded: Send {
    /// Returns the guard with its table.
    fn guard(&mut self) -> GuardView<'_>;
}

struct Files;

impl HasData for Files {
    type Data<'a> = GuardView<'a>;
}

/// Links `wasi:filesystem/preopens`.
pub(super) fn add_preopens<T: Guarded + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    preopens::add_to_linker::<T, Files>(linker, T::guard)
}

/// Links `wasi:filesystem/types`.
pub(super) fn add_types<T: Guarded + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    types::add_to_linker::<T, Files>(linker, T::guard)
}

#[cfg(test)]
mod tests {
    use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

    use super::*;

    #[test]
    fn a_call_that_would_wait_is_a_trap_and_one_that_does_not_is_its_answer() {
        assert_eq!(now(async { Ok(1) }).unwrap(), 1);
        assert!(now::<()>(async { Err(ErrorCode::Loop.into()) }).unwrap_err().downcast_ref().is_some());
        assert!(now::<()>(std::future::pending()).unwrap_err().downcast_ref().is_none());
    }
}
