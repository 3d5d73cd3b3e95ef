//! Tips for usage errors that clap explains wrongly: a module's option that is written as a switch.
//!
//! For an unknown `--path=x`, clap suggests `-- --path`, or a switch that sounds alike. The module would get neither.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use modbox_run::spelling;

use crate::cli::printing::output;

/// Commands that take arguments of a module.
const COMMANDS: [&str; 3] = ["run", "validate", "policy"];

/// Switches of other programs for colours.
const COLOURS: [&str; 4] = ["--color", "--colour", "--no-color", "--no-colour"];

/// Replaces the tip of an error about an unknown switch, if the word is hardly a misspelt switch.
pub(crate) fn improve(error: &mut clap::Error, argv: &[OsString]) {
    if let Some(ContextValue::String(switch)) = error.get(ContextKind::InvalidArg)
        && COLOURS.contains(&switch.split('=').next().unwrap_or_default())
    {
        replace(error, "the variables NO_COLOR=1 and CLICOLOR_FORCE=1 turn colours off and on".to_owned());
        return;
    }
    let takes_arguments = argv.get(1).and_then(|word| word.to_str()).is_some_and(|word| COMMANDS.contains(&word));
    if error.kind() != ErrorKind::UnknownArgument || !takes_arguments {
        return;
    }
    let Some(ContextValue::String(switch)) = error.get(ContextKind::InvalidArg) else { return };
    let Some(option) = switch.strip_prefix("--").filter(|option| !option.is_empty()).map(str::to_owned) else { return };
    if let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg)
        && spelling::nearest(&option, &[similar.trim_start_matches('-')]).is_some()
    {
        return;
    }
    let given = argv.iter().filter_map(|word| word.to_str()).find_map(|word| {
        let (name, value) = word.strip_prefix("--")?.split_once('=')?;
        (name == option).then(|| value.to_owned())
    });
    let value = given.unwrap_or_else(|| "VALUE".to_owned());
    let tip = format!("a module's options are written `{}`", output::clean_line(&format!("{option}={value}")));
    replace(error, tip);
}

fn replace(error: &mut clap::Error, tip: String) {
    // The usage that clap shows with a similar switch has that switch in it.
    for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::Usage] {
        error.remove(kind);
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}
