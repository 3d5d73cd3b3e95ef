//! What can fail when credentials are searched for. No message has any of the content of a file or of an answer, since
//! either may be a secret.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Maximum size of a file with credentials, in bytes.
pub(super) const MAX_FILE: u64 = 1 << 20;

/// Maximum length of what a helper prints, on both streams together, in bytes.
pub(super) const MAX_OUTPUT: usize = 64 << 10;

/// Error of the search for credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read.
    #[error("failed to read the credentials `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The path leads to something else.
    #[error("failed to read the credentials `{}`: it is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The file is too large.
    #[error("failed to read the credentials `{}`: it is larger than {MAX_FILE} bytes", .0.display())]
    TooLarge(PathBuf),
    /// The file is not in the format.
    #[error(
        "failed to read the credentials `{}`: line {line}, column {column} is not JSON in the form of docker's \
         `config.json`; correct it, or move the file away and log in again",
        path.display()
    )]
    Json {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column in the line, in bytes.
        column: usize,
    },
    /// An entry's `auth` or name is not in its form.
    #[error(
        "failed to read the entry of `{host}` in `{}`: it does not have a user's name and password, in `auth` as the \
         base64 of `USER:PASSWORD`; run `docker login {host}`",
        path.display()
    )]
    Auth {
        /// The file.
        path: PathBuf,
        /// The host that was searched for.
        host: String,
    },
    /// An entry has only a token for one session, which modbox does not use.
    #[error(
        "failed to use the entry of `{host}` in `{}`: it has only a `registrytoken`, which ends with its session; run \
         `docker login {host}`",
        path.display()
    )]
    RegistryToken {
        /// The file.
        path: PathBuf,
        /// The host that was searched for.
        host: String,
    },
    /// A helper gave no answer.
    #[error("failed to get credentials from `{program}`, which `{}` names", path.display())]
    Helper {
        /// The file that names the helper.
        path: PathBuf,
        /// The helper's program.
        program: String,
        /// The cause.
        #[source]
        source: HelperError,
    },
}

/// Reason why a helper gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The name is not a plain word.
    #[error("its name has characters other than letters, digits, `-`, `_` and `.`; correct it in the file")]
    Name,
    /// No folder has the program.
    #[error("it is not in a folder of `PATH`; install it, or remove it from the file and run `docker login` again")]
    Missing,
    /// The program cannot be started.
    #[error("it does not start; check that it is for this machine and that its interpreter is there")]
    Start(#[source] io::Error),
    /// The program's output cannot be read.
    #[error("its output cannot be read; try again")]
    Output(#[source] io::Error),
    /// The program takes too long.
    #[error("it did not end within {0} s, and was killed; run `{1}` to see what it waits for")]
    Late(f32, String),
    /// The program prints too much.
    #[error("it printed more than {MAX_OUTPUT} bytes, and was killed; run `{0}` to see them")]
    TooLong(String),
    /// The program ended with an error.
    #[error("it failed ({0}); run `{1}` to see why, and log in again if the store has to be unlocked")]
    Failed(ExitStatus, String),
    /// The output is not an answer.
    #[error("its answer is not JSON with `Username` and `Secret`; run `{0}` to see it")]
    Answer(String),
}
