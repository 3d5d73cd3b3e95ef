//! `modbox apply --show`: what a saved preview would change, and what keeps it from being applied now.
//!
//! The text is that of the preview's own report, made anew from what the file has: the changes that a commit makes, and
//! their contents. This file changes nothing.

use std::path::Path;

use modbox_python_json::{encode, to_value};
use modbox_run::{EffectReport, remember_hidden, show_saved};

use crate::cli::args::ApplyArgs;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::effect_output::push_effect;
use crate::cli::printing::output;
use crate::cli::saved_file;

/// Shows the changes of a file.
pub(crate) fn run(path: &Path, args: &ApplyArgs) -> Result<ExitStatus, Failure> {
    let saved = saved_file::read(path).or_unavailable()?;
    remember_hidden(saved.hidden());
    let effect = show_saved(&saved, path, args.diff).or_unavailable()?;
    match args.json {
        true => output::print_line(&encode(&to_value(&effect).or_internal()?)).or_internal()?,
        false => print(&effect)?,
    }
    // What was shown is what was read at first.
    saved.check_unchanged().or_unavailable()?;
    Ok(if effect.commit.reasons.is_empty() { ExitStatus::Success } else { ExitStatus::NotCommitted })
}

fn print(effect: &EffectReport) -> Result<(), Failure> {
    let mut text = String::new();
    push_effect(&mut text, effect);
    output::print_bytes(&output::coloured(&std::io::stdout(), &text)).or_internal()
}
