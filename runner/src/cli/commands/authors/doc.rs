//! `modbox doc`: prints a module's manual, from a guest's metadata or a native module's documentation; on a terminal,
//! in its width and through a pager.

use std::path::Path;

use anstyle::Style;
use anyhow::Context as _;
use modbox_argument_spec::ManualLine;
use modbox_kinds::detect;
use modbox_providers::ralsh_text;
use modbox_run::{PythonConfig, WasmInfo, detect_file, locate, wasm_bytes};

use crate::cli::args::DocArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::named::find::Lookup;
use crate::cli::printing::output;
use crate::cli::process::pager;
use crate::cli::process::pager::TerminalSize;
use crate::cli::runner::runner;

/// The width of running text without a terminal.
const WIDTH: usize = 80;

/// The widest running text: longer lines are hard to read.
const WIDEST: usize = 110;

/// Prints the manual.
pub(crate) fn run(context: &Context, args: &DocArgs) -> Result<ExitStatus, Failure> {
    let lookup = Lookup::new(context, &args.lookup)?;
    let found = lookup.find(context, &args.module)?;
    let file = locate::read(&found.path).or_unavailable()?;
    if let Some(manual) = provider_manual(context, &found.path, &file.bytes)? {
        let plain: String = manual.lines().map(|line| output::clean_line(line) + "\n").collect();
        pager::print(&context.environment, &plain, plain.as_bytes(), !args.no_pager).or_internal()?;
        return Ok(ExitStatus::Success);
    }
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

/// Returns the attributes of a provider of libral; `None` for other modules.
fn provider_manual(context: &Context, path: &Path, bytes: &[u8]) -> Result<Option<String>, Failure> {
    if !detect_file(path, bytes).or_unavailable()?.kind.is_provider() {
        return Ok(None);
    }
    let known = runner(context, None, PythonConfig::default()).known_provider(path).or_unavailable()?;
    let shown = path.display();
    let metadata = known.with_context(|| {
        format!("`{shown}` has no manual: it has not been asked for its metadata; `modbox run {shown} ral_action=describe` asks it")
    });
    let metadata = metadata.or_unavailable()?;
    Ok(Some(ralsh_text::explanation(&metadata, &shown.to_string())))
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
