//! `modbox doc`: prints a module's manual, from a guest's metadata or a native module's documentation; on a terminal,
//! in its width and through a pager.

use anstyle::Style;
use anyhow::Context as _;
use modbox_argument_spec::ManualLine;
use modbox_kinds::detect;

use crate::app::{WasmInfo, locate, wasm_bytes};
use crate::cli::args::DocArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::find::Lookup;
use crate::cli::pager::TerminalSize;
use crate::cli::{output, pager};

/// The width of running text without a terminal.
const WIDTH: usize = 80;

/// The widest running text: longer lines are hard to read.
const WIDEST: usize = 110;

/// Prints the manual.
pub(crate) fn run(context: &Context, args: &DocArgs) -> Result<ExitStatus, Failure> {
    let lookup = Lookup::new(context, &args.lookup)?;
    let found = lookup.find(context, &args.module)?;
    let file = locate::read(&found.path).or_unavailable()?;
    let metadata = match wasm_bytes(&file.bytes) {
        Some(wasm) => {
            let metadata = WasmInfo::parse(wasm).or_unavailable()?.metadata().or_unavailable()?;
            metadata.context("only components made with the guest SDK carry one")
        }
        None => {
            let kind = detect::detect(&file.bytes).or_unavailable()?.kind;
            let metadata = lookup.describe(context, &file, kind, &found.name).metadata;
            metadata.context("it has no `DOCUMENTATION` that can be read, and no `.yml` file beside it has one")
        }
    };
    let metadata = metadata.with_context(|| format!("`{}` has no manual", found.path.display())).or_unavailable()?;
    let width = TerminalSize::of_stdout().map_or(WIDTH, |size| size.columns.min(WIDEST));
    let lines = metadata.manual_lines(width);
    let (plain, styled) = (text_of(&lines, false), text_of(&lines, true));
    let styled = output::coloured(&std::io::stdout(), &styled);
    pager::print(&context.environment, &plain, &styled, !args.no_pager).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Returns lines as a text, with the names bold if wanted.
fn text_of(lines: &[ManualLine], is_styled: bool) -> String {
    let bold = if is_styled { Style::new().bold() } else { Style::new() };
    let line = |line: &ManualLine| {
        let (name, rest) = line.text.split_at(line.emphasis);
        let (spaces, name) = name.split_at(name.len() - name.trim_start().len());
        let name = if name.is_empty() { String::new() } else { format!("{bold}{}{bold:#}", output::clean_line(name)) };
        format!("{spaces}{name}{}\n", output::clean_line(rest))
    };
    lines.iter().map(line).collect()
}
