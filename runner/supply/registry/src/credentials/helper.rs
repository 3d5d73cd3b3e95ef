//! The question to a helper of docker, and its answer: `docker-credential-NAME get`, with the host as input.
//!
//! A helper is the user's own program and runs with the user's authority and environment; it is not in a sandbox. What
//! it prints is not shown, since it may be a secret: messages name the command that shows it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::credential::Credentials;
use super::error::HelperError;
use super::helper_process;

/// What a helper prints when the store has nothing for the host.
const NOT_FOUND: &str = "credentials not found in native keychain";

/// The name of the user of an identity token.
const TOKEN_USER: &str = "<token>";

#[derive(Debug)]
pub(super) struct HelperFolders<'a> {
    /// As in `PATH`. Only absolute ones count.
    pub(super) folders: &'a [PathBuf],
    /// Time that a helper has.
    pub(super) patience: Duration,
}

/// A helper's answer.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

impl HelperFolders<'_> {
    /// Asks a helper about a host. Returns `None` if its store has nothing for it.
    pub(super) fn ask(&self, program: &str, server: &str) -> Result<Option<Credentials>, HelperError> {
        if !program.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
            return Err(HelperError::Name);
        }
        let path = self.find(program).ok_or(HelperError::Missing)?;
        let by_hand = || format!("echo {server} | {program} get");
        let output = helper_process::run(&path, server, self.patience, &by_hand)?;
        if output.status.code() == Some(1) && (has_line(&output.stdout) || has_line(&output.stderr)) {
            return Ok(None);
        }
        if !output.status.success() {
            return Err(HelperError::Failed(output.status, by_hand()));
        }
        let answer: Answer = serde_json::from_slice(&output.stdout).map_err(|_| HelperError::Answer(by_hand()))?;
        match (answer.username, answer.secret) {
            (user, secret) if user.is_empty() && secret.is_empty() => Ok(None),
            (user, _) if user.is_empty() => Err(HelperError::Answer(by_hand())),
            (user, secret) if user == TOKEN_USER => Ok(Some(Credentials::IdentityToken(secret.into()))),
            (user, secret) => Ok(Some(Credentials::Password { user, password: secret.into() })),
        }
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        let absolute = self.folders.iter().filter(|folder| folder.is_absolute());
        absolute.map(|folder| folder.join(program)).find(|path| is_program(path))
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Returns whether the message that the store has nothing is a line of an output.
fn has_line(output: &[u8]) -> bool {
    output.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == NOT_FOUND.as_bytes())
}
