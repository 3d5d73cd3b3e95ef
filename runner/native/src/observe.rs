//! Observes uses of paths and addresses without a grant, so that the report can name the switch that grants them.
//!
//! The seccomp filter of a room makes the kernel report calls that name a path or an address. The launcher reads the name
//! from the caller's memory, compares it with the room's grants, and lets the call go on. The result neither refuses
//! nor allows anything: a name that changes after the look falsifies only the report. Only locks of files that the
//! module reads are refused; see `locks`.
//!
//! The filter also reports calls that it refuses. The launcher records their names and refuses them, except those by
//! which a process changes its own limits and priorities, and those that set modes and times, which it makes itself; see
//! `attribute_calls` and `storage_flags`. And it reports calls that start processes or make memory which
//! the kernel does not count, so that the launcher does.
//!
//! Two kinds of calls are not reported, because programs make hundreds of them while they load themselves, and each
//! report costs them their turn on a busy machine: `stat`, and opening for reading only with `O_CLOEXEC`. The hints for a
//! failed module find what is missed here, from its arguments and output. `call_arguments` reads the arguments.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use modbox_kernel::{CallListener, NetPlan, Ports, ReportedCall};
use modbox_policy::net::Transport;
use modbox_policy::{Access, PathGrant, Shape};
use modbox_vocabulary::{Denial, Operation};

use crate::attribute_calls::{self, AttributeCall};
use crate::call_arguments::{Address, address_of, low, path_of, process_of, transport_of};
use crate::reported_calls::{CallEffect, KernelCounts, WRITES};
use crate::room::Room;
use crate::{base, charges, denials, locks, renames, storage_flags};

/// Maximum number of denials; more are not useful in a report.
const MAX_REFUSED: usize = 64;

/// Directory of the kernel's own interface. Programs look there for what the machine can do, and go on without it.
const KERNEL_INTERFACE: &str = "/sys";

/// Receiver of reports; collects the denials.
#[derive(Debug)]
pub(super) struct Observer {
    listener: CallListener,
    room: Room,
    /// The module's own directories. In namespaces it also has its own `/tmp`.
    own: Vec<PathBuf>,
    kernel: KernelCounts,
    /// Directories with single-name write grants. Other files created there are found at the end.
    stages: BTreeSet<PathBuf>,
    refused: BTreeSet<Denial>,
    /// Whether a directory of an overlay may have been renamed.
    renamed_directory: bool,
    /// Processes and threads that were started since they were last counted.
    started: u64,
    /// Bytes of memory that belongs to no process, of the whole run.
    allocated: u64,
}

/// A call that waits for an answer.
#[derive(Debug)]
pub(super) struct WaitingCall {
    report: ReportedCall,
    /// The effect, if the call is allowed.
    effect: Option<CallEffect>,
}

impl Observer {
    pub(super) fn new(listener: OwnedFd, room: &Room, kernel: KernelCounts) -> Self {
        let own: Vec<PathBuf> = vec!["/dev".into(), "/proc".into(), room.tmpdir.clone()];
        let mut stages = BTreeSet::new();
        if kernel.namespaces {
            let single = room.grants.iter().filter(|it| it.shape == Shape::Name && it.access == Access::Write);
            stages.extend(single.filter_map(|grant| Some(Path::new(&grant.guest).parent()?.to_owned())));
        }
        Self {
            listener: CallListener::new(listener),
            room: room.clone(),
            own,
            kernel,
            stages,
            refused: BTreeSet::new(),
            renamed_directory: false,
            started: 0,
            allocated: 0,
        }
    }

    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Receives one report, which must be [answered](Self::answer). Returns `None` if the caller has ended meanwhile.
    pub(super) fn receive(&mut self) -> Option<WaitingCall> {
        let report = self.listener.receive().ok()?;
        let effect = self.kernel.effect_of(report.number);
        match effect {
            Some(CallEffect::Start) => self.started += 1,
            Some(CallEffect::Allocate) => {
                self.allocated = self.allocated.saturating_add(charges::charge(&report));
            }
            _ => {}
        }
        Some(WaitingCall { report, effect })
    }

