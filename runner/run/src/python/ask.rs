//! Runs one of modbox's scripts with a Python interpreter, in the sandbox that modules run in and under limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use modbox_native::{NativeContext, NativeError, RoomRequest};
use modbox_policy::{Access, PathGrant, Policy, PolicyError, Shape};
use modbox_vocabulary::{Exit, GrantSource, Invocation, Limits, NativeProgram, Program, quoting};

use crate::python::error::PythonError;

/// Wall-clock limit; far more than any interpreter needs to report its version, or to compile a few hundred files.
const PATIENCE: Duration = Duration::from_secs(60);

/// Paths that the interpreter may access while it runs a script. It is confined wherever modules are, because a program
/// that a module names may not be the interpreter that it appears to be.
pub(super) struct ScriptAccess<'a> {
    /// Paths to read.
    pub(super) reads: &'a [PathBuf],
    /// Directory to write.
    pub(super) writes: Option<&'a Path>,
}

impl ScriptAccess<'_> {
    fn confine(&self, confine: &RoomRequest) -> Result<RoomRequest, PolicyError> {
        let mut policy = Policy::default();
        if let Some(path) = self.writes {
            policy.allow_path(PathGrant {
                host: path.to_owned(),
                shape: Shape::Directory,
                guest: path.display().to_string(),
                access: Access::Write,
                source: GrantSource::named("modbox itself"),
            })?;
        }
        Ok(RoomRequest {
            temporary: None,
            home: None,
            policy,
            least: confine.least,
            kept: false,
            readable: self.reads.to_vec(),
            reports_reads: false,
            observed: false,
            outside: None,
        })
    }
}

/// Runs a script on an interpreter's standard input and returns its output. The inner error is a text that says why the
/// program is not an interpreter, or how it failed.
pub(super) fn ask(
    cx: &NativeContext,
    tmpdir: &Path,
    words: &[&str],
    script: &str,
    access: &ScriptAccess<'_>,
) -> Result<Result<Vec<u8>, String>, PythonError> {
    let command = format!("exec {}", quoting::join(words.iter().copied()));
    let invocation = Invocation {
        program: Program::Native(NativeProgram { command }),
        files: Vec::new(),
        stdin: script.as_bytes().to_vec(),
        runtime_paths: Vec::new(),
    };
    let limits = Limits { timeout: PATIENCE, ..Limits::default() };
    let confine = cx.confine.as_ref().map(|confine| access.confine(confine)).transpose()?;
    let ran = modbox_native::run(&NativeContext { confine, ..cx.clone() }, &invocation, tmpdir, &limits);
    let interpreter = || words.first().map(|word| (*word).to_owned()).unwrap_or_default();
    let ran = match ran {
        // The user whose run it is cannot use this interpreter, but perhaps another one.
        Err(error @ NativeError::Unreachable { .. }) => return Ok(Err(error.to_string())),
        ran => ran,
    };
    let outcome = ran.map_err(|source| PythonError::Ask { interpreter: interpreter(), source })?;
    if let Some(limit) = outcome.limit {
        return Ok(Err(format!("it was stopped at its limit of {}", limit.kind.as_str())));
    }
    match outcome.exit {
        Exit::Code(0) => Ok(Ok(outcome.stdout.bytes)),
        Exit::Code(code) => {
            let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
            let last = stderr.trim().lines().last().unwrap_or_default().trim().to_owned();
            Ok(Err(if last.is_empty() { format!("it ended with status {code}") } else { last }))
        }
        Exit::Trap { .. } | Exit::Killed => Ok(Err("it was killed".to_owned())),
    }
}
