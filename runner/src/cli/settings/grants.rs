//! Resolves single grants from their written form: makes paths absolute and follows links, and looks up variables,
//! accounts and programs.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use modbox_policy::accounts::Accounts;
use modbox_policy::net::{ListenGrant, NetGrant};
use modbox_policy::run::{self, RunGrant, RunRule, STANDARD_DIRECTORIES};
use modbox_policy::{Access, EnvGrant, OwnerGrant, PathGrant, PolicyError, Shape, is_own, normalize};

use crate::cli::environment::Environment;

/// Resolves `PATH` or `PATH::GUEST`.
pub(super) fn path(environment: &Environment, spec: &OsStr, access: Access, source: &str) -> anyhow::Result<PathGrant> {
    let bytes = spec.as_bytes();
    let (host, guest) = match bytes.windows(2).position(|pair| pair == b"::") {
        Some(at) => (&bytes[..at], Some(&bytes[at + 2..])),
        None => (bytes, None),
    };
    if host.is_empty() {
        bail!("the path is empty");
    }
    if bytes.contains(&0) {
        bail!("the path contains a NUL byte");
    }
    let host = environment.absolute(Path::new(OsStr::from_bytes(host)));
    let guest = guest.map_or_else(|| host.as_os_str().as_bytes().to_vec(), <[u8]>::to_vec);
    let guest = String::from_utf8(guest)
        .ok()
        .context("the path is not UTF-8, which guests need; map the directory to another path with `PATH::GUEST`")?;
    if !guest.starts_with('/') {
        bail!("the path after `::` must be absolute");
    }
    let guest = normalize(Path::new(&guest)).to_string_lossy().into_owned();
    if is_own(&guest) {
        return Err(PolicyError::Reserved { guest, host: host.display().to_string() }.into());
    }
    let (host, shape) = resolve_links(&host, access)?;
    Ok(PathGrant { host, shape, guest, access, source: source.to_owned() })
}

/// Resolves `PATH` or `PATH::GUEST` of a policy file. A shell expands `~` on the command line, and a policy file has no
/// shell: a directory that is called `~` is `./~` there.
pub(super) fn path_of_file(
    environment: &Environment,
    written: &str,
    access: Access,
    source: &str,
) -> anyhow::Result<PathGrant> {
    let host = written.split("::").next().unwrap_or_default();
    let below_home = host.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (below_home, host.starts_with('~'), environment.variable("HOME").filter(|home| !home.is_empty())) {
        (Some(rest), _, Some(home)) => {
            bail!("`~` is not expanded in policy files; write `{}{rest}`", home.to_string_lossy().trim_end_matches('/'))
        }
        (_, true, _) => bail!("`~` is not expanded in policy files; write the whole path"),
        _ => path(environment, written.as_ref(), access, source),
    }
}

/// Follows the links of a granted path once, so that a link that changes later grants nothing else. A path to write may
/// be missing: the grant is then for its name in its directory. A path to read must exist.
fn resolve_links(path: &Path, access: Access) -> anyhow::Result<(PathBuf, Shape)> {
    match path.canonicalize() {
        Ok(real) if real.is_dir() => Ok((real, Shape::Directory)),
        Ok(real) => Ok((real, Shape::Name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && access == Access::Write => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error.into()) };
            let parent = parent.canonicalize().with_context(|| format!("failed to access `{}`", parent.display()))?;
            Ok((parent.join(name), Shape::Name))
        }
        Err(error) => Err(error).with_context(|| format!("failed to access `{}`", path.display())),
    }
}

/// Resolves `NAME=VALUE`, or `NAME` with its value in this process. Returns `None` if `NAME` is not set.
pub(super) fn env(environment: &Environment, spec: &OsStr, source: &str) -> anyhow::Result<Option<EnvGrant>> {
    let text = spec.to_str().context("the variable is not UTF-8, which guests need")?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => {
            let value = environment.variable(text);
            (text, value.map(|value| value.to_str().context("its value is not UTF-8").map(str::to_owned)).transpose()?)
        }
    };
    if name.is_empty() || text.contains('\0') {
        bail!("expected NAME or NAME=VALUE");
    }
    Ok(value.map(|value| EnvGrant { name: name.to_owned(), value, source: source.to_owned() }))
}

/// Parses the users and groups to which the module may give files.
pub(super) fn own(rule: &str, source: &str) -> anyhow::Result<OwnerGrant> {
    let accounts = Accounts::host();
    let (user_id, group_id) = (|name: &str| accounts.users().id(name), |name: &str| accounts.groups().id(name));
    OwnerGrant::parse(rule, source, user_id, group_id).map_err(anyhow::Error::msg)
}

/// Parses a rule for the hosts that the module may connect to.
pub(super) fn net(rule: &str, source: &str) -> anyhow::Result<NetGrant> {
    Ok(NetGrant { rule: rule.parse()?, source: source.to_owned() })
}

/// Parses a rule for the addresses at which the module may listen.
pub(super) fn listen(rule: &str, source: &str) -> anyhow::Result<ListenGrant> {
    Ok(ListenGrant { rule: rule.parse()?, source: source.to_owned() })
}

/// Parses a rule for a command that the module may run, and looks up its program now, so that another program that gets
/// the same name later is not granted.
pub(super) fn run(rule: &str, source: &str) -> anyhow::Result<RunGrant> {
    let rule: RunRule = rule.parse()?;
    let real = |path: &Path| path.canonicalize().ok();
    let programs = match Path::new(rule.program()) {
        path if path.is_absolute() => run::known_as(path, real),
        _ => run::look_up(rule.program(), is_program, real),
    };
    if programs.is_empty() {
        let program = rule.program();
        bail!(
            "failed to find the program `{program}` in {}; use an absolute path for another directory",
            STANDARD_DIRECTORIES.join(", ")
        );
    }
    Ok(RunGrant { rule, programs, source: source.to_owned() })
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
