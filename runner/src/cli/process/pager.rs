//! Shows a long text through the user's pager. Only on a terminal, and only if the text does not fit: a program that
//! reads the output gets the text.
//!
//! The pager is the user's own program and runs unconfined, as for other tools.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use signal_hook::consts::SIGINT;

use crate::cli::printing::output;
use crate::cli::process::environment::Environment;

/// The pager of a user who has chosen none.
const DEFAULT: &str = "less";

/// Options of `less` for a user who has set none: colours, an end at once if the text fits, and no cleared screen.
const LESS: &str = "FRX";

/// Variables that choose the pager, the first one first.
const VARIABLES: [&str; 2] = ["MODBOX_PAGER", "PAGER"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl TerminalSize {
    /// Returns the size of the terminal at standard output; `None` without one, or if the terminal does not tell.
    pub(crate) fn of_stdout() -> Option<Self> {
        let stdout = io::stdout();
        let size = rustix::termios::tcgetwinsize(&stdout).ok().filter(|_| stdout.is_terminal())?;
        let size = Self { columns: size.ws_col.into(), rows: size.ws_row.into() };
        (size.columns > 0 && size.rows > 0).then_some(size)
    }

    /// Returns whether a text and the next prompt fit.
    fn fits(self, text: &str) -> bool {
        text.lines().count() < self.rows
    }
}

/// Prints a text, through a pager if it is longer than the terminal. `styled` is the same text with colours.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn print(environment: &Environment, plain: &str, styled: &[u8], is_wanted: bool) -> anyhow::Result<()> {
    let is_long = TerminalSize::of_stdout().is_some_and(|size| !size.fits(plain));
    let pager = choose(|name| environment.variable(name).and_then(|value| value.to_str()));
    let started = pager.filter(|_| is_wanted && is_long).and_then(|pager| start(environment, &pager));
    match started {
        Some(pager) => {
            show(pager, styled);
            Ok(())
        }
        None => output::print_bytes(styled),
    }
}

/// Returns the command of the pager; `None` if the user wants none.
fn choose<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let chosen = VARIABLES.iter().find_map(|name| variable(name)).unwrap_or(DEFAULT).trim();
    (!chosen.is_empty() && chosen != "cat").then(|| chosen.to_owned())
}

/// Starts the pager, by a shell, since the variables hold command lines. Returns `None` if the shell is missing.
#[expect(clippy::disallowed_methods, reason = "the pager is the user's own program, at the user's terminal")]
fn start(environment: &Environment, pager: &str) -> Option<Child> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(pager).stdin(Stdio::piped());
    if environment.variable("LESS").is_none() {
        command.env("LESS", LESS);
    }
    // An interrupt belongs to the pager while it runs. Without the handler, it would end this process first.
    signal_hook::flag::register(SIGINT, Arc::default()).ok()?;
    command.spawn().ok()
}

/// Writes a text to the pager and waits for its end. A reader may leave before the text ends.
fn show(mut pager: Child, text: &[u8]) {
    if let Some(mut input) = pager.stdin.take() {
        let written = input.write_all(text);
        tracing::debug!(?written, "wrote to the pager");
    }
    let ended = pager.wait();
    tracing::debug!(?ended, "the pager ended");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_chooses_the_pager() {
        for (own, common, expect) in [
            (None, None, Some("less")),
            (None, Some("more"), Some("more")),
            (Some("less -S"), Some("more"), Some("less -S")),
            (Some(""), Some("more"), None),
            (None, Some("cat"), None),
        ] {
            let variable = |name: &str| if name == "PAGER" { common } else { own };
            assert_eq!(choose(variable).as_deref(), expect, "{own:?} {common:?}");
        }
    }

    #[test]
    fn a_text_fits_with_the_prompt() {
        let size = TerminalSize { columns: 80, rows: 3 };
        assert!(size.fits("a\nb\n") && !size.fits("a\nb\nc\n"));
    }
}
