//! A module made with the SDK that names files relative to its working directory.

#![forbid(unsafe_code)]

use std::fs;

use modbox_sdk::{Args, Exit, Failure, Module};

modbox_sdk::module! { args = Relative, run = run }

/// Writes a file, leaves the directory, and lists the directory where it started.
#[derive(Args)]
struct Relative {
    /// The directory to enter.
    to: String,
}

fn run(args: Relative, _module: &mut Module) -> Result<Exit, Failure> {
    let (started, note, now) = go(&args.to).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Exit::unchanged().with("started", started).with("note", note).with("now", now))
}

fn go(to: &str) -> std::io::Result<(String, String, String)> {
    let here = || std::env::current_dir().map(|dir| dir.display().to_string());
    let started = here()?;
    fs::write("note", "written")?;
    // Restores the directory of the start.
    std::env::set_current_dir(to)?;
    let note = fs::read_to_string(format!("{started}/note"))?;
    Ok((started, note, here()?))
}
