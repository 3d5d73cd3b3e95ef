//! Has an interpreter run a script of ours, in the sandbox that modules run in and under limits.

use std::path::Path;
use std::time::Duration;

use crate::contract::quoting;
use crate::run::python::error::PythonError;
use crate::sandbox::invocation::{Exit, Invocation, NativeProgram, Program};
use crate::sandbox::limits::Limits;
use crate::sandbox::native::{self, NativeContext};

/// Far more than any interpreter needs to say what it is, or to compile a few hundred files.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a script, which it is given on its standard input, and returns what it printed; a text that says what went wrong
/// when the interpreter is none, or failed.
pub(super) fn ask(
    cx: &NativeContext,
    tmpdir: &Path,
    words: &[&str],
    script: &str,
) -> Result<Result<Vec<u8>, String>, PythonError> {
    let command = format!("exec {}", quoting::join(words.iter().copied()));
    let invocation = Invocation {
        program: Program::Native(NativeProgram { command }),
        files: Vec::new(),
        stdin: script.as_bytes().to_vec(),
        runtime_paths: Vec::new(),
    };
    let limits = Limits { timeout: PATIENCE, ..Limits::default() };
    let ran = native::run(cx, &invocation, tmpdir, &limits);
    let interpreter = || words.first().map(|word| (*word).to_owned()).unwrap_or_default();
    let outcome = ran.map_err(|source| PythonError::Ask { interpreter: interpreter(), source })?;
    if let Some(limit) = outcome.limit {
        return Ok(Err(format!("it was stopped at its limit of {}", limit.kind.as_str())));
    }
    match outcome.exit {
        Exit::Code(0) => Ok(Ok(outcome.stdout.bytes)),
        Exit::Code(code) => {
            let said = String::from_utf8_lossy(&outcome.stderr.bytes);
            let last = said.trim().lines().last().unwrap_or_default().trim().to_owned();
            Ok(Err(if last.is_empty() { format!("it ended with status {code}") } else { last }))
        }
        Exit::Trap { .. } | Exit::Killed => Ok(Err("it was killed".to_owned())),
    }
}
