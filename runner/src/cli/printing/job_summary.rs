//! What the file of a job says of its run.

use modbox_contract::{ModuleResult, NEW_SECRETS};
use modbox_python_json::encode_dict;
use modbox_run::Report;
use modbox_run::jobs::RunSummary;

use crate::cli::exit::Failure;

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

/// Returns the summary of a run for a task of a play, whose result has its secrets in it: other tasks may use it.
pub(crate) fn of_task(report: Report) -> RunSummary {
    let clear = report.result.secrets().and_then(|told| Some((told.to_value(), report.result.to_clear()?)));
    let summary = of_report(report, false);
    match clear {
        None => summary,
        Some((told, mut clear)) => {
            clear.insert(NEW_SECRETS.to_owned(), told);
            RunSummary { result: encode_dict(&clear), ..summary }
        }
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
