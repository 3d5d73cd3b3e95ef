//! `modbox doc`: prints a module's manual from its metadata.

use anyhow::Context as _;

use crate::app::{WasmInfo, locate, wasm_bytes};
use crate::cli::args::DocArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::find::Lookup;
use crate::cli::output;

/// Prints the manual.
pub(crate) fn run(context: &Context, args: &DocArgs) -> Result<ExitStatus, Failure> {
    let path = Lookup::new(context, &args.lookup)?.find(context, &args.module)?.path;
    let file = locate::read(&path).or_unavailable()?;
    let no_manual = || {
        format!(
            "`{}` has no manual: only components made with the guest SDK carry one; \
             for Ansible's own modules use `ansible-doc`",
            path.display()
        )
    };
    let wasm = wasm_bytes(&file.bytes).with_context(no_manual).or_unavailable()?;
    let info = WasmInfo::parse(wasm).or_unavailable()?;
    let metadata = info.metadata().or_unavailable()?.with_context(no_manual).or_unavailable()?;
    output::print_line(output::clean(metadata.manual().trim_end()).as_str()).or_internal()?;
    Ok(ExitStatus::Success)
}
