//! `modbox test`: runs the test cases of a module project, or some against a component.

use std::path::PathBuf;

use anyhow::Context as _;
use modbox_authoring::{BuildOptions, CaseOutcome};

use crate::cli::args::TestArgs;
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output;

/// Folder of the cases in a project.
const CASES: &str = "cases";

/// Returns the component to test, which is built if the project has changed, and the folder of the cases.
fn component(context: &Context, args: &TestArgs) -> Result<(PathBuf, PathBuf), Failure> {
    let module = context.environment.absolute(&args.module);
    if module.is_file() {
        if args.bin.is_some() {
            return Err(anyhow::anyhow!("`--bin` is a binary of a project, and `{}` is a file", module.display()))
                .or_usage();
        }
        return Ok((module, args.cases.clone().unwrap_or_else(|| CASES.into())));
    }
    let options = BuildOptions { binary: args.bin.clone() };
    let built =
        with_context(context, |cx| modbox_authoring::build_if_stale(cx, &args.module, &options)).or_unavailable()?;
    Ok((built.component, args.cases.clone().unwrap_or_else(|| args.module.join(CASES))))
}

/// Builds the project if it is stale, and prints the outcome of each case.
pub(crate) fn run(context: &Context, args: &TestArgs) -> Result<ExitStatus, Failure> {
    let (component, cases) = component(context, args)?;
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
    with_context(context, |cx| modbox_authoring::run_cases(cx, &modbox, &cases, &component, &mut show))
        .or_unavailable()?;
    printed.or_internal()?;
    output::print_line(&format!("{passed} passed, {failed} failed")).or_internal()?;
    Ok(if failed == 0 { ExitStatus::Success } else { ExitStatus::Failed })
}