    /// Lets an allowed call go on, and refuses another. A call without an effect returns without being made.
    pub(super) fn answer(&mut self, call: &WaitingCall) {
        let WaitingCall { report, effect } = call;
        if effect.is_none() && storage_flags::are_set(report) {
            return self.listener.succeed(report);
        }
        if effect.is_none() && !self.kernel.namespaces && self.makes_attribute_call(report) {
            return;
        }
        if let Some(CallEffect::Rename { from, .. }) = effect {
            self.renamed_directory = self.renamed_directory || renames::may_be_of_overlay(report, *from);
        }
        let locked = effect.and_then(|effect| self.refused_lock(report, effect));
        let is_allowed = locked.is_none() && (effect.is_some() || self.is_on_itself(report));
        if self.refused.len() < MAX_REFUSED {
            match (effect, &locked) {
                (_, Some(path)) => self.refused.extend(denials::write(path, Operation::Change)),
                (Some(effect), None) => self.refused.extend(self.denials_of(report, *effect)),
                (None, None) if is_allowed => {}
                (None, None) => drop(self.refused.insert(modbox_kernel::refused_call(report.number))),
            }
        }
        match is_allowed {
            true => self.listener.allow(report),
            false => self.listener.refuse(report),
        }
    }

    /// Makes a call that sets a mode or times in the place of the module, and answers it. Returns `false`, without an
    /// answer, for a call that the launcher does not make.
    fn makes_attribute_call(&mut self, report: &ReportedCall) -> bool {
        match attribute_calls::make(report, &self.room) {
            None | Some(AttributeCall::Refused) => return false,
            Some(AttributeCall::Done) => self.listener.succeed(report),
            Some(AttributeCall::Failed(error)) => self.listener.fail(report, error),
            Some(AttributeCall::NotGranted(path)) => {
                if self.refused.len() < MAX_REFUSED {
                    self.refused.extend(self.write(report, path, Operation::Change, false));
                }
                self.listener.refuse(report);
            }
        }
        true
    }

    /// Returns how many processes and threads were started since [`Self::count_from_here`], the waiting one included.
    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// Begins to count started processes anew. `waiting` of them wait for an answer.
    pub(super) fn count_from_here(&mut self, waiting: u64) {
        self.started = waiting;
    }

    /// Returns the bytes of memory that belongs to no process, as far as the kernel does not count it.
    pub(super) fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Returns whether a refused call is one that a process may make on itself, and does so by its number.
    ///
    /// The caller waits, so the numbers of its thread and its process belong to no other one.
    fn is_on_itself(&self, report: &ReportedCall) -> bool {
        // In a PID namespace the numbers are others, and the filter allows these calls.
        if self.kernel.namespaces {
            return false;
        }
        let Some(named) = modbox_kernel::named_process(report) else { return false };
        named == report.thread || Some(named) == process_of(report.thread)
    }

    /// Returns whether the module may have renamed a directory of an overlay.
    pub(super) fn saw_renamed_directory(&self) -> bool {
        self.renamed_directory
    }

    /// Records a file that the module created and that is not kept.
    pub(super) fn stray(&mut self, path: &Path) {
        self.refused.extend(denials::write(path, Operation::CreateUnkept));
    }

    pub(super) fn refused(self) -> Vec<Denial> {
        self.refused.into_iter().collect()
    }

    /// Returns the path of a file that the module must not lock.
    fn refused_lock(&self, report: &ReportedCall, effect: CallEffect) -> Option<PathBuf> {
        let (CallEffect::Lock { descriptor } | CallEffect::Lease { descriptor }) = effect else { return None };
        let descriptor = low(*report.arguments.get(descriptor)?);
        locks::refused(report, descriptor, &self.room, self.kernel.namespaces)
    }

