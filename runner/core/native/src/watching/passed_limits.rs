//! The limits that a running module has exceeded: those that the kernel does not enforce by itself are measured here.

use modbox_vocabulary::LimitKind;

use crate::processes::sockets;
use crate::processes::tree::Process;
use crate::protocol::Spec;
use crate::system;
use crate::watching::watch::Tree;

impl Tree {
    /// Returns the exceeded limit of the room's own file system, and of a directory that it shares.
    pub(crate) fn overfull(&self, spec: &Spec) -> Option<LimitKind> {
        let limits = &spec.room.as_ref()?.limits;
        let private = self.resources.private();
        let held = private.bytes.saturating_add(self.resources.left_by_others());
        let tmp = (held > limits.max_tmp).then_some(LimitKind::Tmp);
        tmp.or_else(|| (private.files > limits.max_files).then_some(LimitKind::Files))
    }

    /// Returns the limit of bytes written to disks if it is exceeded at the end.
    pub(crate) fn overwritten(&self, spec: &Spec) -> Option<LimitKind> {
        let (limits, used) = (&spec.room.as_ref().filter(|room| !room.observed)?.limits, self.used()?);
        (used.bytes.saturating_sub(used.private) > limits.max_disk).then_some(LimitKind::Disk)
    }

    /// Returns the first exceeded limit.
    pub(crate) fn passed_limit(&self, spec: &Spec) -> Option<LimitKind> {
        let overfull = self.overfull(spec);
        if overfull.is_some() {
            return overfull;
        }
        let enforced = self.resources.enforced();
        if enforced.is_some() {
            return enforced;
        }
        // A check that fails is repeated at the next interval; the kernel's own limits hold meanwhile.
        let (proc, processes) = match self.resources.proc.as_ref().map(|own| (own, own.processes())) {
            Some((own, Ok(processes))) => (own, processes),
            _ => (&*self.proc, self.proc.descendants(self.own).ok()?),
        };
        let threads: u64 = processes.iter().map(|process| process.threads).sum();
        if threads > most_threads(spec) {
            return Some(LimitKind::Processes);
        }
        let living: u64 = processes.iter().map(|process| process.cpu_us).sum();
        if living.saturating_add(system::children_usage().cpu_us) > spec.cpu_time_us {
            return Some(LimitKind::Cpu);
        }
        if let Some(room) = spec.room.as_ref().filter(|room| !room.observed) {
            let written: u64 = processes.iter().map(|process| proc.written(process)).sum();
            if written > room.limits.max_disk {
                return Some(LimitKind::Disk);
            }
        }
        let sum = || processes.iter().map(|process| proc.memory_bytes(process)).sum();
        let held = self.resources.held();
        let buffers = || sockets::buffers(proc, &processes, spec.max_memory);
        let too_much = held.unwrap_or_else(sum) > spec.max_memory || held.is_none() && buffers() > spec.max_memory;
        too_much.then_some(LimitKind::Memory)
    }

    /// Returns the limit that would be exceeded if the call that waits for an answer went on.
    pub(crate) fn limit_passed_by_calls(&mut self, spec: &Spec) -> Option<LimitKind> {
        let observer = self.resources.observer.as_ref()?;
        if observer.allocated() > spec.max_memory {
            return Some(LimitKind::Memory);
        }
        // At most so many run now. A check takes long, so there is none before that can be too many.
        if self.last_count.saturating_add(observer.started()) <= most_threads(spec) {
            return None;
        }
        let processes = self.proc.descendants(self.own).ok()?;
        let waiting = 1;
        self.note_count(&processes, waiting);
        (self.last_count.saturating_add(waiting) > most_threads(spec)).then_some(LimitKind::Processes)
    }

    /// Records how many processes and threads there are, while `waiting` of them wait to be started.
    fn note_count(&mut self, processes: &[Process], waiting: u64) {
        self.last_count = processes.iter().map(|process| process.threads).sum();
        if let Some(observer) = &mut self.resources.observer {
            observer.count_from_here(waiting);
        }
    }
}

/// Returns how many processes and threads there may be, with the first process of a room, which is not the module's.
fn most_threads(spec: &Spec) -> u64 {
    spec.max_processes.saturating_add(u64::from(spec.room.is_some()))
}
