//! Whether a play asks a person for what its modules lack.

use crate::cli::args::PlayArgs;
use crate::cli::asking::rounds::{has_terminal, no_terminal};
use crate::cli::exit::{Failure, OrExit};
use crate::cli::settings::Settings;

/// Returns whether a person is asked for what modules lack: by the switch, or on a terminal by a section `ask` of the policy files. What is
/// explained is shown and not asked.
pub(super) fn asks(args: &PlayArgs, settings: &Settings) -> Result<bool, Failure> {
    let is_wanted = args.ask || settings.asking.is_wanted();
    if args.layers.preview || args.layers.transaction || args.grants.allow_all || args.learn.is_some() {
        return Ok(false);
    }
    if args.ask && !args.explain && !has_terminal() {
        return Err(no_terminal("learn the grants with `--explain`")).or_usage();
    }
    Ok(is_wanted && (args.explain || has_terminal()))
}
