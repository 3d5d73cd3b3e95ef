//! Operations on two paths: rename and hard link. An operation across the border of a granted name is refused, so that
//! its neighbours stay out of reach. The guest then copies, as it does between filesystems.

use modbox_vocabulary::Operation;
use rustix::fs::{FileType, Stat};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor, PathFlags};
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::guard::{GuardView, finish_now};
use crate::files::names::HostName;
use crate::files::resolve::{Act, MissingName, Target};
use crate::files::temporaries::Temporary;

type Fd = Resource<Descriptor>;

impl GuardView<'_> {
    pub(super) fn rename(&mut self, old: (Fd, String), new: (Fd, String)) -> FsResult<()> {
        let act = Act::write(Operation::RenameAt);
        let old = self.target(&old.0, old.1, act)?;
        let new = self.target(&new.0, new.1, act)?;
        match (old, new) {
            (Target::Real(old), Target::Real(new)) => {
                // Check both, so that both denials are recorded.
                let (from, to) = (self.may_change(&old, act), self.may_change(&new, act));
                from.and(to)?;
                let (from, to) = (Resource::new_borrow(old.dir), Resource::new_borrow(new.dir));
                let renamed = finish_now(self.stock().rename_at(from, old.path.clone(), to, new.path.clone()));
                renamed.map_err(|error| self.refused(&new, act, self.refused(&old, act, self.across_devices(error))))
            }
            (Target::Temporary(file), Target::Name { index, dir }) => self.publish(&file, index, dir, act),
            (Target::Temporary(file), Target::Beside(beside)) => self.rename_temporary(&file, &beside, act),
            (Target::Temporary(file), Target::Temporary(other)) => {
                self.guard.temporaries.rename(&file, other.dir, &other.name);
                Ok(())
            }
            (Target::Name { index: old, dir: false }, Target::Name { index: new, dir: false }) => {
                self.rename_name(old, new, act)
            }
            // Temporaries are removed at the end of the run, so the file's bytes would be lost.
            (Target::Name { index, .. }, Target::Beside(_) | Target::Temporary(_)) => {
                self.writable(index, act)?;
                self.host_name(index).stat()?;
                self.deny_name(index, act);
                Err(ErrorCode::NotPermitted.into())
            }
            (old, new) => Err(self.not_across(&old, &new, act)),
        }
    }

    /// Moves a temporary to the granted name that it was created for.
    fn publish(&mut self, file: &Temporary, index: usize, dir: bool, act: Act) -> FsResult<()> {
        self.writable(index, act)?;
        if dir {
            return Err(ErrorCode::NotDirectory.into());
        }
        let host = self.host_name(index);
        let replaced = self.replaceable(&host)?;
        let moved = file.replace(&host.parent, &host.name, replaced.as_ref());
        moved.map_err(std::io::Error::from)?;
        self.guard.temporaries.remove(file);
        Ok(())
    }

    /// Returns the status of the file or link that a temporary replaces; `None` if there is none.
    #[expect(clippy::unused_self, reason = "read as the others are")]
    fn replaceable(&self, host: &HostName) -> FsResult<Option<Stat>> {
        let Ok(stat) = host.stat() else { return Ok(None) };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some(stat)),
            FileType::Directory => Err(ErrorCode::IsDirectory.into()),
            FileType::Symlink => Err(ErrorCode::Loop.into()),
            _ => Err(ErrorCode::NotPermitted.into()),
        }
    }

    fn rename_temporary(&mut self, file: &Temporary, beside: &MissingName, act: Act) -> FsResult<()> {
        if self.guard.writable_name(beside.dir, &beside.name).is_none() {
            return Err(self.guard.absent_beside(beside, act));
        }
        self.guard.temporaries.rename(file, beside.dir, &beside.name);
        Ok(())
    }

    fn rename_name(&mut self, old: usize, new: usize, act: Act) -> FsResult<()> {
        let (from, to) = (self.writable(old, act), self.writable(new, act));
        from.and(to)?;
        let (from, to) = (self.host_name(old), self.host_name(new));
        if FileType::from_raw_mode(from.stat()?.st_mode) != FileType::RegularFile {
            return Err(ErrorCode::NotPermitted.into());
        }
        self.replaceable(&to)?;
        let renamed = rustix::fs::renameat(&*from.parent, from.name.as_os_str(), &*to.parent, to.name.as_os_str());
        Ok(renamed.map_err(std::io::Error::from)?)
    }

    pub(super) fn link(&mut self, follow: PathFlags, old: (Fd, String), new: (Fd, String)) -> FsResult<()> {
        let act = Act::write(Operation::LinkAt);
        if follow.contains(PathFlags::SYMLINK_FOLLOW) {
            return Err(ErrorCode::Invalid.into());
        }
        let old = self.target(&old.0, old.1, act)?;
        let new = self.target(&new.0, new.1, act)?;
        let (Target::Real(old), Target::Real(new)) = (&old, &new) else {
            return Err(self.not_across(&old, &new, act));
        };
        let (from, to) = (self.may_change(old, act), self.may_change(new, act));
        from.and(to)?;
        self.guard.ledger.take_file()?;
        let (from, to) = (Resource::new_borrow(old.dir), Resource::new_borrow(new.dir));
        let linked = finish_now(self.stock().link_at(from, follow, old.path.clone(), to, new.path.clone()));
        linked.map_err(|error| {
            self.guard.ledger.give_file();
            self.refused(new, act, self.refused(old, act, self.across_devices(error)))
        })
    }

    /// Returns the error of an operation on two paths. wasmtime-wasi 48 does not know `EXDEV` and calls it an
    /// input/output error, so the guest would not copy instead. A disk that does fail fails the guest's copy, too.
    fn across_devices(&self, error: FsError) -> FsError {
        match error.downcast_ref() {
            Some(ErrorCode::Io | ErrorCode::CrossDevice) => {
                self.guard.ledger.note_refused_rename();
                ErrorCode::CrossDevice.into()
            }
            _ => error,
        }
    }

    /// Returns the error for two paths that cannot be combined. A read-only path is reported first, as everywhere.
    fn not_across(&self, old: &Target, new: &Target, act: Act) -> FsError {
        for (is_new, target) in [(false, old), (true, new)] {
            let refused = match target {
                Target::Real(real) => self.may_change(real, act).err(),
                Target::Name { index, .. } => self.writable(*index, act).err(),
                Target::Virtual(node) => Some(self.deny_node(*node, act)),
                Target::Memory(_) => Some(ErrorCode::NotPermitted.into()),
                // A temporary could be created at the new path, so the error is that of any border.
                Target::Beside(beside) if is_new && self.guard.writable_name(beside.dir, &beside.name).is_some() => {
                    None
                }
                Target::Beside(beside) => Some(self.guard.gone_beside(beside, act)),
                Target::Temporary(_) => None,
            };
            if let Some(refused) = refused {
                return refused;
            }
        }
        if act.name == Operation::LinkAt { ErrorCode::NotPermitted.into() } else { ErrorCode::CrossDevice.into() }
    }
}
