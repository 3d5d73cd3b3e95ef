//! The outcome of a run, from what the launcher said of it and what the host saw.

use std::process::ExitStatus;

use modbox_kernel::KernelConfinement;
use modbox_vocabulary::{
    Confinement, ConfinementLayer, DenialLog, Exit, LimitKind, Limits, Observation, Outcome, Timing, Usage,
    time::micros,
};

use crate::error::NativeError;
use crate::host::attend::RunRecord;
use crate::host::launch;
use crate::protocol::{End, Ended, InForce, Reply};

/// Returns the outcome. `status` is the launcher's exit status if it has sent no reply.
///
/// # Errors
///
/// The module was not started, was undone, or left processes that cannot be killed; or the launcher has failed.
pub(super) fn of(record: RunRecord, status: Option<ExitStatus>, limits: &Limits) -> Result<Outcome, NativeError> {
    let RunRecord { began, reply, timed_out, stdout, stderr } = record;
    let mut outcome = Outcome {
        exit: Exit::Killed,
        stdout,
        stderr,
        limit: None,
        usage: Usage::default(),
        timing: Timing::default(),
        denials: DenialLog::default(),
        observation: Observation::default(),
        lost: Vec::new(),
        left_in_tmp: Vec::new(),
        survivors: Vec::new(),
        outside: Vec::new(),
        requests: Vec::new(),
        refused_renames: true,
        confinement: Confinement::default(),
        notes: Vec::new(),
    };
    if let Some(in_force) = began {
        set_confinement(&mut outcome, in_force);
    }
    match reply {
        Some(Reply::Failed(failure)) => return Err(launch::error_of(failure)),
        Some(Reply::Short(in_force)) => return Err(NativeError::Unconfined(in_force.into())),
        Some(Reply::NoOutside(reason)) => return Err(NativeError::NoOutside(reason)),
        Some(Reply::Ended(ended)) => {
            find_end(&mut outcome, &ended, timed_out, limits)?;
            add(&mut outcome, *ended);
        }
        None if timed_out => outcome.limit = Some(limits.hit(LimitKind::Wall)),
        // A signal comes either from the module or from a system out of memory, and is the module's end in both cases.
        // An exit status can only be the launcher's own failure.
        None => match status.filter(|status| status.code().is_none()).and_then(launch::shell_code) {
            Some(code) => outcome.exit = Exit::Code(code),
            None => return Err(NativeError::Vanished { status }),
        },
    }
    let cut = || {
        let streams = [(&outcome.stdout, LimitKind::Stdout), (&outcome.stderr, LimitKind::Stderr)];
        streams.into_iter().find(|(stream, _)| stream.is_truncated()).map(|(_, kind)| limits.hit(kind))
    };
    outcome.limit = outcome.limit.or_else(cut);
    outcome.confinement.layers.extend([ConfinementLayer::ProcessGroup, ConfinementLayer::Subreaper]);
    if outcome.confinement.level == 0 {
        outcome.confinement.layers.push(ConfinementLayer::Rlimits);
    }
    Ok(outcome)
}

/// Adds the confinement with which the module began.
fn set_confinement(outcome: &mut Outcome, in_force: InForce) {
    outcome.confinement.level = in_force.level;
    outcome.confinement.layers.clone_from(&in_force.layers);
    outcome.confinement.missing.clone_from(&in_force.missing);
    outcome.notes.clone_from(&in_force.notes);
    outcome.notes.extend(KernelConfinement::from(in_force).notes());
}

/// Finds out how the shell has ended, and which limit ended it.
fn find_end(outcome: &mut Outcome, ended: &Ended, timed_out: bool, limits: &Limits) -> Result<(), NativeError> {
    if let count @ 1.. = ended.survivors {
        return Err(NativeError::Survivors { count });
    }
    match &ended.end {
        // A module that ends at the moment of its timeout has ended by itself.
        End::Exited(code) => outcome.exit = Exit::Code(*code),
        End::Signalled(signal) => outcome.exit = Exit::Code(128 + signal),
        End::Limit(limit) => outcome.limit = Some(limits.hit(*limit)),
        End::Requested if !timed_out => return Err(NativeError::Undone),
        End::Requested => outcome.limit = Some(limits.hit(LimitKind::Wall)),
        End::ProgramFailure(failure) => return Err(launch::error_of(failure.clone())),
    }
    // On a busy machine the kernel's own limit, which is in whole seconds, may act before the watch. It then
    // ended one process, and the others ended in other ways.
    let ended_by_itself = outcome.limit.is_none() && outcome.exit != Exit::Code(0);
    if ended_by_itself && ended.cpu_us > micros(limits.cpu_time) {
        (outcome.exit, outcome.limit) = (Exit::Killed, Some(limits.hit(LimitKind::Cpu)));
    }
    Ok(())
}

/// Adds what the launcher has counted and watched.
fn add(outcome: &mut Outcome, ended: Ended) {
    outcome.usage = Usage { cpu_us: ended.cpu_us, memory_bytes: ended.memory_bytes, ..Usage::default() };
    if let Some(disk) = ended.disk {
        outcome.usage.disk_bytes = disk.bytes;
        (outcome.usage.tmp_bytes, outcome.usage.files) = (disk.private, disk.files);
    }
    outcome.notes.extend(ended.notes);
    outcome.lost = ended.lost;
    outcome.left_in_tmp = ended.left_in_tmp;
    outcome.survivors = ended.left;
    outcome.refused_renames = ended.refused_renames;
    outcome.denials = DenialLog::of_observer(ended.refused, ended.refused_more);
    outcome.observation = *ended.observation;
}
