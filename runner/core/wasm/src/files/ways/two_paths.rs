//! Operations on two paths: rename and hard link. An operation across the border of a granted name is refused, so that
//! its neighbours stay out of reach. The guest then copies, as it does between filesystems.

use modbox_vocabulary::Operation;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, PathFlags};
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::guard::GuardView;
use crate::files::replacing::keep::Lost;
use crate::files::replacing::temporaries::Temporary;
use crate::files::ways::names::HostName;
use crate::files::ways::target::{Act, MissingName, Target};

type Fd = Resource<Descriptor>;

impl GuardView<'_> {
    pub(crate) fn rename(&mut self, old: (Fd, String), new: (Fd, String)) -> FsResult<()> {
        let act = Act::write(Operation::RenameAt);
        let old = self.target(&old.0, old.1, act)?;
        let new = self.target(&new.0, new.1, act)?;
        self.rename_targets(old, new, act)
    }

    pub(crate) fn rename_targets(&mut self, old: Target, new: Target, act: Act) -> FsResult<()> {
        match (old, new) {
            (Target::Entry(old), Target::Entry(new)) => {
                // Check both, so that both denials are recorded.
                let from = self.may_change(old.mount, || old.guest(), act);
                let to = self.may_change(new.mount, || new.guest(), act);
                from.and(to)?;
                if old.is_kept || new.is_kept {
                    return Err(ErrorCode::Busy.into());
                }
                let (from, to) = (self.entry_dir(&old)?, self.entry_dir(&new)?);
                let renamed = rustix::fs::renameat(from, old.name_and_slash(), to, new.name_and_slash());
                renamed.map_err(|errno| self.across_devices(errno))
            }
            (Target::Temporary(file), Target::Name { index, dir }) => self.publish(&file, index, dir, act).map(drop),
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

    /// Moves a temporary to the granted name that it was created for. Returns what it could not keep.
    pub(crate) fn publish(&mut self, file: &Temporary, index: usize, dir: bool, act: Act) -> FsResult<Lost> {
        self.writable(index, act)?;
        if dir {
            return Err(ErrorCode::NotDirectory.into());
        }
        let host = self.host_name(index);
        let replaced = self.replaceable(&host)?;
        let lost = file.replace(&host.parent, &host.name, replaced.as_ref(), &self.guard.owners).map_err(failed)?;
        self.guard.temporaries.remove(file);
        Ok(lost)
    }

    /// Returns the status of the file that a temporary replaces; `None` if there is none, or a link.
    #[expect(clippy::unused_self, reason = "read as the others are")]
    fn replaceable(&self, host: &HostName) -> FsResult<Option<Stat>> {
        let Ok(stat) = host.stat() else { return Ok(None) };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some(stat)),
            FileType::Directory => Err(ErrorCode::IsDirectory.into()),
            FileType::Symlink => Ok(None),
            _ => Err(ErrorCode::NotPermitted.into()),
        }
    }

    fn rename_temporary(&mut self, file: &Temporary, beside: &MissingName, act: Act) -> FsResult<()> {
        if beside.slash {
            return Err(ErrorCode::NotDirectory.into());
        }
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
        renamed.map_err(failed)
    }

    pub(crate) fn link(&mut self, follow: PathFlags, old: (Fd, String), new: (Fd, String)) -> FsResult<()> {
        let act = Act::write(Operation::LinkAt);
        if follow.contains(PathFlags::SYMLINK_FOLLOW) {
            return Err(ErrorCode::Invalid.into());
        }
        // A `/` behind a link leads to its target, which is not a link and may be a directory.
        let old = self.on_path(&old.0, old.1, (act, Follow::Never), |view, target| match target {
            Target::Entry(entry) if entry.slash => {
                Ok(view.stat_unless_followed(&entry, Follow::Never)?.map(|_| Target::Entry(entry)))
            }
            target => Ok(Some(target)),
        })?;
        let new = self.target(&new.0, new.1, act)?;
        let (Target::Entry(old), Target::Entry(new)) = (&old, &new) else {
            return Err(self.not_across(&old, &new, act));
        };
        let from = self.may_change(old.mount, || old.guest(), act);
        let to = self.may_change(new.mount, || new.guest(), act);
        from.and(to)?;
        self.guard.ledger.take_file()?;
        let (from, to) = (self.entry_dir(old)?, self.entry_dir(new)?);
        let linked = rustix::fs::linkat(from, old.plain_name(), to, new.name_and_slash(), AtFlags::empty());
        linked.map_err(|errno| {
            self.guard.ledger.give_file();
            self.across_devices(errno)
        })
    }

    /// Returns the error of an operation on two paths. The guest copies where it is one between file systems.
    pub(crate) fn across_devices(&self, errno: Errno) -> FsError {
        if errno == Errno::XDEV {
            self.guard.ledger.note_refused_rename();
        }
        failed(errno)
    }

    /// Returns the error for two paths that cannot be combined. A read-only path is reported first, as everywhere.
    fn not_across(&self, old: &Target, new: &Target, act: Act) -> FsError {
        for (is_new, target) in [(false, old), (true, new)] {
            let refused = match target {
                Target::Entry(entry) => self.may_change(entry.mount, || entry.guest(), act).err(),
                Target::Folder(folder) => Some(self.not_an_entry(folder, act)),
                Target::Name { index, .. } => self.writable(*index, act).err(),
                Target::Virtual(node) => Some(self.deny_node(*node, act)),
                Target::Memory(_) => Some(ErrorCode::NotPermitted.into()),
                // A temporary could be created at the new path, so the error is that of any border.
                Target::Beside(beside) if is_new && self.guard.writable_name(beside.dir, &beside.name).is_some() => {
                    None
                }
                Target::Beside(beside) => Some(self.guard.absent_beside(beside, act)),
                Target::Temporary(_) => None,
            };
            if let Some(refused) = refused {
                return refused;
            }
        }
        if act.name == Operation::LinkAt { ErrorCode::NotPermitted.into() } else { ErrorCode::CrossDevice.into() }
    }
}
