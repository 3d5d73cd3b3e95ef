//! `slurp`: returns the contents of a file as Base64, or as text.
//!
//! Parameters: `src`, `armor`.
//! Returns: `content`, `encoding`, `source`.
//! Capabilities: read access to `src`.

#![forbid(unsafe_code)]

use std::io::ErrorKind;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use modbox_sdk::fs::path_value;
use modbox_sdk::{Args, Exit, Failure, Module, Value};

modbox_sdk::module! {
    args = SlurpArgs,
    run = run,
    check_mode = true,
    returns = [
        content: str = "The contents of the file: Base64, or with armor off, text.",
        encoding: str = "base64, or with armor off, utf-8.",
        source: str = "The file.",
    ],
    examples = ["modbox run slurp src=/etc/motd"],
}

/// The longest file. The result contains it, a third longer, and the runner limits results too.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Returns the contents of a file as Base64, or as text.
#[derive(Args)]
struct SlurpArgs {
    /// The file.
    #[arg(type = "path", access = "read", alias = "path")]
    src: String,
    /// Return Base64, which keeps every byte. If off, the contents are text; other bytes than UTF-8 become lone surrogates, as in
    /// Python.
    #[arg(default = true)]
    armor: bool,
}

fn run(args: SlurpArgs, _module: &mut Module) -> Result<Exit, Failure> {
    let path = Path::new(&args.src);
    if modbox_sdk::fs::is_dir(path) {
        return Err(Failure::new(format!("Source is a directory and must be a file: {}", args.src)));
    }
    let contents = modbox_sdk::fs::read(path, MAX_FILE_BYTES).map_err(|error| {
        Failure::new(match error.kind() {
            ErrorKind::NotFound => format!("File not found: {}", args.src),
            ErrorKind::PermissionDenied => format!("File is not readable: {}", args.src),
            _ => format!("Unable to slurp file: {}: {}", args.src, modbox_sdk::fs::words(&error)),
        })
    })?;
    let (content, encoding) = match args.armor {
        true => (Value::from(STANDARD.encode(contents)), "base64"),
        false => (Value::from_os_bytes(&contents), "utf-8"),
    };
    Ok(Exit::default().with("content", content).with("source", path_value(&args.src)).with("encoding", encoding))
}
