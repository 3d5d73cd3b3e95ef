//! The file guard: `wasi:filesystem` as guests see it, for components and adapted core modules alike.
//!
//! It wraps wasmtime-wasi's own host, which resolves paths beneath a directory and does most of the work. The guard
//! adds:
//!
//! - grants of single files, and a tree of directories that exist only on the way to a grant (`tree`, `grants`,
//!   `names`);
//! - arguments served from memory, and a `/tmp` for each run;
//! - quotas of bytes, files and descriptors, and a record of every denial (`ledger`);
//! - modes and owners, which WASI does not have (`attributes`);
//! - file calls that cannot block: only regular files and directories are opened (`open`), and streams work on the
//!   guest's own thread (`streams`, `listing`).
//!
//! The guard is cheaper than the stock host. It implements the most frequent calls (open, stat, list) itself with as
//! few system calls as possible, and no file call is `async` (`host`).
//!
//! # Rules
//!
//! 1. The innermost grant around a path decides; paths are compared lexically. A read-only grant inside a writable one
//!    is refused before the run.
//! 2. The kernel resolves paths beneath a granted directory. A path that leads out of it is not permitted, whatever
//!    else is granted.
//! 3. A granted name that is a symbolic link is never followed: links were resolved when the name was granted.
//! 4. A file that is created beside a writable granted name is a temporary. On the host it has a reserved name. It is
//!    removed at the end of the run unless it was renamed to a granted name.
//! 5. A granted name can be renamed from or linked to only a temporary or another granted name.
//! 6. A symbolic link may have an absolute target only where a grant covers that path and the guest's path equals the
//!    host's. No guest follows such a link; other programs do.
//!
//! What the guard does not do: it does not see what other processes do in a granted directory. It only refuses the
//! files that it may not open, such as a FIFO or a link that leads out.

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
    /// User and group ids that files may be given to.
    owners: Owners,
    temporaries: Arc<Temporaries>,
    ledger: Arc<Ledger>,
    /// Context for wasmtime-wasi's host, without preopened directories.
    stock: WasiFilesystemCtx,
    /// The times that `stat` reports for files that exist only for the guest.
    made: SystemTime,
}

/// A granted path that cannot be opened.
#[derive(Debug)]
pub(super) struct GrantError {
    pub(super) path: PathBuf,
    pub(super) why: std::io::Error,
}

impl FileGuard {
    /// Opens the paths that a policy grants, and the guest's `/tmp` in the run's directory.
    pub(super) fn new(
        policy: &Policy,
        files: &[InputFile],
        limits: &Limits,
        run_dir: Arc<RunDir>,
    ) -> Result<Self, GrantError> {
        let grants = Grants::open(policy, files, &run_dir)
            .map_err(|unusable| GrantError { path: unusable.path, why: unusable.why })?;
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

    /// Returns the ledger, which can be read while the guest runs.
    pub(super) fn ledger(&self) -> Arc<Ledger> {
        Arc::clone(&self.ledger)
    }

    /// Returns the temporaries. They can be removed even if the guest's thread does not return.
    pub(super) fn temporaries(&self) -> Arc<Temporaries> {
        Arc::clone(&self.temporaries)
    }
}

/// The guard with the resource table that holds its descriptors.
pub(super) struct GuardView<'a> {
    pub(super) guard: &'a mut FileGuard,
    pub(super) table: &'a mut ResourceTable,
}

impl GuardView<'_> {
    fn stock(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView { ctx: &mut self.guard.stock, table: self.table }
    }
}

/// Returns the result of an `async` function of wasmtime-wasi without waiting. Such a function waits only when it hands
/// a file to another thread. On descriptors that may block this thread it finishes at once, and the guard creates no
/// others.
fn finish_now<T>(call: impl Future<Output = FsResult<T>>) -> FsResult<T> {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(FsError::trap(wasmtime::Error::msg("a file operation waits for another thread"))),
    }
}

/// A store that has a guard.
pub(super) trait HasGuard: Send {
    /// Returns the guard with its table.
    fn guard(&mut self) -> GuardView<'_>;
}

struct Files;

impl HasData for Files {
    type Data<'a> = GuardView<'a>;
}

/// Links `wasi:filesystem/preopens`.
pub(super) fn add_preopens<T: HasGuard + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    preopens::add_to_linker::<T, Files>(linker, T::guard)
}

/// Links `wasi:filesystem/types`.
pub(super) fn add_types<T: HasGuard + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    types::add_to_linker::<T, Files>(linker, T::guard)
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
