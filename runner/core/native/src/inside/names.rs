//! Decides how the module sees each single name that it may write.
//!
//! It is a file in one of the room's own directories, from which it is taken back at the end. Where the module reads the
//! machine's directory, the other entries of that are mounted in the room's own one, see [`folder`]. In a directory
//! with too many entries it is the file itself, which must exist and cannot be replaced. A file that this user cannot
//! write is shown for reading, so that the module learns of it when it writes.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use modbox_kernel::{Links, Rights};
use modbox_policy::{Access, Owners, PathGrant, Shape};
use modbox_vocabulary::FileFingerprint;
use rustix::fs::Stat;

use crate::copies::stage;
use crate::inside::entries::{Entry, Rules, Source, tree};
use crate::inside::folder;
use crate::inside::mounts::Attributes;
use crate::link::{Failure, StageNames, StagedName};
use crate::rooms::directories::{make_directory, open_below};
use crate::rooms::room::Room;
use crate::step::Step;

/// Directories for files of the module's own, which the room has in place of the machine's.
pub(crate) const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];

/// Directory of single-name write grants, with its open descriptor.
pub(crate) type StageDirectory = (StageNames, OwnedFd);

/// Single names as the room shows them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) stages: Vec<StageDirectory>,
    /// Names that the module cannot make.
    pub(crate) unmade: Vec<PathBuf>,
    pub(crate) notes: Vec<String>,
    /// Number of the room's own directories for them.
    made: usize,
    /// Directories that also show the other entries of the machine's.
    folders: Vec<OwnFolder>,
}

/// One of the room's own directories in place of the machine's.
#[derive(Debug)]
struct OwnFolder {
    at: PathBuf,
    /// Its path in the room's own file system.
    own: PathBuf,
    /// The machine's.
    stat: Stat,
}

/// Shows each single name that the module may write.
pub(crate) fn show(
    room: &Room,
    private: &OwnedFd,
    entries: &mut Vec<Entry>,
    rules: &mut Rules,
) -> Result<Names, Failure> {
    let mut names = Names::default();
    let single = |grant: &&PathGrant| grant.shape == Shape::Name && grant.access == Access::Write;
    for grant in room.grants.iter().filter(single) {
        let (Some(directory), Some(name)) = (Path::new(&grant.guest).parent(), Path::new(&grant.guest).file_name())
        else {
            continue;
        };
        if let Some(refused) = room.read_only.iter().find(|refused| refused.host == grant.host) {
            names.notes.push(format!("`{}` can only be read: {}", grant.guest, refused.reason));
            names.show_in_place(grant, &grant.host, false, entries, rules)?;
            continue;
        }
        let own = match place(directory, entries) {
            NamePlace::Writable => continue,
            NamePlace::Machine => names.show_folder(room, grant, directory, private, entries, rules)?,
            NamePlace::Own(own) => Some(own),
            NamePlace::Missing => {
                Some(names.make_stage(grant, (directory, Rights::OwnWay), private, entries, rules)?)
            }
        };
        let failed = || Failure::with(Step::Grant, &grant.host);
        let place = room.single_files.place(&grant.host);
        match own {
            Some(own) if stage::fits(place, room.limits.max_disk).map_err(failed())? => {
                let opened = open_below(private, &own).map_err(failed())?;
                names.stage(room, grant, (directory, &name.to_string_lossy()), place, opened)?;
            }
            _ => names.show_in_place(grant, place, room.single_files.may_be_written_in_place(), entries, rules)?,
        }
    }
    Ok(names)
}

/// Directory of a name in the room.
enum NamePlace {
    /// In a directory of the machine that the module may write.
    Writable,
    /// In a directory of the machine.
    Machine,
    /// One of the room's own directories.
    Own(PathBuf),
    /// The room does not have it yet.
    Missing,
}

fn place(directory: &Path, entries: &[Entry]) -> NamePlace {
    let around = entries.iter().filter(|entry| directory.starts_with(&entry.at));
    let around = around.filter(|entry| !matches!(entry.source, Source::Link(_) | Source::Copy(..) | Source::Way));
    match around.max_by_key(|entry| entry.at.as_os_str().len()).map(|entry| (&entry.at, &entry.source)) {
        Some((_, Source::Tree { writable: true, .. })) => NamePlace::Writable,
        Some((_, Source::Tree { .. } | Source::Link(_) | Source::Copy(..) | Source::Way)) => NamePlace::Machine,
        Some((at, Source::Own(own))) if at == directory && is_writable(own) => NamePlace::Own(own.into()),
        // The root directory, `/dev` and the like stay as they are.
        None if directory == Path::new("/") => NamePlace::Machine,
        Some((_, Source::Own(own))) if !is_writable(own) => NamePlace::Machine,
        Some(_) | None => NamePlace::Missing,
    }
}

/// Returns whether the module may make files in one of the room's own directories.
fn is_writable(own: &str) -> bool {
    matches!(own, "tmp" | "shm") || own.starts_with("stage-")
}

