//! What the file of a job says of its run.

use modbox_contract::ModuleResult;

use crate::app::Report;
use crate::cli::exit::Failure;
use crate::jobs::RunSummary;

/// Returns the summary of a run. Under `is_hidden`, the result is censored.
pub(crate) fn of_report(mut report: Report, is_hidden: bool) -> RunSummary {
    if is_hidden {
        report.censor();
    }
    RunSummary {
        result: report.result.to_json(),
        // A censored result has no stdout and stderr to extract, so it counts as parsed.
        parsed: report.result.parsed() || is_hidden,
        stderr: report.stderr,
        limit: report.limit.map(|hit| hit.kind.as_str().to_owned()),
        command: report.module.path,
        kept_files: report.kept_files,
        is_secret: false,
    }
}

/// Returns the summary of a run, which says if its audit line could not be written.
pub(crate) fn of_audited(report: Report, is_hidden: bool, audited: Result<(), Failure>) -> RunSummary {
    let mut summary = of_report(report, is_hidden);
    if let Err(failure) = audited {
        summary.stderr += &format!("the run has no entry in an audit file: {:#}\n", failure.error);
    }
    summary
}

/// Returns the summary of a run that did not start.
pub(crate) fn not_run(message: &str) -> RunSummary {
    let result = ModuleResult::runner_failure(message, None).to_json();
    RunSummary {
        result,
        parsed: false,
        stderr: String::new(),
        limit: None,
        command: String::new(),
        kept_files: None,
        is_secret: false,
    }
}
