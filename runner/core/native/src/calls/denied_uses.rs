//! Compares the uses of paths and addresses with the grants of a room.
//!
//! This file does not receive or answer calls; see `observe`.

use std::path::{Path, PathBuf};

use modbox_kernel::{NetPlan, Ports, ReportedCall};
use modbox_policy::net::Transport;
use modbox_policy::{Access, PathGrant, Shape};
use modbox_vocabulary::{Denial, Operation};

use crate::caller::call_arguments::{Address, address_of, follows, low, path_of, transport_of};
use crate::calls::observe::Observer;
use crate::calls::reported_calls::{CallEffect, WRITES};
use crate::rooms::base;
use crate::rooms::denials;
use crate::rooms::room::TMP;

/// Directory of the kernel's own interface. Programs look there for what the machine can do, and go on without it.
const KERNEL_INTERFACE: &str = "/sys";

impl Observer {
    /// Returns the denials of one call: two at most, of a renaming.
    pub(crate) fn denials_of(&self, report: &ReportedCall, effect: CallEffect) -> Vec<Denial> {
        if let CallEffect::Rename { from, to } = effect {
            let change = |path: PathBuf, makes: bool| {
                self.of_directory(&path, Operation::Change)
                    .or_else(|| self.write(report, path, Operation::Change, makes))
            };
            let from = path_of(report, from.0, from.1).and_then(|path| change(path, false));
            let to = path_of(report, to.0, to.1).and_then(|path| change(path, true));
            return from.into_iter().chain(to).collect();
        }
        self.denial_of(report, effect).into_iter().collect()
    }

    fn denial_of(&self, report: &ReportedCall, effect: CallEffect) -> Option<Denial> {
        let argument = |index: usize| report.arguments.get(index).copied().unwrap_or_default();
        match effect {
            CallEffect::Open { directory, path, flags } => {
                let path = path_of(report, directory, path)?;
                let flags = i32::try_from(argument(flags) & 0x7fff_ffff).unwrap_or_default();
                if flags & libc::O_PATH != 0 {
                    return None;
                }
                let writes = flags & WRITES != 0;
                if writes {
                    let is_new = flags & libc::O_CREAT != 0 && path.symlink_metadata().is_err();
                    let made = is_new.then(|| self.of_directory(&path, Operation::Open)).flatten();
                    made.or_else(|| self.write(report, path, Operation::Open, true))
                } else {
                    self.read(report, path, Operation::Open)
                }
            }
            CallEffect::Execute { directory, path, .. } => {
                self.read(report, path_of(report, directory, path)?, Operation::Execute)
            }
            CallEffect::Change { directory, path } => {
                self.write(report, path_of(report, directory, path)?, Operation::Change, false)
            }
            CallEffect::Remove { directory, path } => {
                let path = path_of(report, directory, path)?;
                let operation = if self.room.observed { Operation::Remove } else { Operation::Change };
                let refused = self.remove(&path).or_else(|| self.of_directory(&path, operation));
                refused.or_else(|| self.write(report, path, operation, false))
            }
            CallEffect::Make { directory, path } => {
                self.make(report, path_of(report, directory, path)?, Operation::Change)
            }
            CallEffect::MakeLink { directory, path } => {
                self.make(report, path_of(report, directory, path)?, Operation::MakeLink)
            }
            CallEffect::MakeDirectory { directory, path } => {
                self.make_directory(report, path_of(report, directory, path)?)
            }
            CallEffect::Look { directory, path, mode } => {
                let path = path_of(report, directory, path).filter(|path| !path.starts_with(KERNEL_INTERFACE))?;
                let asks_to_write = mode.is_some_and(|mode| low(argument(mode)) & libc::W_OK != 0);
                // What the module does not see at all, it needs to see first.
                if asks_to_write && self.grant_at(&self.room.behind_links(path.clone())).is_some() {
                    self.write(report, path, Operation::Look, false)
                } else {
                    self.read(report, path, Operation::Look)
                }
            }
            CallEffect::Rename { .. } => None,
            CallEffect::Connect { address, length } => self.connect(report, argument(address), argument(length)),
            CallEffect::Bind => self.bind(report, argument(1), argument(2)),
            CallEffect::Start
            | CallEffect::Identify
            | CallEffect::Allocate
            | CallEffect::Lock { .. }
            | CallEffect::Lease { .. }
            | CallEffect::GiveOpen => None,
        }
    }

