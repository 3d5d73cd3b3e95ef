//! `modbox assemble`: writes a Python module and all its imports as one file.

use std::path::Path;

use modbox_kinds::Kind;
use modbox_run::{Module, locate};

use crate::cli::args::{AnsiballzForm, AssembleArgs};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::whole_file;
use crate::cli::named::find::Lookup;
use crate::cli::printing::output;
use crate::cli::runner::runner;

/// Permissions of the file: readable and executable by all users.
const MODE: u32 = 0o755;

/// Assembles a module and writes it.
pub(crate) fn run(context: &Context, args: &AssembleArgs) -> Result<ExitStatus, Failure> {
    let lookup = Lookup::of_run(context, &args.lookup, &[], &args.module_utils, AnsiballzForm::Zip)?;
    let found = lookup.find(context, &args.module)?;
    let file = locate::read(&found.path).or_unavailable()?;
    // Detection does not take a module that imports only Python's standard library for a new-style one, so the kind
    // is given here.
    let module = Module::new(file, Some(Kind::Python));
    let runner = runner(context, None, lookup.python);
    let text = runner.assemble(&module, &found.name, &lookup.interpreters).or_unavailable()?;
    if args.output == Path::new("-") {
        output::print_bytes(text.as_bytes()).or_internal()?;
    } else {
        whole_file::write(&args.output, MODE, &[text.as_bytes()]).or_usage()?;
    }
    Ok(ExitStatus::Success)
}
