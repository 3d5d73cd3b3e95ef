//! The ledger of one run: quotas used and denials. The run's streams share it, and so does the thread that waits for
//! the guest, so it can be read even if the guest's thread does not return.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use modbox_policy::Access;
use modbox_vocabulary::time::micros;
use modbox_vocabulary::{
    Capability, CommandEnd, CommandOutput, DenialLog, LimitHit, LimitKind, Limits, LostChange, Operation, Usage,
};

use crate::files::written_programs::WrittenPrograms;

/// Maximum number of notes, and of lost changes of commands.
const MAX_NOTES: usize = 64;

/// Quotas that a file's bytes count towards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// The quota of all writes.
    All,
    /// The quota of all writes, and the one of `/tmp`.
    Tmp,
}

/// The error for a quota that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuotaExceeded;

/// The ledger of one run.
#[derive(Debug)]
pub(crate) struct Ledger {
    limits: Limits,
    disk: AtomicU64,
    tmp: AtomicU64,
    files: AtomicU64,
    open: AtomicU64,
    peak_open: AtomicU64,
    cpu_us: AtomicU64,
    memory: AtomicU64,
    hit: Mutex<Option<LimitHit>>,
    denials: Mutex<DenialLog>,
    notes: Mutex<Vec<String>>,
    lost: Mutex<Vec<LostChange>>,
    refused_renames: AtomicBool,
    /// Files whose set-id bits go when the guest writes them.
    pub(crate) written_programs: WrittenPrograms,
}

/// A permit for one open descriptor; returned to the ledger when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Ledger>);

