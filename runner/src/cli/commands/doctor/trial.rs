//! Runs of two tiny modules, to measure how far the kernel confines a module here.

use std::time::Duration;

use modbox_contract::Dict;
use modbox_policy::Policy;
use modbox_run::{Arguments, Module, ModuleFile, PythonConfig, Report, RunRequest, Status};
use modbox_vocabulary::{ConfinementLayer, Limits, error_chain};

use super::check::Check;
use crate::cli::context::Context;
use crate::cli::runner;

/// Time for a trial. It takes milliseconds, unless the machine is very busy.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A native module. The comment makes its kind known.
const NATIVE: &[u8] = b"#!/bin/sh\n# WANT_JSON\necho '{\"changed\": false}'\n";

/// A core module with one page of memory and an empty `_start`: a type, a function, a memory, two exports, its code.
const GUEST: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x05\x03\x01\0\x01\x07\x13\x02\x06memory\x02\0\
    \x06_start\0\0\x0a\x04\x01\x02\0\x0b";

/// The kind of a trial's module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrialKind {
    Native,
    Guest,
}

/// The outcome of a trial.
pub(super) struct Trial {
    kind: TrialKind,
    report: Report,
}

impl Trial {
    /// Runs a native module.
    pub(super) fn of_native(context: &Context) -> Self {
        Self::of(context, TrialKind::Native)
    }

    /// Runs a wasm module. It is compiled, and the result is not cached.
    pub(super) fn of_guest(context: &Context) -> Self {
        Self::of(context, TrialKind::Guest)
    }

    fn of(context: &Context, kind: TrialKind) -> Self {
        let (path, bytes) = match kind {
            TrialKind::Native => ("doctor.sh", NATIVE),
            TrialKind::Guest => ("doctor.wasm", GUEST),
        };
        let module = Module::new(ModuleFile { path: path.into(), bytes: bytes.into() }, None);
        let (policy, limits) = (Policy::default(), Limits { timeout: TIMEOUT, ..Limits::default() });
        let request = RunRequest::new("doctor", Arguments::Complete(Dict::new()), &policy, &limits);
        let runner = runner::trial_runner(context, PythonConfig::default());
        Self { kind, report: runner.run(&module, &request) }
    }

    /// Returns the active layers of confinement.
    pub(super) fn layers(&self) -> &[ConfinementLayer] {
        &self.report.confinement.layers
    }

    /// Returns the confinement that is not there, with its causes.
    pub(super) fn missing(&self) -> String {
        self.report.confinement.missing.join("; ")
    }

    /// Returns why the module did not run, if it did not.
    pub(super) fn failure(&self) -> Option<String> {
        if let Some(error) = &self.report.error {
            return Some(error_chain(error));
        }
        match (self.kind, self.report.status) {
            (_, Status::Denied | Status::Limit | Status::Crashed) | (TrialKind::Native, Status::Failed) => {
                let message = self.report.result.as_dict().get("msg").and_then(|text| text.as_str());
                Some(message.unwrap_or("it ended without a message").to_owned())
            }
            // The wasm module prints nothing, so its result is a failed one.
            _ => None,
        }
    }
}

/// Returns the checks of the levels. `least` is the level that the policy asks for.
pub(super) fn checks(native: &Trial, guest: &Trial, least: u8) -> Vec<Check> {
    vec![level("confinement of native modules", native, least), level("confinement of wasm modules", guest, least)]
}

fn level(name: &str, trial: &Trial, least: u8) -> Check {
    if let Some(failure) = trial.failure() {
        return Check::missing(name, format!("a module did not run: {failure}"), "");
    }
    let level = trial.report.confinement.level;
    let found = format!("level {level} ({})", modbox_kernel::describe(level));
    // Namespaces are for native modules; the engine takes their place for a guest.
    let highest = match trial.kind {
        TrialKind::Native => modbox_kernel::HIGHEST,
        TrialKind::Guest => modbox_kernel::DEFAULT_LEAST,
    };
    if level < least {
        let remedy = format!("runs need level {least}: see the lines above, or pass `--min-confinement {level}`");
        Check::missing(name, found, &remedy)
    } else if level < highest {
        Check::note(name, found, &format!("level {highest} is possible: see the lines above"))
    } else {
        Check::ok(name, found)
    }
}
