//! `tempfile`: makes an empty file or folder that nobody else has.
//!
//! Parameters: `state`, `path`, `prefix`, `suffix`.
//! Returns: `path`.
//! Capabilities: write access to `path`, the folder to make it in.
//!
//! Without `path` it lies in the run's own temporary folder, which a sandbox does not keep.

#![forbid(unsafe_code)]

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use modbox_sdk::{Args, Choice, Exit, Failure, Module};

modbox_sdk::module! {
    args = TempArgs,
    run = run,
    returns = [path: str = "What was made."],
    examples = ["modbox run tempfile path=/srv/work state=directory suffix=.build"],
}

/// How often a name may turn out to be taken.
const ATTEMPTS: u32 = 100;

/// Makes an empty file or folder that nobody else has. It is not removed again.
///
/// WASI has no modes: in a sandbox the host's default mode holds, so others may read what is written there.
#[derive(Args)]
struct TempArgs {
    /// What to make.
    #[arg(default = "file")]
    state: State,
    /// The folder to make it in.
    #[arg(type = "path", access = "write")]
    path: Option<String>,
    /// How the name starts.
    #[arg(default = "ansible.")]
    prefix: String,
    /// How the name ends.
    #[arg(default = "")]
    suffix: String,
}

#[derive(Choice, Clone, Copy, PartialEq)]
enum State {
    Directory,
    File,
}

fn run(args: TempArgs, module: &mut Module) -> Result<Exit, Failure> {
    if [&args.prefix, &args.suffix].iter().any(|part| part.contains(['/', '\0'])) {
        return Err(Failure::new("prefix and suffix are parts of one name, so they hold no slashes"));
    }
    let folder = args.path.as_ref().map_or_else(|| module.tmpdir(), PathBuf::from);
    for attempt in 0..ATTEMPTS {
        let path = folder.join(format!("{}{}{}", args.prefix, random(attempt), args.suffix));
        match make(&path, args.state) {
            Ok(()) => return Ok(Exit::changed().with("path", path.display().to_string())),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::new(format!("failed to make `{}`: {error}", path.display()))),
        }
    }
    Err(Failure::new(format!("no free name was found in `{}`", folder.display())))
}

fn make(path: &Path, state: State) -> io::Result<()> {
    match state {
        State::Directory => make_folder(path),
        State::File => make_file(path),
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

/// Eight characters that nobody guesses: the keys of a hasher come from the system's source of randomness.
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
