//! Questions to the person at the terminal: `vars_prompt`, `pause` and `--step`.
//!
//! Keys are read as they come, so that Ctrl+C interrupts a question and not the play, and one key can be an answer.

use std::io::{self, IsTerminal, Stderr, Write};
use std::time::Instant;

use modbox_cleanup::{Cleanup, UndoGuard};
use modbox_tasks::run::host::{Prompt, PromptError};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::cli::terminal_keys::{KeyError, next_key};

/// Maximum bytes of an answer. A terminal gives lines of at most 4096 bytes.
const MAX_ANSWER: usize = 64 << 10;

/// What a terminal sends for Ctrl+C.
const INTERRUPT: u8 = 3;

/// What a terminal sends for Ctrl+D.
const END: u8 = 4;

/// Keys instead of lines, without echo, while it lives. The terminal is as before also if a signal ends the process meanwhile.
struct KeyMode {
    before: Termios,
    _restore: UndoGuard,
}

impl KeyMode {
    fn new(cleanup: &Cleanup) -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        let kept = before.clone();
        let restore = cleanup.register(move || {
            // Nothing can be done about a terminal that is gone.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &kept);
        });
        tcsetattr(io::stdin(), OptionalActions::Now, &keys)?;
        Ok(Self { before, _restore: restore })
    }

    /// Says whether a key removes the character before it.
    fn erases(&self, key: u8) -> bool {
        key == self.before.special_codes[SpecialCodeIndex::VERASE] || matches!(key, 0x7f | 0x08)
    }

    /// Says whether a key removes the whole line.
    fn kills(&self, key: u8) -> bool {
        key != 0 && key == self.before.special_codes[SpecialCodeIndex::VKILL]
    }
}

/// Asks a question and returns the answer without its line end. After the time of the question, the answer is empty.
///
/// # Errors
///
/// Standard input is not a terminal, or the person interrupts.
pub(crate) fn ask(cleanup: &Cleanup, prompt: &Prompt) -> Result<String, PromptError> {
    if !io::stdin().is_terminal() {
        return Err(PromptError::NotInteractive);
    }
    let mode = KeyMode::new(cleanup).map_err(|_| PromptError::NotInteractive)?;
    // Not locked: a signal that ends the process says so there.
    let mut stderr = io::stderr();
    let shown =
        stderr.write_all(crate::cli::printing::clean::clean(&prompt.text).as_bytes()).and_then(|()| stderr.flush());
    shown.map_err(|_| PromptError::NotInteractive)?;
    let answer = read_answer(prompt, &mode, &mut stderr);
    // The person's line end was not shown.
    let _ = stderr.write_all(b"\n");
    answer
}

/// Reads key by key, so that nothing of the next answer is taken.
fn read_answer(prompt: &Prompt, mode: &KeyMode, stderr: &mut Stderr) -> Result<String, PromptError> {
    let started = Instant::now();
    let mut line = Line { text: Vec::new(), echo: !prompt.private };
    loop {
        let left = prompt.timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
        let key = match next_key(left) {
            Ok(Some(key)) if !matches!(key, INTERRUPT | END) => key,
            // A key without a character, such as an arrow.
            Ok(None) => continue,
            Err(KeyError::Timeout) => return Ok(String::new()),
            Ok(Some(_)) | Err(KeyError::Ended) => return Err(PromptError::Interrupted),
        };
        let answer = char::from(key.to_ascii_lowercase());
        match key {
            _ if prompt.timeout.is_some() => {}
            _ if !prompt.keys.is_empty() => {
                if prompt.keys.contains(&answer) {
                    return Ok(answer.to_string());
                }
            }
            b'\n' | b'\r' => return Ok(String::from_utf8_lossy(&line.text).into_owned()),
            key if mode.erases(key) => drop(line.erase(stderr)),
            key if mode.kills(key) => while line.erase(stderr) {},
            key => line.add(key, stderr),
        }
    }
}

/// A line that a person types.
struct Line {
    text: Vec<u8>,
    echo: bool,
}

impl Line {
    fn add(&mut self, key: u8, stderr: &mut Stderr) {
        if self.text.len() < MAX_ANSWER && (!key.is_ascii_control() || key == b'\t') {
            self.text.push(key);
            self.show(&[key], stderr);
        }
    }

    /// Removes the last character. Returns whether there was one.
    fn erase(&mut self, stderr: &mut Stderr) -> bool {
        // The bytes of a character after its first one begin with the bits 10.
        while self.text.last().is_some_and(|byte| byte & 0xc0 == 0x80) {
            self.text.pop();
        }
        let erased = self.text.pop().is_some();
        if erased {
            self.show(b"\x08 \x08", stderr);
        }
        erased
    }

    fn show(&self, bytes: &[u8], stderr: &mut Stderr) {
        if self.echo {
            // An answer counts even if it cannot be shown.
            let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
        }
    }
}
