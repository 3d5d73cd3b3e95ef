//! Single names that the module may write, as the room shows them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use modbox_kernel::{Links, Rights};
use modbox_policy::{Access, PathGrant, Shape};

use crate::entries::{Entry, Rules, Source, tree};
use crate::link::{Failure, StageNames, StagedName};
use crate::mounts::Attributes;
use crate::own::{make_directory, open_below};
use crate::room::Room;
use crate::stage;
use crate::step::Step;

/// Directory of single-name write grants, with its open descriptor.
pub(super) type StageDirectory = (StageNames, OwnedFd);

/// Decides how the module sees each single name that it may write. By default it is a file in one of the room's own
/// directories, from which it is copied back at the end. Where its directory is one of the machine's, it is the file
/// itself, which must exist and cannot be replaced.
pub(super) fn show(
    room: &Room,
    private: &OwnedFd,
    entries: &mut Vec<Entry>,
    rules: &mut Rules,
) -> Result<(Vec<StageDirectory>, Vec<String>), Failure> {
    let mut stages: Vec<StageDirectory> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let single = |grant: &&PathGrant| grant.shape == Shape::Name && grant.access == Access::Write;
    for grant in room.grants.iter().filter(single) {
        let guest = Path::new(&grant.guest);
        let (Some(directory), Some(name)) = (guest.parent(), guest.file_name()) else { continue };
        let name = name.to_string_lossy().into_owned();
        let around = entries.iter().filter(|entry| directory.starts_with(&entry.at));
        let around = around.filter(|entry| !matches!(entry.source, Source::Link(_) | Source::Copy(..)));
        let own = match around.max_by_key(|entry| entry.at.as_os_str().len()).map(|entry| (&entry.at, &entry.source)) {
            Some((_, Source::Tree { writable: true, .. })) => continue,
            Some((_, Source::Tree { .. } | Source::Link(_) | Source::Copy(..))) => None,
            Some((at, Source::Own(own))) if at == directory && (own == "tmp" || own.starts_with("stage-")) => {
                Some(PathBuf::from(own))
            }
            // The root directory, `/dev` and the like stay as they are.
            None if directory == Path::new("/") => None,
            Some((_, Source::Own(own))) if own != "tmp" && !own.starts_with("stage-") => None,
            Some(_) | None => {
                let own = format!("stage-{}", stages.len());
                make_directory(private, &own, 0o755).map_err(Failure::with(Step::Grant, &grant.host))?;
                entries.push(Entry { at: directory.to_owned(), source: Source::Own(own.clone()) });
                rules.add(directory, Rights::OwnDirectory);
                Some(own.into())
            }
        };
        let failed = || Failure::with(Step::Grant, &grant.host);
        if let Some(own) = own
            && stage::fits(&grant.host, room.limits.max_disk).map_err(failed())?
        {
            let opened = open_below(private, &own).map_err(failed())?;
            let copied = stage::copy_in(&grant.host, &opened, &name).map_err(failed())?;
            let (was, missing) = copied.map_or((None, Vec::new()), |copied| (Some(copied.was), copied.missing));
            let unseen = |what: &String| format!("the module does not see the {what} of `{}`; it stays", grant.guest);
            notes.extend(missing.iter().map(unseen));
            let staged = StagedName { name, host: grant.host.clone(), was };
            let directory = directory.display().to_string();
            match stages.iter_mut().find(|(stage, _)| stage.directory == directory) {
                Some((stage, _)) => stage.names.push(staged),
                None => {
                    let private = directory == "/tmp";
                    let names = vec![staged];
                    stages.push((StageNames { directory, private, names }, opened));
                }
            }
            continue;
        }
        match tree(&grant.host, Attributes::PLAIN, true, Links::Refuse)? {
            Some(source) => {
                notes.push(format!("`{}` is written in place and cannot be replaced or removed", grant.guest));
                entries.push(Entry { at: guest.to_owned(), source });
                rules.add(guest, Rights::OwnFile);
            }
            None => notes
                .push(format!("`{}` cannot be made, since its directory is granted for reading alone", grant.guest)),
        }
    }
    Ok((stages, notes))
}