    /// Returns the denials of one call: two at most, of a renaming.
    fn denials_of(&self, report: &ReportedCall, effect: CallEffect) -> Vec<Denial> {
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
            CallEffect::Execute { path } => self.read(report, path_of(report, None, path)?, Operation::Execute),
            CallEffect::Change { directory, path } => {
                self.write(report, path_of(report, directory, path)?, Operation::Change, false)
            }
            CallEffect::Remove { directory, path } => {
                let path = path_of(report, directory, path)?;
                let refused = self.remove(&path).or_else(|| self.of_directory(&path, Operation::Change));
                refused.or_else(|| self.write(report, path, Operation::Change, false))
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
                if asks_to_write && self.room.grant_at(&self.room.behind_links(path.clone())).is_some() {
                    self.write(report, path, Operation::Look, false)
                } else {
                    self.read(report, path, Operation::Look)
                }
            }
            CallEffect::Rename { .. } => None,
            CallEffect::Connect { address, length } => self.connect(report, argument(address), argument(length)),
            CallEffect::Bind => self.bind(report, argument(1), argument(2)),
            CallEffect::Start | CallEffect::Allocate | CallEffect::Lock { .. } | CallEffect::Lease { .. } => None,
        }
    }

    /// Returns whether a path is only a parent of granted paths.
    fn is_way(&self, path: &Path) -> bool {
        let below = |shown: &Path| shown != path && shown.starts_with(path);
        let shown = self.room.grants.iter().map(|grant| Path::new(&grant.guest)).chain([&*self.room.tmpdir]);
        path != Path::new("/tmp") && shown.into_iter().any(below)
    }

    /// Returns whether a path is in one of the module's own directories. Below its `/tmp`, which hides the machine's,
    /// the path is the module's own if it exists in the room.
    fn is_own(&self, report: &ReportedCall, path: &Path) -> bool {
        if self.room.grant_at(path).is_some() || self.is_way(path) {
            return false;
        }
        let hidden = self.kernel.namespaces && path.starts_with("/tmp") && !path.starts_with(&self.room.tmpdir);
        match (hidden, path.strip_prefix("/")) {
            (true, Ok(below)) => {
                Path::new(&format!("/proc/{}/root", report.thread)).join(below).symlink_metadata().is_ok()
            }
            _ => self.own.iter().any(|own| path.starts_with(own)),
        }
    }

    fn read(&self, report: &ReportedCall, path: PathBuf, operation: Operation) -> Option<Denial> {
        let path = self.room.behind_links(path);
        let shown = self.is_own(report, &path) || self.room.grant_at(&path).is_some() || in_base(&path);
        // A missing file cannot be read under any grant.
        if shown || self.is_way(&path) || path.symlink_metadata().is_err() {
            return None;
        }
        denials::read(&path, operation)
    }

    /// Returns the denial of removing a granted directory itself, which is in a directory that is not granted.
    fn remove(&self, path: &Path) -> Option<Denial> {
        let is_it = |grant: &PathGrant| grant.shape == Shape::Directory && Path::new(&grant.guest) == path;
        let parent = self.room.grant_at(path.parent()?);
        let is_kept = self.room.grants.iter().any(is_it) && parent.is_none_or(|grant| grant.access == Access::Read);
        if is_kept { denials::write(path, Operation::Change) } else { None }
    }

    /// Returns the denial of making, replacing or removing a path that is granted by its name: Landlock has this right for
    /// directories alone. In namespaces a granted name has a directory of its own.
    fn of_directory(&self, path: &Path, operation: Operation) -> Option<Denial> {
        let granted = |path: &Path| self.room.grant_at(path).filter(|grant| grant.access == Access::Write);
        let is_name = granted(path).is_some_and(|grant| grant.shape == Shape::Name);
        let is_refused = !self.kernel.namespaces && is_name && granted(path.parent()?).is_none();
        if is_refused { denials::write(path, operation) } else { None }
    }

    /// Returns the denial of making a directory. One that exists is only hidden from the module.
    fn make_directory(&self, report: &ReportedCall, path: PathBuf) -> Option<Denial> {
        let operation = Operation::MakeDirectory;
        let real = self.room.behind_links(path.clone());
        if real.is_dir() {
            let shown = self.is_own(report, &real) || self.room.grant_at(&real).is_some() || in_base(&real);
            return if shown { None } else { denials::read(&real, operation) };
        }
        self.make(report, path, operation)
    }

    fn make(&self, report: &ReportedCall, path: PathBuf, operation: Operation) -> Option<Denial> {
        self.of_directory(&path, operation).or_else(|| self.write(report, path, operation, true))
    }

    fn write(&self, report: &ReportedCall, path: PathBuf, operation: Operation, makes: bool) -> Option<Denial> {
        let path = self.room.behind_links(path);
        let parent = path.parent()?;
        // A file created in one of its own directories belongs to the module.
        if self.is_own(report, if makes { parent } else { &path })
            || self.room.grant_at(&path).is_some_and(|grant| grant.access == Access::Write)
        {
            return None;
        }
        let there = path.symlink_metadata().is_ok();
        // What the module makes in a directory of a granted name is found at the end.
        let is_read = there && self.room.grant_at(&path).is_some();
        if !in_base(&path) && !is_read && self.stages.contains(parent) {
            return None;
        }
        let could_be = there || makes && parent.is_dir();
        if could_be { denials::write(&path, operation) } else { None }
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

fn in_base(path: &Path) -> bool {
    base::paths().any(|base| path.starts_with(base))
}
