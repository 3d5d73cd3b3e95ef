//! A host of lookups with files and an environment in memory, for tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use modbox_jinja::values::Moment;

use super::host::{CommandOutput, LookupFailure, LookupHost, ShellCommand};
use crate::files::SharedFiles;
use crate::memory_files::MemoryFiles;

/// A host that allows reading `HOME` and `GIVEN`, running `say …`, and writing below `/p/secrets`.
pub(super) struct MemoryHost {
    files: Arc<MemoryFiles>,
    pub(super) written: Mutex<Vec<(String, String, u32)>>,
    pub(super) secrets: Mutex<Vec<String>>,
}

impl MemoryHost {
    pub(super) fn new(files: MemoryFiles) -> Self {
        Self { files: Arc::new(files), written: Mutex::default(), secrets: Mutex::default() }
    }
}

fn denied<T>(action: String, switch: String) -> Result<T, LookupFailure> {
    Err(LookupFailure::Denied { action, switch })
}

impl LookupHost for MemoryHost {
    fn files(&self) -> SharedFiles {
        self.files.clone()
    }

    fn variable(&self, name: &str) -> Result<Option<String>, LookupFailure> {
        match name {
            "HOME" => Ok(Some("/h/me".to_owned())),
            "GIVEN" => Ok(Some("{{ 1 + 1 }}".to_owned())),
            "UNSET" => Ok(None),
            _ => denied(format!("read the variable `{name}`"), format!("--allow-env {name}")),
        }
    }

    fn run_command(&self, command: &ShellCommand<'_>) -> Result<CommandOutput, LookupFailure> {
        match command.line.strip_prefix("say ") {
            Some("fail") => Ok(CommandOutput { status: 3, stdout: Vec::new() }),
            Some(text) => Ok(CommandOutput { status: 0, stdout: format!("{text}\nin {}\n \n", command.folder).into() }),
            None => denied(format!("run `{}`", command.line), format!("--allow-run {}", command.line)),
        }
    }

    fn write_file(&self, path: &str, content: &[u8], mode: u32) -> Result<(), LookupFailure> {
        if !path.starts_with("/p/secrets/") {
            return denied(format!("write `{path}`"), format!("--allow-write {path}"));
        }
        let content = String::from_utf8_lossy(content).into_owned();
        self.written.lock().unwrap().push((path.to_owned(), content, mode));
        Ok(())
    }

    fn random(&self) -> Result<u64, LookupFailure> {
        Ok(7)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(1_800_000_000)
    }

    fn local_time(&self, time: Duration) -> Option<Moment> {
        Moment::from_micros(i128::try_from(time.as_micros()).ok()?, None)
    }

    fn host_name(&self) -> String {
        "machine".to_owned()
    }

    fn register_secret(&self, secret: &str) {
        self.secrets.lock().unwrap().push(secret.to_owned());
    }

    fn warn(&self, _text: &str) {}
}