impl Names {
    fn make_stage(
        &mut self,
        grant: &PathGrant,
        (directory, rights): (&Path, Rights),
        private: &OwnedFd,
        entries: &mut Vec<Entry>,
        rules: &mut Rules,
    ) -> Result<PathBuf, Failure> {
        let own = format!("stage-{}", self.made);
        self.made += 1;
        make_directory(private, &own, 0o755).map_err(Failure::with(Step::Grant, &grant.host))?;
        entries.push(Entry { at: directory.to_owned(), source: Source::Own(own.clone()) });
        rules.add(directory, rights);
        Ok(own.into())
    }

    /// Makes a directory of the room's own with the other entries of the machine's directory in it. Returns `None` where
    /// that is not possible.
    fn show_folder(
        &mut self,
        room: &Room,
        grant: &PathGrant,
        directory: &Path,
        private: &OwnedFd,
        entries: &mut Vec<Entry>,
        rules: &mut Rules,
    ) -> Result<Option<PathBuf>, Failure> {
        let Some(host) = folder::on_host(room, directory, grant) else { return Ok(None) };
        let failed = Failure::with(Step::Grant, &host);
        let Some(beside) = folder::read(room, &host, directory, entries).map_err(failed)? else { return Ok(None) };
        let own = self.make_stage(grant, (directory, Rights::OwnDirectory), private, entries, rules)?;
        entries.extend(beside.entries);
        self.folders.push(OwnFolder { at: directory.to_owned(), own: own.clone(), stat: beside.stat });
        Ok(Some(own))
    }

    /// Gives the directories that show the machine's their owners, modes and times, once everything is in them.
    pub(crate) fn describe_folders(&self, private: &OwnedFd) -> Result<(), Failure> {
        for OwnFolder { at, own, stat } in &self.folders {
            let described = open_below(private, own).and_then(|opened| folder::describe(&opened, stat));
            described.map_err(Failure::with(Step::Grant, at))?;
        }
        Ok(())
    }

    /// Copies the file at `place`, if it exists, into one of the room's own directories.
    fn stage(
        &mut self,
        room: &Room,
        grant: &PathGrant,
        at: (&Path, &str),
        place: &Path,
        opened: OwnedFd,
    ) -> Result<(), Failure> {
        let (directory, name) = (at.0.display().to_string(), at.1.to_owned());
        let own = Owners::Some(room.own.clone());
        let copied = stage::copy_in(place, &opened, &name, &own).map_err(Failure::with(Step::Grant, &grant.host))?;
        let (was, missing) = copied.map_or((None, Vec::new()), |copied| (Some(copied.was), copied.missing));
        let unseen = |what: &String| format!("the module does not see the {what} of `{}`; it stays", grant.guest);
        self.notes.extend(missing.iter().map(unseen));
        if let Some(other) = was.as_ref().and_then(|was| self.same_file(was)) {
            let note = format!("`{}` and `{other}` are one file, of which the module sees two copies", grant.guest);
            self.notes.push(note);
        }
        let staged = StagedName { name, host: place.to_owned(), was };
        match self.stages.iter_mut().find(|(stage, _)| stage.directory == directory) {
            Some((stage, _)) => stage.names.push(staged),
            None => {
                let private = TEMPORARY.contains(&directory.as_str());
                let shows_machine = self.folders.iter().any(|folder| folder.at == at.0);
                self.stages.push((StageNames { directory, private, shows_machine, names: vec![staged] }, opened));
            }
        }
        Ok(())
    }

    /// Returns a path in the room that shows a copy of the same file of the machine.
    fn same_file(&self, file: &FileFingerprint) -> Option<String> {
        let is_same = |was: &FileFingerprint| (was.device, was.inode) == (file.device, file.inode);
        self.stages.iter().find_map(|(stage, _)| {
            let found = stage.names.iter().find(|staged| staged.was.as_ref().is_some_and(is_same))?;
            Some(Path::new(&stage.directory).join(&found.name).display().to_string())
        })
    }

    /// Shows the file at `place` itself.
    fn show_in_place(
        &mut self,
        grant: &PathGrant,
        place: &Path,
        writable: bool,
        entries: &mut Vec<Entry>,
        rules: &mut Rules,
    ) -> Result<(), Failure> {
        let attributes = if writable { Attributes::PLAIN } else { Attributes::READ_ONLY };
        let Some(source) = tree(place, attributes, writable, Links::Refuse)? else {
            self.notes
                .push(format!("`{}` cannot be made, since its directory is granted for reading alone", grant.guest));
            self.unmade.push(PathBuf::from(&grant.guest));
            return Ok(());
        };
        if writable {
            self.notes.push(format!("`{}` is written in place and cannot be replaced or removed", grant.guest));
            rules.add(Path::new(&grant.guest), Rights::OwnFile);
        }
        entries.push(Entry { at: PathBuf::from(&grant.guest), source });
        Ok(())
    }
}
