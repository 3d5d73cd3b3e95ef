//! Symbolic links to absolute paths. wasmtime-wasi makes none, since whoever else follows one leaves the directory; here one may lead to
//! what the guest was granted, and nowhere else.

use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::files::names::code;
use crate::files::open::{Refused, open_beneath};
use crate::files::resolve::{Act, Real};
use crate::files::{FileGuard, GuardView};

impl GuardView<'_> {
    /// Makes a link to an absolute path in a writable mount.
    pub(super) fn make_absolute_link(&mut self, real: &Real, to: &str, act: Act) -> FsResult<()> {
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
            if matches!(refused, Refused::Escape) {
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
    /// Whether the guest was granted an absolute path, and it is the same one on the host. One that climbs is not looked at: what
    /// `..` means, links on the way decide.
    fn grants_in_place(&self, path: &str) -> bool {
        let climbs = Path::new(path).components().any(|part| part == Component::ParentDir);
        !climbs && self.is_granted(path) && self.host_of(path) == Path::new(path)
    }
}
