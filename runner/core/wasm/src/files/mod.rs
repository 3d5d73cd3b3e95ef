//! The file guard: `wasi:filesystem` as guests see it, for components and adapted core modules alike.
//!
//! It wraps wasmtime-wasi's own host, which resolves paths beneath a directory and does most of the work. The guard
//! adds:
//!
//! - grants of single files, and a tree of directories that exist only on the way to a grant (`tree`, `grants`,
//!   `names`);
//! - arguments served from memory, and a `/tmp` for each run;
//! - quotas of bytes, files and descriptors, and a record of every denial (`ledger`);
//! - links that lead from one grant to another, or back into the same one (`walk`);
//! - names that are not UTF-8 (`encoding`);
//! - modes and owners, which WASI does not have (`attributes`), and replacements of files, times before 1970, access and
//!   the umask (`changes`, `keep`);
//! - file calls that cannot block: only regular files and directories are opened (`open`), and streams work on the
//!   guest's own thread (`streams`, `listing`).
//!
//! The guard is cheaper than the stock host. It implements the most frequent calls (open, stat, list) itself with as
//! few system calls as possible, and no file call is `async` (`host`).
//!
//! # Rules
//!
//! 1. The innermost grant around a path decides. Paths are compared after links and `..` are resolved in the guest's own
//!    file system. A read-only grant inside a writable one is refused before the run.
//! 2. The kernel resolves paths without links beneath a granted directory; the guard walks the others. Neither leads out
//!    of what is granted: there, a look fails with `access` and a change with `not-permitted`.
//! 3. A link is followed to whatever is granted. A granted name that is a link grants that link, not its target.
//! 4. A file that is created beside a writable granted name is a temporary. On the host it has a reserved name. It is
//!    removed at the end of the run unless it was renamed to a granted name.
//! 5. A granted name can be renamed from or linked to only a temporary or another granted name.
//! 6. A guest can make an absolute link only where a grant covers its target and the guest's path equals the host's:
//!    other programs follow it by their own rights.
//!
//! What the guard does not do: it does not see what other processes do in a granted directory. It only refuses the
//! files that it may not open, such as a FIFO or a link that leads out.

mod denied;
mod encoding;
mod errno;
pub(crate) mod follow;
mod grants;
mod guard;
mod ledger;
pub(crate) mod open;
pub(crate) mod open_file;
pub(crate) mod operations;
pub(crate) mod planted;
mod records;
pub(crate) mod replacing;
pub(crate) mod stat;
pub(crate) mod tree;
mod unused_mounts;
pub(crate) mod ways;
pub(crate) mod written_programs;

use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::sync::filesystem::types;

pub(crate) use self::grants::WORKING;
use self::guard::Files;
pub(crate) use self::guard::{FileGuard, GuardView, HasGuard};
pub(crate) use self::ledger::Ledger;
pub(crate) use self::operations::attributes::add_attributes;
pub(crate) use self::operations::changes::add_changes;
pub(crate) use self::operations::file_systems::add_file_systems;

/// Links `wasi:filesystem/preopens`.
pub(crate) fn add_preopens<T: HasGuard + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    preopens::add_to_linker::<T, Files>(linker, T::guard)
}

/// Links `wasi:filesystem/types`.
pub(crate) fn add_types<T: HasGuard + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    types::add_to_linker::<T, Files>(linker, T::guard)
}