impl Permit {
    /// Returns the ledger that the permit was taken from.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Ledger {
    /// Creates an empty ledger.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            disk: AtomicU64::new(0),
            tmp: AtomicU64::new(0),
            files: AtomicU64::new(0),
            open: AtomicU64::new(0),
            peak_open: AtomicU64::new(0),
            cpu_us: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            hit: Mutex::default(),
            denials: Mutex::default(),
            notes: Mutex::default(),
            lost: Mutex::default(),
            refused_renames: AtomicBool::new(false),
            written_programs: WrittenPrograms::default(),
        }
    }

    /// Takes bytes from the quota; call it before they are written.
    pub(crate) fn take_bytes(&self, share: Share, bytes: u64) -> Result<(), QuotaExceeded> {
        if !take(&self.disk, bytes, self.limits.max_disk) {
            return self.exhausted(self.limits.hit(LimitKind::Disk));
        }
        if share == Share::Tmp && !take(&self.tmp, bytes, self.limits.max_tmp) {
            self.disk.fetch_sub(bytes, Ordering::Relaxed);
            return self.exhausted(self.limits.hit(LimitKind::Tmp));
        }
        Ok(())
    }

    /// Returns bytes to the quota that were not written.
    pub(crate) fn give_bytes(&self, share: Share, bytes: u64) {
        self.disk.fetch_sub(bytes, Ordering::Relaxed);
        if share == Share::Tmp {
            self.tmp.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Takes a file from the quota; call it before it is created.
    pub(crate) fn take_file(&self) -> Result<(), QuotaExceeded> {
        if take(&self.files, 1, self.limits.max_files) {
            return Ok(());
        }
        self.exhausted(self.limits.hit(LimitKind::Files))
    }

    /// Returns a file to the quota that was not created.
    pub(crate) fn give_file(&self) {
        self.files.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes a descriptor from the quota; call it before it is opened.
    pub(crate) fn take_descriptor(self: &Arc<Self>) -> Result<Permit, QuotaExceeded> {
        if !take(&self.open, 1, self.limits.max_descriptors) {
            self.exhausted(self.limits.hit(LimitKind::Descriptors))?;
        }
        let open = self.open.load(Ordering::Relaxed);
        if open > self.peak_open.load(Ordering::Relaxed) {
            self.peak_open.fetch_max(open, Ordering::Relaxed);
        }
        Ok(Permit(Arc::clone(self)))
    }

    fn exhausted(&self, hit: LimitHit) -> Result<(), QuotaExceeded> {
        self.hit.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(hit);
        Err(QuotaExceeded)
    }

    /// Returns the first quota that was used up.
    pub(crate) fn hit(&self) -> Option<LimitHit> {
        *self.hit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the limits for a command: what the run has left.
    pub(crate) fn remaining(&self) -> Limits {
        let left = |limit: u64, used: &AtomicU64| limit.saturating_sub(used.load(Ordering::Relaxed));
        Limits {
            cpu_time: self.limits.cpu_time.saturating_sub(Duration::from_micros(self.cpu_us.load(Ordering::Relaxed))),
            max_disk: left(self.limits.max_disk, &self.disk),
            max_files: left(self.limits.max_files, &self.files),
            ..self.limits
        }
    }

    /// Charges the use of a command to the run; it may be a little more than the command was allowed.
    pub(crate) fn spend(&self, output: &CommandOutput) {
        let cpu_us = micros(output.cpu_time);
        for (sum, used) in [(&self.cpu_us, cpu_us), (&self.disk, output.disk_bytes), (&self.files, output.files)] {
            sum.fetch_add(used, Ordering::Relaxed);
        }
        self.memory.fetch_max(output.memory_bytes, Ordering::Relaxed);
        output.notes.iter().for_each(|note| self.note(note.clone()));
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_NOTES.saturating_sub(lost.len());
        lost.extend(output.lost.iter().take(room).cloned());
        if let CommandEnd::Limit(hit) = output.end {
            // Names the run's own limit: the command may have had only the rest of it.
            let _ = self.exhausted(self.limits.hit(hit.kind));
        }
    }

    /// Adds a note for the operator, unless the same one or too many were added before.
    pub(crate) fn note(&self, note: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MAX_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Returns notes for the operator about the run.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the changes of commands that did not reach the machine.
    pub(crate) fn lost(&self) -> Vec<LostChange> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records that a rename or a link was refused as one between file systems.
    pub(crate) fn note_refused_rename(&self) {
        self.refused_renames.store(true, Ordering::Relaxed);
    }

    /// Returns whether one was.
    pub(crate) fn refused_renames(&self) -> bool {
        self.refused_renames.load(Ordering::Relaxed)
    }

    /// Fills in the run's use of files, bytes and descriptors.
    pub(crate) fn fill(&self, usage: &mut Usage) {
        usage.disk_bytes = self.disk.load(Ordering::Relaxed);
        usage.tmp_bytes = self.tmp.load(Ordering::Relaxed);
        usage.files = self.files.load(Ordering::Relaxed);
        usage.descriptors = self.peak_open.load(Ordering::Relaxed);
        usage.cpu_us = usage.cpu_us.saturating_add(self.cpu_us.load(Ordering::Relaxed));
        usage.memory_bytes = usage.memory_bytes.max(self.memory.load(Ordering::Relaxed));
    }

    /// Records a denial of reading or writing; see [`Ledger::deny_as`].
    pub(crate) fn deny(&self, access: Access, subject: &str, operation: Operation, flag: impl FnOnce() -> String) {
        self.deny_as(access.capability(), subject, operation, flag);
    }

    /// Records a denial. `flag` builds the flag that would allow it, and is called only when the log has room.
    pub(crate) fn deny_as(
        &self,
        capability: Capability,
        subject: &str,
        operation: Operation,
        flag: impl FnOnce() -> String,
    ) {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).record(capability, subject, operation, flag);
    }

    /// Returns the denials so far. What no option allows has an empty one.
    pub(crate) fn denials(&self) -> DenialLog {
        for path in self.written_programs.lost() {
            self.deny_as(Capability::Own, &path, Operation::SetId, String::new);
        }
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn take(used: &AtomicU64, more: u64, limit: u64) -> bool {
    let add = |used: u64| used.checked_add(more).filter(|sum| *sum <= limit);
    used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
}

/// Returns the flag that grants a host path at the path where the guest looks for it.
pub(crate) fn flag(access: Access, host: &Path, guest: &str) -> String {
    modbox_policy::mapped_path_option(access, host, guest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Arc<Ledger> {
        let limits = Limits { max_disk: 100, max_tmp: 40, max_files: 2, max_descriptors: 1, ..Limits::default() };
        Arc::new(Ledger::new(&limits))
    }

    #[test]
    fn bytes_of_tmp_count_twice_and_a_refused_write_costs_nothing() {
        let ledger = ledger();
        ledger.take_bytes(Share::Tmp, 40).unwrap();
        assert_eq!(ledger.take_bytes(Share::Tmp, 1), Err(QuotaExceeded));
        assert_eq!(ledger.hit().map(|hit| (hit.kind, hit.allowed)), Some((LimitKind::Tmp, 40)));
        ledger.take_bytes(Share::All, 60).unwrap();
        assert_eq!(ledger.take_bytes(Share::All, u64::MAX), Err(QuotaExceeded));
        ledger.give_bytes(Share::Tmp, 10);
        ledger.take_bytes(Share::All, 10).unwrap();
        let mut usage = Usage::default();
        ledger.fill(&mut usage);
        assert_eq!((usage.disk_bytes, usage.tmp_bytes), (100, 30));
    }

    #[test]
    fn a_dropped_permit_returns_its_descriptor() {
        let ledger = ledger();
        let permit = ledger.take_descriptor().unwrap();
        assert!(ledger.take_descriptor().is_err());
        drop(permit);
        drop(ledger.take_descriptor().unwrap());
        assert_eq!(ledger.hit().map(|hit| hit.kind), Some(LimitKind::Descriptors));
    }

    #[test]
    fn a_flag_can_be_pasted_into_a_shell() {
        let of = |host: &str, guest: &str| flag(Access::Read, Path::new(host), guest);
        assert_eq!(of("/etc/shadow", "/etc/shadow"), "--allow-read /etc/shadow");
        assert_eq!(of("/data/x", "/srv/x"), "--allow-read /data/x::/srv/x");
        assert_eq!(of("/a b/$(c)'", "/a b/$(c)'"), r#"--allow-read '/a b/$(c)'"'"''"#);
    }
}
