//! What the monitor knows of a run that goes on in a worker, so that it can say how the run ended even if the worker
//! cannot.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use modbox_kernel::KernelConfinement;
use modbox_vocabulary::{
    CapturedOutput, Confinement, DenialLog, Exit, LimitKind, Limits, Observation, Outcome, Timing, Usage,
};
use modbox_vocabulary::{ConfinementLayer, time::micros};

use crate::worker::messages::OutputStream;

/// How long a worker may go on beyond the wall-clock limit, to notice it and to say so.
const GRACE: Duration = Duration::from_millis(200);

/// A run that has started in a worker.
#[derive(Debug)]
pub struct RunProgress {
    limits: Limits,
    started: Instant,
    /// Time that does not count for the wall-clock limit.
    paused: Duration,
    stdout: CapturedOutput,
    stderr: CapturedOutput,
    denials: DenialLog,
}

impl RunProgress {
    /// Begins with a run that starts now.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            started: Instant::now(),
            paused: Duration::ZERO,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            denials: DenialLog::default(),
        }
    }

    /// Returns when the run started.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Returns the time until the run's wall-clock limit; zero after it.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.limits.timeout.saturating_add(self.paused).saturating_sub(self.started.elapsed())
    }

    /// Adds time that does not count for the wall-clock limit.
    pub fn pause(&mut self, time: Duration) {
        self.paused = self.paused.saturating_add(time);
    }

    /// Returns when the worker must have answered; `None` for a time beyond the range of the clock, which has no effect.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.started.checked_add(self.limits.timeout.saturating_add(self.paused).saturating_add(GRACE))
    }

    /// Adds bytes that the guest printed.
    pub fn print(&mut self, stream: OutputStream, bytes: &[u8]) {
        let captured = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        // A worker sends no more than is kept, unless a guest has taken it over.
        let room = usize::try_from(self.limits.max_output).unwrap_or(usize::MAX).saturating_sub(captured.bytes.len());
        captured.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        captured.total = captured.total.saturating_add(bytes.len() as u64);
    }

    /// Adds a system call that the kernel refused to the worker.
    pub fn refuse(&mut self, number: i64) {
        self.denials.extend(DenialLog::of_observer(vec![modbox_kernel::refused_call(number)], false));
    }

    /// Returns the outcome that the worker sent, with the bytes that the guest printed and the confinement that the
    /// worker reached. Its denials come after the refused calls, so that a worker cannot fill the list with others.
    #[must_use]
    pub fn ended(self, outcome: Outcome, reached: &KernelConfinement) -> Outcome {
        let with = |kept: CapturedOutput, said: CapturedOutput| CapturedOutput {
            total: said.total.max(kept.bytes.len() as u64),
            ..kept
        };
        let (stdout, stderr) = (with(self.stdout, outcome.stdout), with(self.stderr, outcome.stderr));
        let mut denials = self.denials;
        denials.extend(outcome.denials);
        Outcome { stdout, stderr, denials, confinement: confinement(reached), ..outcome }
    }

    /// Returns the outcome of a run whose worker ended before the run did.
    #[must_use]
    pub fn lost(self, status: Option<ExitStatus>, reached: &KernelConfinement) -> Outcome {
        match status.and_then(|status| status.signal()) {
            // The kernel's own count of processor time is a little above the engine's.
            Some(libc::SIGXCPU) => self.stopped(LimitKind::Cpu, reached),
            _ => {
                let how = status.map_or_else(|| "it closed its channel".to_owned(), |status| status.to_string());
                let reason = format!("its worker process ended: {how}");
                self.outcome(Exit::Trap { reason, backtrace: String::new() }, None, reached)
            }
        }
    }

    /// Returns the outcome of a run whose worker was killed because it did not end at its wall-clock limit.
    #[must_use]
    pub fn late(self, reached: &KernelConfinement) -> Outcome {
        self.stopped(LimitKind::Wall, reached)
    }

    fn stopped(self, kind: LimitKind, reached: &KernelConfinement) -> Outcome {
        self.outcome(Exit::Killed, Some(kind), reached)
    }

    fn outcome(self, exit: Exit, limit: Option<LimitKind>, reached: &KernelConfinement) -> Outcome {
        let run_us = micros(self.started.elapsed());
        Outcome {
            exit,
            stdout: self.stdout,
            stderr: self.stderr,
            limit: limit.map(|kind| self.limits.hit(kind)),
            usage: Usage { wall_us: run_us, ..Usage::default() },
            timing: Timing { run_us, ..Timing::default() },
            denials: self.denials,
            lost: Vec::new(),
            left_in_tmp: Vec::new(),
            survivors: Vec::new(),
            observation: Observation::default(),
            outside: Vec::new(),
            requests: Vec::new(),
            // What the worker saw is not known.
            refused_renames: true,
            confinement: confinement(reached),
            notes: Vec::new(),
        }
    }
}

