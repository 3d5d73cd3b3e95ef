//! Observes uses of paths and addresses without a grant, so that the report can name the switch that grants them.
//!
//! The seccomp filter of a room makes the kernel report calls that name a path or an address. The launcher reads the name
//! from the caller's memory, compares it with the room's grants, and lets the call go on. The result neither refuses
//! nor allows anything: a name that changes after the look falsifies only the report. Only locks of files that the
//! module reads, and owners that are not granted, are refused; see `locks` and `owners`.
//!
//! The filter also reports calls that it refuses. The launcher records their names and refuses them, except those by
//! which a process changes its own limits and priorities, and those that set modes and times, which it makes itself; see
//! `attribute_calls` and `storage_flags`. And it reports calls that start processes or make memory which
//! the kernel does not count, so that the launcher does.
//!
//! Two kinds of calls are reported only on request, because programs make hundreds of them while they load themselves, and
//! each report costs them their turn on a busy machine: `stat`, and opening files for reading only with `O_CLOEXEC`. The hints for
//! a failed module find what is missed here, from its arguments and output. `call_arguments` reads the arguments.
//!
//! A module that is observed has a filter that refuses nothing, and no room. The denials are then what a room would refuse,
//! with the calls that no grant allows.
//! Its `/tmp` is the machine's: what it has made there would be in the room's own.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use modbox_kernel::{CallListener, ReportedCall};
use modbox_policy::{Access, Shape};
use modbox_vocabulary::{Capability, Denial, Observation, Operation};

use crate::caller::call_arguments::{low, path_of, process_of};
use crate::calls::attribute_calls::{self, AttributeCall, FileRights};
use crate::calls::observed_run::ObservedRun;
use crate::calls::owners::{self, Judgement};
use crate::calls::reported_calls::{CallEffect, ReportScope};
use crate::calls::set_id::{self, RefusedBits};
use crate::calls::written_programs::WrittenPrograms;
use crate::calls::{charges, renames, storage_flags};
use crate::copies::commit::LostBits;
use crate::copies::locks;
use crate::outside::asks::Asks;
use crate::rooms::denials;
use crate::rooms::room::Room;

/// Maximum number of denials; more are not useful in a report.
const MAX_REFUSED: usize = 64;

/// Maximum number of denials of a module that is observed: they become the rules of its policy.
const MAX_OBSERVED: usize = 1024;

/// Receiver of reports; collects the denials.
#[derive(Debug)]
pub(crate) struct Observer {
    listener: CallListener,
    /// What the module asks for, if commands may run outside.
    asks: Option<Asks>,
    pub(crate) room: Room,
    /// The module's own directories. In namespaces it also has its own `/tmp`.
    pub(crate) own: Vec<PathBuf>,
    /// Directory of the caller, in which a module starts that is not confined.
    pub(crate) start: PathBuf,
    pub(crate) kernel: ReportScope,
    /// Whose files the module may change, if the launcher does it in its place.
    rights: FileRights,
    /// Directories with single-name write grants. Other files created there are found at the end.
    pub(crate) stages: BTreeSet<PathBuf>,
    pub(crate) refused: BTreeSet<Denial>,
    pub(crate) refused_bits: RefusedBits,
    /// Files whose set-id bits go when the module writes them.
    written_programs: WrittenPrograms,
    /// Maximum number of denials. When it is reached, there may be more.
    pub(crate) most: usize,
    /// The record of an observed module, beside its denials.
    pub(crate) observed: Option<ObservedRun>,
    /// What a module that is observed has made below `/tmp`.
    pub(crate) made: BTreeSet<PathBuf>,
    /// Whether a directory of an overlay may have been renamed.
    renamed_directory: bool,
    /// Processes and threads that were started since they were last counted.
    started: u64,
    /// Bytes of memory that belongs to no process, of the whole run.
    allocated: u64,
}

/// A call that waits for an answer.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    report: ReportedCall,
    /// The effect, if the call is allowed.
    effect: Option<CallEffect>,
}

impl Observer {
    /// `start` is the directory of the caller.
    pub(crate) fn new(listener: OwnedFd, room: &Room, start: &Path, kernel: ReportScope, rights: FileRights) -> Self {
        let own: Vec<PathBuf> = vec!["/dev".into(), "/proc".into(), room.tmpdir.clone()];
        let mut stages = BTreeSet::new();
        if kernel.namespaces {
            let single = room.grants.iter().filter(|it| it.shape == Shape::Name && it.access == Access::Write);
            stages.extend(single.filter_map(|grant| Some(Path::new(&grant.guest).parent()?.to_owned())));
        }
        Self {
            listener: CallListener::new(listener),
            asks: None,
            room: room.clone(),
            own,
            start: start.to_owned(),
            kernel,
            rights,
            stages,
            refused: BTreeSet::new(),
            refused_bits: RefusedBits::default(),
            written_programs: WrittenPrograms::default(),
            most: if room.observed { MAX_OBSERVED } else { MAX_REFUSED },
            observed: None,
            made: BTreeSet::new(),
            renamed_directory: false,
            started: 0,
            allocated: 0,
        }
    }

