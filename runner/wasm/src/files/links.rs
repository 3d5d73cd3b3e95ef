//! Symbolic links with absolute targets. wasmtime-wasi creates none, because other programs that follow one leave the
//! directory. Here a target may be a path that was granted to the guest, and no other.

use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::files::guard::{FileGuard, GuardView};
use crate::files::names::code;
use crate::files::open::{Refusal, open_beneath};
use crate::files::resolve::{Act, MountPath};

impl GuardView<'_> {
    /// Creates a link to an absolute path in a writable mount.
    pub(super) fn make_absolute_link(&mut self, real: &MountPath, to: &str, act: Act) -> FsResult<()> {
        if !self.guard.grants_in_place(to) {
            self.guard.deny(Act::read(act.name), to);
            return Err(ErrorCode::NotPermitted.into());
        }
        let path = Path::new(&real.path);
        let (Some(folder), Some(name), false) = (path.parent(), path.file_name(), real.path.ends_with(['/', '.']))
        else {
            return Err(ErrorCode::NoEntry.into());
        };
        let folder = folder.to_str().filter(|folder| !folder.is_empty()).unwrap_or(".");
        let dir = self.host_dir(real.dir)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open_beneath(dir, folder, flags, Mode::empty()).map_err(|refused| {
            if matches!(refused, Refusal::Escape) {
                self.guard.deny_real(real, act);
            }
            code(refused)
        })?;
        self.guard.ledger.take_file()?;
        let made = rustix::fs::symlinkat(to, &folder, name).map_err(std::io::Error::from);
        Ok(made.inspect_err(|_| self.guard.ledger.give_file())?)
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
