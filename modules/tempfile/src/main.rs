//! `tempfile`: creates an empty file or folder with a unique name.
//!
//! Parameters: `state`, `path`, `prefix`, `suffix`.
//! Returns: `path`.
//! Capabilities: write access to `path`, the folder to create it in.
//!
//! Without `path`, it is in the machine's folder of temporary files; in a sandbox that is one of the run's own, which is removed.

#![forbid(unsafe_code)]

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use modbox_sdk::fs::{path_value, words};
use modbox_sdk::{Args, Choice, Exit, Failure, Module};

modbox_sdk::module! {
    args = TempArgs,
    run = run,
    returns = [path: str = "The new file or folder."],
    examples = ["modbox run tempfile path=/srv/work state=directory suffix=.build"],
}

/// How many names are tried.
const ATTEMPTS: u32 = 100;

/// Creates an empty file or folder with a unique name. It is not removed automatically.
///
/// Only its owner can read it.
#[derive(Args)]
struct TempArgs {
    /// What to create.
    #[arg(default = "file")]
    state: State,
    /// The folder to create it in.
    #[arg(type = "path", access = "write")]
    path: Option<String>,
    /// The start of the name.
    #[arg(default = "ansible.")]
    prefix: String,
    /// The end of the name.
    #[arg(default = "")]
    suffix: String,
}

#[derive(Choice, Clone, Copy, PartialEq)]
enum State {
    Directory,
    File,
}

fn run(args: TempArgs, _module: &mut Module) -> Result<Exit, Failure> {
    if [&args.prefix, &args.suffix].iter().any(|part| part.contains(['/', '\0'])) {
        return Err(Failure::new("prefix and suffix must not contain slashes"));
    }
    let folder = args.path.as_ref().map_or_else(temporary_folder, PathBuf::from);
    for attempt in 0..ATTEMPTS {
        let path = folder.join(format!("{}{}{}", args.prefix, random(attempt), args.suffix));
        match make(&path, args.state) {
            Ok(()) => {
                private(&path, args.state)?;
                let path = std::path::absolute(path)?;
                let path = if matches!(args.state, State::File) { modbox_sdk::fs::by_letters(&path) } else { path };
                return Ok(Exit::changed().with("path", path_value(path)));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Failure::new(format!("failed to create `{}`: {}", path.display(), words(&error))));
            }
        }
    }
    Err(Failure::new(format!("failed to find an unused name in `{}`", folder.display())))
}

/// Returns the folder of temporary files, as Python's `tempfile` finds it.
fn temporary_folder() -> PathBuf {
    let named = std::env::var_os("TMPDIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    named.unwrap_or_else(|| PathBuf::from("/tmp"))
}

fn make(path: &Path, state: State) -> io::Result<()> {
    match state {
        State::Directory => make_folder(path),
        State::File => make_file(path),
    }
}

/// Takes the permissions of others away. WASI makes files with the host's default mode.
fn private(path: &Path, state: State) -> Result<(), Failure> {
    let mode = if state == State::Directory { 0o700 } else { 0o600 };
    match modbox_sdk::files::set_mode(path, mode) {
        Err(error) if error.kind() != ErrorKind::Unsupported => {
            Err(Failure::new(format!("failed to set the mode of `{}`: {}", path.display(), words(&error))))
        }
        _ => Ok(()),
    }
}

fn make_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path).map(drop)
}

#[cfg(unix)]
fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(not(unix))]
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Returns eight random characters. The keys of a hasher come from the system's source of randomness.
fn random(attempt: u32) -> String {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut number = RandomState::new().hash_one(attempt);
    let mut name = String::new();
    for _ in 0..8 {
        name.push(char::from(LETTERS[usize::try_from(number % 36).unwrap_or_default()]));
        number /= 36;
    }
    name
}