    /// Notes the commands of a module that is observed. `by_shell`: a shell starts it. `uid` is the number of its user.
    pub(crate) fn with_commands(self, by_shell: bool, uid: u32) -> Self {
        Self { observed: Some(ObservedRun::new(by_shell, uid)), ..self }
    }

    /// Lets the module ask for commands outside.
    pub(crate) fn with_asks(self, asks: Option<Asks>) -> Self {
        Self { asks, ..self }
    }

    /// Returns the channel on which answers to asks arrive.
    pub(crate) fn answers(&self) -> Option<BorrowedFd<'_>> {
        self.asks.as_ref().and_then(Asks::channel)
    }

    /// Passes on an answer that has arrived.
    pub(crate) fn pass_answer(&mut self) {
        if let Some(asks) = &mut self.asks {
            asks.answer(&self.listener);
        }
    }

    pub(crate) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Receives one report, which must be [answered](Self::answer). Returns `None` if the caller has ended meanwhile.
    pub(crate) fn receive(&mut self) -> Option<WaitingCall> {
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
    pub(crate) fn answer(&mut self, call: &WaitingCall) {
        let WaitingCall { report, effect } = call;
        if let Some(asks) = self.asks.as_mut().filter(|_| Asks::is_ask(report)) {
            return asks.take(&self.listener, report);
        }
        if self.room.observed {
            self.record_use(report, *effect);
            return self.listener.allow(report);
        }
        if modbox_kernel::sets_id(report) {
            return self.answer_set_id(report, *effect);
        }
        if effect.is_none() && storage_flags::are_set(report) {
            return self.listener.succeed(report);
        }
        if effect.is_none() && !self.kernel.namespaces && self.makes_attribute_call(report) {
            return;
        }
        if let Some(CallEffect::Rename { from, to }) = effect {
            self.renamed_directory = self.renamed_directory || renames::may_be_of_overlay(report, *from);
            self.follow_bits(report, *from, *to);
        }
        if let Some(effect) = effect.filter(|_| self.rights == FileRights::Root) {
            self.written_programs.note_open(report, effect, &self.room);
        }
        let judgement = self.owner_judgement(report);
        match judgement {
            Judgement::Made => return self.listener.succeed(report),
            Judgement::Failed(errno) => return self.listener.fail(report, errno),
            Judgement::Allowed | Judgement::Refused(_) => {}
        }
        let denied = effect.and_then(|effect| self.refusal(report, effect, judgement));
        let is_allowed = denied.is_none() && (effect.is_some() || self.is_on_itself(report));
        if self.refused.len() < self.most {
            match (effect, denied) {
                (_, Some(denied)) => self.refused.extend(denied),
                (Some(effect), None) => self.refused.extend(self.denials_of(report, *effect)),
                (None, None) if is_allowed => {}
                (None, None) => drop(self.refused.insert(modbox_kernel::refused_use(report))),
            }
        }
        match is_allowed {
            true => self.listener.allow(report),
            false => self.listener.refuse(report),
        }
    }

    /// Makes a call that sets a set-id bit, or refuses it.
    fn answer_set_id(&mut self, report: &ReportedCall, effect: Option<CallEffect>) {
        let made = match self.kernel.namespaces {
            true => set_id::make(report, &self.room),
            false => attribute_calls::make(report, &self.room, self.rights),
        };
        match made {
            Some(AttributeCall::Done) => {
                if self.rights == FileRights::Root {
                    self.written_programs.note_set(report, &self.room);
                }
                return self.listener.succeed(report);
            }
            Some(AttributeCall::Failed(error)) => return self.listener.fail(report, error),
            Some(AttributeCall::NotGranted(path)) => {
                let denials = self.write(report, path, Operation::Change, false);
                self.refused.extend(denials.into_iter().take(self.most.saturating_sub(self.refused.len())));
                return self.listener.refuse(report);
            }
            // A mode has no owner.
            None | Some(AttributeCall::Refused | AttributeCall::OwnerNotGranted(_)) => {}
        }
        if !self.refused_bits.record(report, effect, &self.room) && self.refused.len() < self.most {
            self.refused.insert(modbox_kernel::refused_use(report));
        }
        self.listener.refuse(report);
    }

    /// Notes the new name of a file whose set-id bit was refused.
    fn follow_bits(&mut self, report: &ReportedCall, from: (Option<usize>, usize), to: (Option<usize>, usize)) {
        if self.refused_bits.is_empty() && self.written_programs.is_empty() {
            return;
        }
        if let (Some(from), Some(to)) = (path_of(report, from.0, from.1), path_of(report, to.0, to.1)) {
            self.written_programs.rename(&from, &to);
            self.refused_bits.rename(&from, to);
        }
    }

    /// Makes a call that sets a mode or times in the place of the module, and answers it. Returns `false`, without an
    /// answer, for a call that the launcher does not make.
    fn makes_attribute_call(&mut self, report: &ReportedCall) -> bool {
        match attribute_calls::make(report, &self.room, self.rights) {
            None | Some(AttributeCall::Refused) => return false,
            Some(AttributeCall::Done) => self.listener.succeed(report),
            Some(AttributeCall::Failed(error)) => self.listener.fail(report, error),
            Some(AttributeCall::NotGranted(path)) => {
                if self.refused.len() < self.most {
                    self.refused.extend(self.write(report, path, Operation::Change, false));
                }
                self.listener.refuse(report);
            }
            Some(AttributeCall::OwnerNotGranted(denial)) => {
                if self.refused.len() < self.most {
                    self.refused.insert(denial);
                }
                self.listener.refuse(report);
            }
        }
        true
    }

    /// Returns how many processes and threads were started since [`Self::count_from_here`], the waiting one included.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// Begins to count started processes anew. `waiting` of them wait for an answer.
    pub(crate) fn count_from_here(&mut self, waiting: u64) {
        self.started = waiting;
    }

    /// Returns the bytes of memory that belongs to no process, as far as the kernel does not count it.
    pub(crate) fn allocated(&self) -> u64 {
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
    pub(crate) fn saw_renamed_directory(&self) -> bool {
        self.renamed_directory
    }

    /// Records a file that has lost the set-id bits of a mode.
    pub(crate) fn lose_bits(&mut self, LostBits { path, mode, uid, gid, granted }: &LostBits) {
        match granted {
            true => self.refused_bits.add_unconfined(path),
            false => self.refused_bits.add(path, *mode, *uid, *gid),
        };
    }

    /// Records a file that the module created and that is not kept.
    pub(crate) fn stray(&mut self, path: &Path) {
        self.refused.insert(denials::write(path, Operation::CreateUnkept));
    }

    /// Returns the denials, whether there may be more, and what else is known of an observed module.
    pub(crate) fn refused(mut self) -> (Vec<Denial>, bool, Observation) {
        let is_full = self.refused.len() >= self.most;
        let lost = std::mem::take(&mut self.written_programs).into_lost();
        lost.for_each(|path| self.refused_bits.add_unconfined(&path));
        self.refused.extend(self.refused_bits.into_denials());
        let mut denials: Vec<Denial> = self.refused.into_iter().collect();
        if self.kernel.reads {
            // A program that opens a path has often looked at it before.
            let used: BTreeSet<String> =
                denials.iter().filter(|it| !is_look(it)).map(|it| it.subject.clone()).collect();
            denials.retain(|denial| !is_look(denial) || !used.contains(&denial.subject));
        }
        let observation = self.observed.map(ObservedRun::into_observation).unwrap_or_default();
        (denials, is_full, observation)
    }

    /// Returns the denials of a call that the launcher refuses although the filter allows it.
    fn refusal(&self, report: &ReportedCall, effect: CallEffect, judgement: Judgement) -> Option<Vec<Denial>> {
        if let Some(path) = self.refused_lock(report, effect) {
            return Some(vec![denials::write(&path, Operation::Change)]);
        }
        match judgement {
            Judgement::Refused(denial) => Some(vec![denial]),
            Judgement::Allowed | Judgement::Made | Judgement::Failed(_) => None,
        }
    }

    /// Judges a call that may give a file an owner. Without namespaces the launcher makes these calls by itself.
    fn owner_judgement(&self, report: &ReportedCall) -> Judgement {
        if self.kernel.namespaces { owners::judge(report, &self.room) } else { Judgement::Allowed }
    }

    /// Returns the path of a file that the module must not lock.
    fn refused_lock(&self, report: &ReportedCall, effect: CallEffect) -> Option<PathBuf> {
        let (CallEffect::Lock { descriptor } | CallEffect::Lease { descriptor }) = effect else { return None };
        let descriptor = low(*report.arguments.get(descriptor)?);
        locks::refused(report, descriptor, &self.room, self.kernel.namespaces)
    }
}

fn is_look(denial: &Denial) -> bool {
    (denial.capability, denial.operation) == (Capability::Read, Operation::Look)
}