    /// Returns the grant that shows a path to the module. A module that is observed will have a room.
    fn grant_at(&self, path: &Path) -> Option<&PathGrant> {
        match self.kernel.namespaces || self.room.observed {
            true => self.room.shown_at(path),
            false => self.room.grant_at(path),
        }
    }

    /// Returns whether a path is only a parent of granted paths, or the home or a parent of it.
    fn is_way(&self, path: &Path) -> bool {
        let below = |shown: &Path| shown != path && shown.starts_with(path);
        let shown = self.room.grants.iter().map(|grant| Path::new(&grant.guest)).chain([&*self.room.tmpdir]);
        path != Path::new(TMP) && (shown.into_iter().any(below) || self.leads_home(path))
    }

    /// Returns whether a path is the home or a parent of it, which the room has.
    fn leads_home(&self, path: &Path) -> bool {
        self.room.home.as_ref().is_some_and(|home| home.starts_with(path))
    }

    /// Returns whether a path is in one of the module's own directories. Below its `/tmp`, which hides the machine's,
    /// the path is the module's own if it exists in the room.
    fn is_own(&self, report: &ReportedCall, path: &Path) -> bool {
        if self.grant_at(path).is_some() || self.is_way(path) {
            return false;
        }
        if self.room.observed && path.starts_with(TMP) && !path.starts_with(&self.room.tmpdir) {
            return path == Path::new(TMP) || path.ancestors().any(|around| self.made.contains(around));
        }
        let hidden = self.kernel.namespaces && path.starts_with(TMP) && !path.starts_with(&self.room.tmpdir);
        match (hidden, path.strip_prefix("/")) {
            (true, Ok(below)) => {
                Path::new(&format!("/proc/{}/root", report.thread)).join(below).symlink_metadata().is_ok()
            }
            _ => self.own.iter().any(|own| path.starts_with(own)),
        }
    }

    /// Resolves a link of the base that leads out of it: a room has the link, and not what it leads to. In a room that
    /// exists, the module sees by itself that the link leads nowhere.
    fn out_of_base(&self, path: PathBuf) -> PathBuf {
        let is_of_base = self.room.observed && in_base(&path) && self.grant_at(&path).is_none();
        let real = if is_of_base { path.canonicalize().ok() } else { None };
        real.filter(|real| !in_base(real)).unwrap_or(path)
    }

    fn read(&self, report: &ReportedCall, path: PathBuf, operation: Operation) -> Option<Denial> {
        let path = self.out_of_base(self.room.behind_links(path));
        if let Some(grant) = self.grant_at(&path) {
            let around = grant.shape == Shape::Directory;
            return around.then(|| self.out_of_grant(report, &path, operation)).flatten();
        }
        let shown = self.is_own(report, &path) || in_base(&path);
        // A missing file cannot be read under any grant.
        // Interpreters look at the directory in which they are started.
        let is_start = operation == Operation::Look && self.start.starts_with(&path);
        if shown || is_start || path.symlink_metadata().is_err() || (self.is_way(&path) && !lists(&path, operation)) {
            return None;
        }
        Some(denials::read(&path, operation))
    }

    /// Returns the denial of following a link below a granted directory to a place that the module does not see: it then finds
    /// nothing there, and may go on without it. Without a room, it sees what it cannot open.
    fn out_of_grant(&self, report: &ReportedCall, path: &Path, operation: Operation) -> Option<Denial> {
        let is_hidden = self.kernel.namespaces || self.room.observed || operation != Operation::Look;
        if !self.kernel.reads || !is_hidden {
            return None;
        }
        let real = match follows(report) {
            true => path.canonicalize().ok()?,
            false => path.parent()?.canonicalize().ok()?.join(path.file_name()?),
        };
        let shown =
            self.is_own(report, &real) || self.grant_at(&real).is_some() || in_base(&real) || self.is_way(&real);
        if real == *path || shown || real.symlink_metadata().is_err() {
            return None;
        }
        Some(denials::read(&real, Operation::Follow))
    }

    /// Returns the denial of removing a granted directory itself, which is in a directory that is not granted.
    fn remove(&self, path: &Path) -> Option<Denial> {
        let is_it = |grant: &PathGrant| grant.shape == Shape::Directory && Path::new(&grant.guest) == path;
        let parent = self.grant_at(path.parent()?);
        let is_kept = self.room.grants.iter().any(is_it) && parent.is_none_or(|grant| grant.access == Access::Read);
        if is_kept { Some(denials::write(path, Operation::Change)) } else { None }
    }