/// Returns the confinement of a guest in a worker.
fn confinement(reached: &KernelConfinement) -> Confinement {
    let layers = std::iter::once(ConfinementLayer::Wasmtime).chain(reached.layers.iter().copied());
    Confinement { level: reached.level, layers: layers.collect(), missing: reached.missing.clone() }
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::{Capability, Operation};

    use super::*;

    fn progress() -> RunProgress {
        let mut progress = RunProgress::new(&Limits { max_output: 4, ..Limits::default() });
        progress.print(OutputStream::Stdout, b"abc");
        progress.print(OutputStream::Stdout, b"def");
        progress.print(OutputStream::Stderr, b"x");
        progress
    }

    #[test]
    fn what_was_printed_outlives_the_worker() {
        let reached =
            KernelConfinement { level: 2, layers: vec![ConfinementLayer::Seccomp], ..KernelConfinement::default() };
        let lost = progress().lost(Some(ExitStatus::from_raw(libc::SIGKILL)), &reached);
        assert_eq!(
            (lost.stdout.bytes.as_slice(), lost.stdout.total, lost.stderr.bytes.as_slice()),
            (&b"abcd"[..], 6, &b"x"[..])
        );
        assert!(matches!(&lost.exit, Exit::Trap { reason, .. } if reason.contains("SIGKILL")), "{lost:?}");
        assert_eq!(lost.confinement.layers, [ConfinementLayer::Wasmtime, ConfinementLayer::Seccomp]);
        let late = progress().late(&reached);
        assert_eq!((late.exit, late.limit.unwrap().kind), (Exit::Killed, LimitKind::Wall));
        let over = progress().lost(Some(ExitStatus::from_raw(libc::SIGXCPU)), &reached);
        assert_eq!(over.limit.unwrap().kind, LimitKind::Cpu);
    }

    #[test]
    fn refused_calls_are_listed_whatever_the_worker_says() {
        let mut said = progress().late(&KernelConfinement::default());
        for number in 0..100 {
            let subject = format!("/{number}");
            said.denials.record(Capability::Read, &subject, Operation::OpenAt, String::new);
        }
        let mut progress = progress();
        [libc::SYS_bpf, libc::SYS_unshare, libc::SYS_bpf].into_iter().for_each(|number| progress.refuse(number));
        let denials = progress.ended(said, &KernelConfinement::default()).denials;
        let first = denials.listed().iter().take(3).map(|denial| denial.subject.as_str()).collect::<Vec<_>>();
        assert_eq!((first, denials.listed().len()), (vec!["bpf", "unshare", "/0"], DenialLog::MAX_LISTED));
    }

    #[test]
    fn the_bytes_of_an_outcome_are_those_that_were_printed() {
        let mut said = progress().late(&KernelConfinement::default());
        said.stdout = CapturedOutput { bytes: Vec::new(), total: 9 };
        said.stderr = CapturedOutput { bytes: Vec::new(), total: 0 };
        let reached =
            KernelConfinement { level: 2, layers: vec![ConfinementLayer::Seccomp], ..KernelConfinement::default() };
        let outcome = progress().ended(said, &reached);
        assert_eq!((outcome.confinement.level, outcome.confinement.layers.len()), (2, 2));
        assert_eq!((outcome.stdout.bytes.as_slice(), outcome.stdout.total), (&b"abcd"[..], 9));
        assert!(!outcome.stderr.is_truncated() && outcome.stderr.total == 1);
    }
}
