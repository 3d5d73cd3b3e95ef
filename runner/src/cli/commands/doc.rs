//! `modbox doc`: prints a module's manual, from a guest's metadata or a native module's documentation.

use anyhow::Context as _;
use modbox_kinds::detect;

use crate::app::{WasmInfo, locate, wasm_bytes};
use crate::cli::args::DocArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::find::Lookup;
use crate::cli::output;

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
    output::print_line(output::clean(metadata.manual().trim_end()).as_str()).or_internal()?;
    Ok(ExitStatus::Success)
}
