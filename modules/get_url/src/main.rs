//! `get_url`: gets a file from a web server.
//!
//! Parameters: `url`, `dest`, `checksum`, `force`, `backup`, `tmp_dest`, `timeout`, `headers`, and what the struct below says; `mode`, `owner`, `group`.
//! Returns: `dest`, `url`, `src`, `msg`, `status_code`, `checksum_src`, `checksum_dest`, `md5sum`, `elapsed`, `backup_file`.
//! Capabilities: requests to the host of `url`, to those that it redirects to, and to that of a checksum's address; write access to
//! `dest`; `backup` needs its folder.

#![forbid(unsafe_code)]

mod checksum;
mod download;
mod place;

use std::path::Path;
use std::time::UNIX_EPOCH;

use modbox_sdk::http::mask_url;
use modbox_sdk::{Args, Dict, Exit, Failure, Module, Value};

use crate::checksum::Checksum;
use crate::download::Source;

modbox_sdk::module! {
    args = GetUrlArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        dest: str = "The file that was written.",
        url: str = "The address that was asked for.",
        src: str if "it was asked for" = "The temporary file that it was written to.",
        msg: str = "What the server said.",
        status_code: int if "it was asked for" = "The status of the answer.",
        checksum_src: str if "it was asked for" = "The SHA-1 of what came.",
        checksum_dest: str if "dest was there" = "The SHA-1 of what dest held.",
        md5sum: str if "not in check mode" = "The MD5 of what dest holds.",
        elapsed: int = "How many seconds it took.",
        backup_file: str if "changed and backup" = "Where the old contents are.",
    ],
    examples = [
        "modbox run --allow-net example.org:443 get_url url=https://example.org/list dest=/srv/list",
        "modbox run --allow-net example.org:443 get_url url=https://example.org/a.tar.gz dest=/srv/a.tar.gz checksum=sha256:https://example.org/SHA256SUMS",
    ],
}

/// Gets a file from a web server.
///
/// What comes is checked before it takes the place of what is there.
#[derive(Args)]
#[expect(dead_code, reason = "`fetch_url` looks at the options that it knows by itself")]
struct GetUrlArgs {
    /// The address, by http or https.
    url: String,
    /// The file to write, or the folder to write into, by the name that the server gives or that the address has.
    #[arg(type = "path", access = "write")]
    dest: String,
    /// What the file's checksum must be: its algorithm, a colon, and its digits or the address of a file that has them.
    #[arg(default = "")]
    checksum: String,
    /// Get it also when the file is there; without it, only what is newer.
    #[arg(default = false)]
    force: bool,
    /// Keep the old file under another name beside it; needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// The folder for the temporary file.
    #[arg(type = "path", access = "write")]
    tmp_dest: Option<String>,
    /// How many seconds the server may be silent.
    #[arg(default = 10)]
    timeout: i64,
    /// The fields that are sent.
    headers: Option<Dict>,
    /// Fields that do not go with redirects.
    #[arg(default = [])]
    unredirected_headers: Vec<String>,
    /// The user's name, for Basic authentication.
    #[arg(alias = "username")]
    url_username: Option<String>,
    /// The password.
    #[arg(alias = "password", no_log)]
    url_password: Option<String>,
    /// Send name and password without being asked for them.
    #[arg(default = false)]
    force_basic_auth: bool,
    /// What the module calls itself.
    #[arg(default = "ansible-httpget")]
    http_agent: String,
    /// Unpack an answer that comes packed by gzip.
    #[arg(default = true)]
    decompress: bool,
    /// Have the server prove its name; no is not supported.
    #[arg(default = true)]
    validate_certs: bool,
    /// Taken, and does nothing: no proxy is used.
    #[arg(default = true)]
    use_proxy: bool,
    /// Taken, and does nothing: a sandbox has no such file.
    #[arg(default = true)]
    use_netrc: bool,
    /// Not supported.
    #[arg(type = "path")]
    client_cert: Option<String>,
    /// Not supported.
    #[arg(type = "path")]
    client_key: Option<String>,
    /// Not supported.
    ciphers: Option<Vec<String>>,
    /// Not supported.
    #[arg(default = false)]
    use_gssapi: bool,
}

fn run(args: GetUrlArgs, module: &mut Module) -> Result<Exit, Failure> {
    let dest = Path::new(&args.dest);
    let mut result = Dict::from_iter([
        ("changed".to_owned(), Value::from(false)),
        ("checksum_dest".to_owned(), Value::Null),
        ("checksum_src".to_owned(), Value::Null),
        ("dest".to_owned(), args.dest.as_str().into()),
        ("elapsed".to_owned(), 0.into()),
        ("url".to_owned(), mask_url(&args.url).into()),
    ]);
    let checksum = Checksum::of(&args, module, &result)?;
    let mut source = Source { url: &args.url, newer_than: None, force: args.force, head_only: module.check_mode() };
    if !dest.is_dir() && dest.exists() {
        let sum = checksum.as_ref().filter(|_| !args.force).map(|wanted| wanted.holds(dest)).transpose()?;
        if sum == Some(true) {
            let wanted = module.load_file_common_arguments(Some(dest))?.unwrap_or_default();
            let changed = module.set_fs_attributes_if_different(&wanted, false, None)?;
            result.insert("changed".to_owned(), changed.into());
            let what = if changed { "file already exists but file attributes changed" } else { "file already exists" };
            return Ok(exit(result).msg(what));
        }
        source.newer_than = made_at(dest);
        // What is there is wrong, however new it is.
        source.force |= sum == Some(false);
    }
    let got = download::get(&args, module, &source)?;
    result.insert("elapsed".to_owned(), got.elapsed.into());
    place::put(&args, module, &got, checksum.as_ref(), result)
}

/// A result, or the entries of a failed one.
fn exit(result: Dict) -> Exit {
    result.into_iter().fold(Exit::default(), |exit, (key, value)| exit.with(key, value))
}

fn failure(message: impl std::fmt::Display, result: Dict) -> Failure {
    result.into_iter().fold(Failure::new(message), |failure, (key, value)| failure.with(key, value))
}

/// When a file was last written, in seconds since 1970.
fn made_at(path: &Path) -> Option<u64> {
    Some(path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}
