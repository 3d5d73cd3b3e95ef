//! `get_url`: downloads a file from a web server.
//!
//! Parameters: `url`, `dest`, `checksum`, `force`, `backup`, `tmp_dest`, `timeout`, `headers`, and the other fields of
//! the struct below; `mode`, `owner`, `group`.
//! Returns: `dest`, `url`, `src`, `msg`, `status_code`, `checksum_src`, `checksum_dest`, `md5sum`, `elapsed`,
//! `backup_file`.
//! Capabilities: requests to the host of `url`, to hosts that it redirects to, and to the host of a checksum's URL;
//! write access to `dest`. `backup` needs its folder.

#![forbid(unsafe_code)]

mod args;
mod checksum;
mod download;
mod place;
mod result;

use std::path::Path;
use std::time::UNIX_EPOCH;

use modbox_sdk::http::mask_url;
use modbox_sdk::{Dict, Exit, Failure, Module, Value};

use crate::args::GetUrlArgs;
use crate::checksum::Checksum;
use crate::download::Source;
use crate::result::exit;

modbox_sdk::module! {
    args = GetUrlArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        dest: str = "The file that was written.",
        url: str = "The requested URL.",
        src: str if "requested" = "The temporary file of the download.",
        msg: str = "The message about the response.",
        status_code: int if "requested" = "The status of the response.",
        checksum_src: str if "requested" = "The SHA-1 of the download.",
        checksum_dest: str if "dest existed" = "The SHA-1 of the old dest.",
        md5sum: str if "not in check mode" = "The MD5 of dest.",
        elapsed: int = "The duration in seconds.",
        backup_file: str if "changed and backup" = "The backup of the old contents.",
    ],
    examples = [
        "modbox run --allow-net example.org:443 get_url url=https://example.org/list dest=/srv/list",
        "modbox run --allow-net example.org:443 get_url url=https://example.org/a.tar.gz dest=/srv/a.tar.gz checksum=sha256:https://example.org/SHA256SUMS",
    ],
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
        // The existing file is wrong, even if it is current.
        source.force |= sum == Some(false);
    }
    let got = download::get(&args, module, &source)?;
    result.insert("elapsed".to_owned(), got.elapsed.into());
    place::put(&args, module, &got, checksum.as_ref(), result)
}

/// Returns when a file was last written, in seconds since 1970.
fn made_at(path: &Path) -> Option<u64> {
    Some(path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}
