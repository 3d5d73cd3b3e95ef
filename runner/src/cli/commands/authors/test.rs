//! `modbox test`: runs the test cases of a module project.

use anyhow::Context as _;
use modbox_authoring::{BuildOptions, CaseOutcome};

use crate::cli::args::TestArgs;
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output;

/// Builds the project if it is stale, and prints the outcome of each case.
pub(crate) fn run(context: &Context, args: &TestArgs) -> Result<ExitStatus, Failure> {
    let options = BuildOptions { binary: args.bin.clone() };
    let built =
        with_context(context, |cx| modbox_authoring::build_if_stale(cx, &args.dir, &options)).or_unavailable()?;
    let modbox = std::env::current_exe().context("failed to find the path of this program").or_internal()?;
    let (mut passed, mut failed, mut printed) = (0_u32, 0_u32, Ok(()));
    let mut show = |outcome: CaseOutcome| {
        let is_passed = outcome.differences.is_empty();
        *(if is_passed { &mut passed } else { &mut failed }) += 1;
        let mut lines =
            format!("{} {}", if is_passed { "ok    " } else { "FAILED" }, output::clean_line(&outcome.name));
        for line in outcome.differences.iter().flat_map(|difference| difference.lines()) {
            lines.push_str(&format!("\n  {}", output::clean_line(line)));
        }
        if printed.is_ok() {
            printed = output::print_line(&lines);
        }
    };
    with_context(context, |cx| modbox_authoring::run_cases(cx, &modbox, &args.dir, &built.component, &mut show))
        .or_unavailable()?;
    printed.or_internal()?;
    output::print_line(&format!("{passed} passed, {failed} failed")).or_internal()?;
    Ok(if failed == 0 { ExitStatus::Success } else { ExitStatus::Failed })
}
