//! `stat`: returns the attributes of a file, a folder or a link.
//!
//! Parameters: `path`, `follow`, `get_checksum`, `checksum_algorithm`; `get_mime` and `get_attributes` are accepted and
//! ignored, and `get_selinux_context` is refused, since a component does not see SELinux.
//! Returns: `stat`, a dict with `exists` and the attributes of the file. Modes and owners come from
//! `modbox:host/files`.
//! Capabilities: read access to `path`.

#![forbid(unsafe_code)]

mod entry;
mod permissions;

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::Path;

use modbox_sdk::fs::{path_value, words};
use modbox_sdk::{Args, Dict, Exit, Failure, Module, Value, files};

use crate::entry::entry;

modbox_sdk::module! {
    args = StatArgs,
    run = run,
    check_mode = true,
    returns = [
        stat: dict = "exists; and if so path, all that stat(2) says, lnk_target of links and checksum of regular files \
            that the user can read; under ansible-core 2.21, disk_usage_bytes. Without what get_mime and get_attributes would add, and without readable, writeable and \
            executable where mode and owner do not tell them.",
    ],
    examples = ["modbox run stat path=/etc/motd", "modbox run stat path=/etc/motd checksum_algorithm=sha256"],
}

/// Returns the attributes of a file, a folder or a link: whether it exists, its type, size, times and checksum.
#[derive(Args)]
struct StatArgs {
    /// The path to examine.
    #[arg(type = "path", access = "read", aliases("dest", "name"))]
    path: String,
    /// Examine the target of a link, instead of the link.
    #[arg(default = false)]
    follow: bool,
    /// Compute a checksum of regular files.
    #[arg(default = true)]
    get_checksum: bool,
    /// The checksum algorithm.
    #[arg(default = "sha1", choices("md5", "sha1", "sha224", "sha256", "sha384", "sha512"))]
    #[arg(aliases("checksum", "checksum_algo"))]
    checksum_algorithm: String,
    /// Accepted and ignored: it would need a program.
    #[arg(name = "get_mime", default = true, aliases("mime", "mime_type", "mime-type"))]
    _get_mime: bool,
    /// Accepted and ignored: it would need a program.
    #[arg(name = "get_attributes", default = true, aliases("attr", "attributes"))]
    _get_attributes: bool,
    /// Refused: a component does not see SELinux.
    #[arg(default = false)]
    get_selinux_context: bool,
}

fn run(args: StatArgs, module: &mut Module) -> Result<Exit, Failure> {
    let path = Path::new(&args.path);
    if args.get_selinux_context {
        return Err(Failure::new(
            "failed to read the SELinux context: a component does not see SELinux; leave out `get_selinux_context`, or \
             run ansible-core's own module",
        ));
    }
    if args.path.is_empty() {
        // A component's C library takes this for the current directory.
        return Ok(Exit::unchanged().with("stat", Dict::from_iter([entry("exists", false)])));
    }
    let metadata = if args.follow { fs::metadata(path) } else { fs::symlink_metadata(path) };
    let stat = match metadata {
        Ok(metadata) => describe(&args, path, &metadata, module)?,
        Err(error) if error.kind() == ErrorKind::NotFound => Dict::from_iter([entry("exists", false)]),
        Err(error) => return Err(Failure::new(format!("failed to access `{}`: {}", args.path, words(&error)))),
    };
    Ok(Exit::unchanged().with("stat", stat))
}

fn describe(args: &StatArgs, path: &Path, metadata: &Metadata, module: &Module) -> Result<Dict, Failure> {
    let mut stat = Dict::from_iter([
        entry("exists", true),
        entry("path", path_value(&args.path)),
        entry("isdir", metadata.is_dir()),
        entry("isreg", metadata.is_file()),
        entry("islnk", metadata.is_symlink()),
        entry("size", metadata.len()),
    ]);
    let failed = |error| Failure::new(format!("failed to access `{}`: {}", args.path, words(&error)));
    let times = files::times(path, args.follow).map_err(failed)?;
    let named = [("mtime", times.modification), ("atime", times.access), ("ctime", times.change)];
    stat.extend(named.map(|(key, time)| entry(key, time.as_seconds())));
    let attributes = files::stat(path, args.follow).map_err(failed)?;
    stat.extend(attributes.entries());
    stat.extend([
        entry("blocks", attributes.blocks),
        entry("block_size", attributes.block_size),
        entry("device_type", attributes.device_type),
    ]);
    if module.is_since(2, 21) {
        stat.extend([entry("disk_usage_bytes", attributes.disk_usage())]);
    }
    stat.extend(permissions::known(path).into_iter().map(|(key, may)| entry(key, may)));
    if metadata.is_symlink() {
        stat.extend(link(path));
    }
    if args.get_checksum && metadata.is_file() {
        match modbox_checksum::of_file(path, &args.checksum_algorithm) {
            Ok(checksum) => stat.extend([entry("checksum", checksum)]),
            // As with Ansible, a file that the user cannot read has none.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            Err(error) => return Err(Failure::new(format!("failed to read `{}`: {}", args.path, words(&error)))),
        }
    }
    Ok(stat)
}

/// Returns the target of a link, and the path where it ends, if these are known.
fn link(path: &Path) -> Vec<(String, Value)> {
    let target = fs::read_link(path).map(|target| ("lnk_target", target));
    let source = match modbox_sdk::fs::real_path(path) {
        // As Python's `realpath`, for links in a circle.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(path.to_owned()),
        source => source,
    };
    let source = source.map(|source| ("lnk_source", source));
    let known = [source, target].into_iter().flatten();
    known.map(|(key, path)| entry(key, path_value(path))).collect()
}
