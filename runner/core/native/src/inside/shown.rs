//! Shows scripts in the place of the programs of commands outside, and the real programs beside them.
//!
//! A script has one line, which starts modbox as a [stub](crate::outside::stub). It is mounted on the very path that names the
//! program: where that is a link, such as `iptables`, on the link, since other programs may be behind the same file.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use modbox_kernel::{Links, Rights};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::inside::entries::{Entry, Rules, Source, tree};
use crate::inside::mounts::Attributes;
use crate::link::Failure;
use crate::outside::paths::{MODBOX, STUB_WORD, real_program};
use crate::rooms::shown_program::ShownProgram;
use crate::step::Step;

/// Directory of the scripts in the module's own file system.
const SCRIPTS: &str = "ask";

/// Longest first line that the kernel reads of a script (`BINPRM_BUF_SIZE`), with its end.
const MAX_LINE: usize = 255;

/// Adds the scripts, modbox and the real programs to the entries of a room. `private` is the module's own file system.
pub(crate) fn show(
    programs: &[ShownProgram],
    private: &OwnedFd,
    entries: &mut Vec<Entry>,
    rules: &mut Rules,
) -> Result<(), Failure> {
    if programs.is_empty() {
        return Ok(());
    }
    let at = |subject: &Path| {
        let subject = subject.to_owned();
        move |error: io::Error| Failure::with(Step::Stubs, &subject)(error)
    };
    let shown = |entries: &mut Vec<Entry>, rules: &mut Rules, from: &Path, to: PathBuf| -> Result<bool, Failure> {
        let Some(source) = tree(from, Attributes::READ_ONLY, false, Links::Follow)? else { return Ok(false) };
        rules.add(&to, Rights::RunFile);
        entries.push(Entry { at: to, source });
        Ok(true)
    };
    // A grant of the machine's own `/dev` would have to get the mount points.
    if entries.iter().any(is_machines_dev) {
        return Err(at(Path::new("/dev"))(Errno::BUSY.into()));
    }
    let own = this_program().map_err(at(Path::new(modbox_worker::THIS_PROGRAM)))?;
    if !shown(entries, rules, &own, MODBOX.into())? {
        return Err(at(&own)(Errno::NOENT.into()));
    }
    rustix::fs::mkdirat(private, SCRIPTS, Mode::from_raw_mode(0o755)).map_err(|errno| at(&own)(errno.into()))?;
    for (number, ShownProgram { program, place }) in programs.iter().enumerate() {
        // A program that this user cannot reach stays out of reach.
        if !shown(entries, rules, program, real_program(number, program))? {
            continue;
        }
        let script = format!("{SCRIPTS}/{number}");
        write_script(private, &script, number, program).map_err(at(program))?;
        entries.push(Entry { at: place.clone(), source: Source::Script(script) });
        rules.add(place, Rights::RunFile);
    }
    Ok(())
}

fn is_machines_dev(entry: &Entry) -> bool {
    matches!(entry.source, Source::Tree { .. })
        && (entry.at == Path::new("/dev") || entry.at.starts_with("/dev/modbox"))
}

/// Returns the path of the running program. Its descriptor in `/proc` is of another mount namespace, of which nothing can be
/// mounted.
fn this_program() -> io::Result<PathBuf> {
    let path = std::fs::read_link(modbox_worker::THIS_PROGRAM)?;
    let (running, found) = (std::fs::metadata(modbox_worker::THIS_PROGRAM)?, path.metadata()?);
    // A program of another version would not understand the script.
    let is_same = (running.dev(), running.ino()) == (found.dev(), found.ino());
    if is_same { Ok(path) } else { Err(Errno::STALE.into()) }
}

fn write_script(private: &OwnedFd, name: &str, number: usize, program: &Path) -> io::Result<()> {
    let mut line = format!("#!{MODBOX} {STUB_WORD}{number}:").into_bytes();
    line.extend_from_slice(program.as_os_str().as_bytes());
    line.push(b'\n');
    if line.len() > MAX_LINE {
        return Err(Errno::NAMETOOLONG.into());
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    // There is no umask while a room is made.
    File::from(rustix::fs::openat(private, name, flags, Mode::from_raw_mode(0o755))?).write_all(&line)
}
