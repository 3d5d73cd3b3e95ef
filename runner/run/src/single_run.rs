//! Runs an admitted module once: executes it and judges the outcome.

use std::borrow::Cow;

use tracing::info;

use crate::admission::AdmittedRun;
use crate::execution::judge;
use crate::modules::module::Module;
use crate::reports::report::Report;
use crate::request::run_request::RunRequest;
use crate::runner::Runner;

impl Runner {
    /// Runs a module once, after [`Runner::admit`]. The grants and the arguments are those of `admitted`.
    #[must_use]
    pub fn run_admitted(&self, module: &Module, admitted: AdmittedRun, request: &RunRequest<'_>) -> Report {
        let AdmittedRun { form, policy, arguments, report } = admitted;
        let request = RunRequest { policy: &policy, arguments: Cow::Owned(arguments), ..*request };
        let execution = self.execute(&form, module, &request);
        let report = judge::report_execution(report, execution, &request, &self.environment(&policy));
        self.remember_need(&report, &form);
        logged(report)
    }
}

/// Writes the end of a run to modbox's log.
pub(crate) fn logged(report: Report) -> Report {
    info!(status = report.status.as_str(), wall_us = report.usage.wall_us, cpu_us = report.usage.cpu_us, "ended");
    report
}
