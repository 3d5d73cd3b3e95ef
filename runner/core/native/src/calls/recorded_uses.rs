//! Records what a module that is observed does, and which of its commands did it.
//!
//! Nothing is refused. What a command does that a profile covers is not recorded: it would run outside of the room.

use modbox_kernel::ReportedCall;
use modbox_vocabulary::Denial;

use crate::caller::call_arguments::{low, path_of};
use crate::calls::observe::Observer;
use crate::calls::owners::{self, Judgement};
use crate::calls::reported_calls::CallEffect;
use crate::rooms::room::TMP;

/// Maximum number of paths that a module has made in the machine's `/tmp`. What it makes beyond is reported.
const MAX_MADE: usize = 4096;

/// The argument that leaves an identity as it is.
const UNCHANGED: u32 = u32::MAX;

impl Observer {
    /// Records a use of a module that is observed.
    pub(crate) fn record_use(&mut self, report: &ReportedCall, effect: Option<CallEffect>) {
        let Some(run) = &mut self.observed else { return };
        let by = run.commands.of(report);
        if let Some(CallEffect::Execute { directory, path, words }) = effect {
            run.commands.start(report, (directory, path, words));
        }
        let Some(by) = by else { return };
        let is_refused = match modbox_kernel::sets_id(report) {
            true => !self.refused_bits.record(report, effect, &self.room),
            false => effect.is_none(),
        };
        let mut denials = Vec::new();
        let refused = || modbox_kernel::refused_use(report);
        denials.extend(is_refused.then(refused));
        if let Some(CallEffect::Identify) = effect {
            denials.extend(takes_rights(report).then(refused));
        } else if let Some(effect) = effect {
            denials.extend(self.denials_of(report, effect));
            if let Judgement::Refused(denial) = owners::judge(report, &self.room) {
                denials.push(denial);
            }
            self.note_names(report, effect);
        }
        for denial in denials {
            self.note(denial, by);
        }
    }

    fn note(&mut self, denial: Denial, by: u32) {
        if self.refused.len() >= self.most && !self.refused.contains(&denial) {
            return;
        }
        if let Some(run) = &mut self.observed {
            run.note_use(&denial, by);
        }
        self.refused.insert(denial);
    }

    /// Notes the names that a call makes.
    fn note_names(&mut self, report: &ReportedCall, effect: CallEffect) {
        if let CallEffect::Rename { from, to } = effect
            && let (Some(from), Some(to)) = (path_of(report, from.0, from.1), path_of(report, to.0, to.1))
        {
            self.refused_bits.rename(&from, to.clone());
            if let Some(run) = &mut self.observed {
                run.note_renamed(&from, &to);
            }
        }
        let made = match effect {
            CallEffect::Open { directory, path, flags } => {
                let flags = report.arguments.get(flags).copied().unwrap_or_default();
                (low(flags) & libc::O_CREAT != 0).then(|| path_of(report, directory, path)).flatten()
            }
            CallEffect::Make { directory, path }
            | CallEffect::MakeLink { directory, path }
            | CallEffect::MakeDirectory { directory, path }
            | CallEffect::Rename { to: (directory, path), .. } => path_of(report, directory, path),
            _ => None,
        };
        let made = made.filter(|path| path.starts_with(TMP) && path.symlink_metadata().is_err());
        if self.made.len() < MAX_MADE {
            self.made.extend(made);
        }
    }
}

/// Returns whether a call takes the rights of another user or group than those that the caller has.
fn takes_rights(report: &ReportedCall) -> bool {
    let Some(caller) = modbox_kernel::Caller::of(report.thread) else { return false };
    let other = |indexes: &[usize], own: u32| {
        let ids = indexes.iter().filter_map(|index| report.arguments.get(*index));
        ids.map(|id| low(*id).cast_unsigned()).any(|id| id != UNCHANGED && id != own)
    };
    match report.number {
        libc::SYS_setgroups => true,
        libc::SYS_setuid => other(&[0], caller.uid()),
        libc::SYS_setreuid => other(&[0, 1], caller.uid()),
        libc::SYS_setresuid => other(&[0, 1, 2], caller.uid()),
        libc::SYS_setgid => other(&[0], caller.gid()),
        libc::SYS_setregid => other(&[0, 1], caller.gid()),
        libc::SYS_setresgid => other(&[0, 1, 2], caller.gid()),
        _ => false,
    }
}