    /// Returns the denial of making, replacing or removing a path that is granted by its name: Landlock has this right for
    /// directories alone. In namespaces a granted name has a directory of its own.
    fn of_directory(&self, path: &Path, operation: Operation) -> Option<Denial> {
        let granted = |path: &Path| self.grant_at(path).filter(|grant| grant.access == Access::Write);
        let is_name = granted(path).is_some_and(|grant| grant.shape == Shape::Name);
        // Of a module that is observed it is not known which confinement it will have.
        let needs_directory = self.room.observed && operation != Operation::Open && operation != Operation::Change;
        let is_refused = (!self.kernel.namespaces || needs_directory) && is_name && granted(path.parent()?).is_none();
        if is_refused { Some(denials::write(path, operation)) } else { None }
    }

    /// Returns the denial of making a directory. One that exists is only hidden from the module.
    fn make_directory(&self, report: &ReportedCall, path: PathBuf) -> Option<Denial> {
        let operation = Operation::MakeDirectory;
        let real = self.room.behind_links(path.clone());
        if real.is_dir() {
            let shown = self.is_own(report, &real)
                || self.grant_at(&real).is_some()
                || in_base(&real)
                || self.kernel.namespaces && self.leads_home(&real);
            return if shown { None } else { Some(denials::read(&real, operation)) };
        }
        self.make(report, path, operation)
    }

    fn make(&self, report: &ReportedCall, path: PathBuf, operation: Operation) -> Option<Denial> {
        self.of_directory(&path, operation).or_else(|| self.write(report, path, operation, true))
    }

    pub(crate) fn write(
        &self,
        report: &ReportedCall,
        path: PathBuf,
        operation: Operation,
        makes: bool,
    ) -> Option<Denial> {
        let path = self.room.behind_links(path);
        let parent = path.parent()?;
        // A file created in one of its own directories belongs to the module. Without a room, one may be there already.
        let creates = makes && !(self.room.observed && path.symlink_metadata().is_ok());
        if self.is_own(report, if creates { parent } else { &path })
            || self.grant_at(&path).is_some_and(|grant| grant.access == Access::Write)
        {
            return None;
        }
        let there = path.symlink_metadata().is_ok();
        // What the module makes in a directory of a granted name is found at the end.
        let is_read = there && self.grant_at(&path).is_some();
        if !in_base(&path) && !is_read && self.stages.contains(parent) {
            return None;
        }
        let could_be = there || makes && parent.is_dir();
        if could_be { Some(denials::write(&path, operation)) } else { None }
    }

    fn connect(&self, report: &ReportedCall, address: u64, length: u64) -> Option<Denial> {
        match address_of(report, address, length)? {
            Address::Path(path) => self.write(report, path, Operation::Connect, false),
            Address::Internet(address) => {
                let transport = transport_of(report);
                let net = &self.room.net;
                let open = match transport {
                    Transport::Tcp => holds(&net.connect, address.port()),
                    Transport::Udp => net.udp,
                };
                (!open).then_some(denials::connect(transport, address))
            }
        }
    }

    fn bind(&self, report: &ReportedCall, address: u64, length: u64) -> Option<Denial> {
        let Address::Internet(address) = address_of(report, address, length)? else { return None };
        let NetPlan { bind, udp, .. } = &self.room.net;
        let transport = transport_of(report);
        let open = match transport {
            Transport::Tcp => holds(bind, address.port()),
            // A socket that only sends binds port 0, which means any free port.
            Transport::Udp => *udp || address.port() == 0,
        };
        (!open).then_some(denials::bind(transport, address))
    }
}

fn holds(ports: &Ports, port: u16) -> bool {
    match ports {
        Ports::None => false,
        Ports::Some(list) => list.contains(&port),
        Ports::All => true,
    }
}

/// Returns whether a call lists a directory on the way to a grant, which the module can only pass. A room that has it below its
/// own `/tmp` lists it.
fn lists(way: &Path, operation: Operation) -> bool {
    operation == Operation::Open && !way.starts_with(TMP) && way.is_dir()
}

fn in_base(path: &Path) -> bool {
    base::paths().any(|base| path.starts_with(base))
}
