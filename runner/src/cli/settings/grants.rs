//! Resolves single grants from their written form: makes paths absolute and follows links, and looks up variables,
//! accounts and programs.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use modbox_policy::accounts::Accounts;
use modbox_policy::net::{ListenGrant, NetGrant};
use modbox_policy::outside::{BoundNames, OutsideGrant, OutsideRule};
use modbox_policy::run::{RunGrant, RunRule, STANDARD_DIRECTORIES};
use modbox_policy::{
    Access, EnvGrant, NamedLink, OwnerGrant, PathGrant, PolicyError, Rules, Shape, granted_host, is_own, normalize,
    split_grant,
};
use modbox_run::{WayEnd, granted_programs, programs_outside, resolve_way};
use modbox_vocabulary::GrantSource;
use rustix::io::Errno;

use crate::cli::process::environment::Environment;

const NOT_UTF8: &str = "the path is not UTF-8, which guests need; map the directory to another path with `PATH::GUEST`";

/// A granted path, and the links on the way that names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedGrant {
    grant: PathGrant,
    links: Vec<String>,
}

impl NamedGrant {
    /// Adds the grant to the rules of its source.
    pub(super) fn add_to(self, rules: &mut Rules) {
        let Self { grant, links } = self;
        let link = |path| NamedLink { path, leads_to: grant.guest.clone() };
        rules.links.extend(links.into_iter().map(link));
        rules.paths.push(grant);
    }
}

/// Resolves `PATH` or `PATH::GUEST`. Links are followed once, so that a link that changes later grants nothing else. The module
/// finds the granted file or directory at its own place, and the links of `PATH` as links that lead there.
pub(super) fn path(
    environment: &Environment,
    spec: &OsStr,
    access: Access,
    source: &GrantSource,
) -> anyhow::Result<NamedGrant> {
    let bytes = spec.as_bytes();
    let (host, guest) = split_grant(bytes);
    if host.is_empty() {
        bail!("the path is empty");
    }
    if bytes.contains(&0) {
        bail!("the path contains a NUL byte");
    }
    let written = environment.absolute(Path::new(OsStr::from_bytes(host)));
    let (host, shape, links) = resolve_links(&written, access).map_err(|error| relative_guest(host, error))?;
    let (guest, links) = match guest {
        Some(guest) => (guest_path(guest)?, Vec::new()),
        None => own_place(&written, &host, links)?,
    };
    if is_own(&guest) {
        return Err(PolicyError::Reserved { guest, host: written.display().to_string() }.into());
    }
    Ok(NamedGrant { grant: PathGrant { host, shape, guest, access, source: source.clone() }, links })
}

/// Explains a path with two colons that does not exist: what follows them is mostly meant as a path in the module.
fn relative_guest(written: &[u8], error: anyhow::Error) -> anyhow::Error {
    match written.windows(2).any(|pair| pair == b"::") {
        true => anyhow!("there is no `{}`, and a path after `::` must be absolute", String::from_utf8_lossy(written)),
        false => error,
    }
}

fn guest_path(written: &[u8]) -> anyhow::Result<String> {
    let guest = std::str::from_utf8(written).ok().context(NOT_UTF8)?;
    Ok(normalize(Path::new(guest)).to_string_lossy().into_owned())
}

/// Returns where the module finds a path that is not mapped to another one, and the links that lead there. What a link leads to
/// in a place that each module has for itself, such as `/tmp`, is at the place of the link.
fn own_place(written: &Path, host: &Path, links: Vec<PathBuf>) -> anyhow::Result<(String, Vec<String>)> {
    let host = host.to_str().context(NOT_UTF8)?;
    if is_own(host) {
        let written = normalize(written).into_os_string().into_string().ok().context(NOT_UTF8)?;
        return Ok((written, Vec::new()));
    }
    // A link whose name is not UTF-8 cannot be shown, and what it leads to is granted all the same.
    let links = links.into_iter().filter_map(|link| link.into_os_string().into_string().ok());
    Ok((host.to_owned(), links.collect()))
}

/// Resolves `PATH` or `PATH::GUEST` of a policy file. A shell expands `~` on the command line, and a policy file has no
/// shell: a directory that is called `~` is `./~` there.
pub(super) fn path_of_file(
    environment: &Environment,
    written: &str,
    access: Access,
    source: &GrantSource,
) -> anyhow::Result<NamedGrant> {
    let host = granted_host(written);
    let below_home = host.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (below_home, host.starts_with('~'), environment.variable("HOME").filter(|home| !home.is_empty())) {
        (Some(rest), _, Some(home)) => {
            bail!("`~` is not expanded in policy files; write `{}{rest}`", home.to_string_lossy().trim_end_matches('/'))
        }
        (_, true, _) => bail!("`~` is not expanded in policy files; write the whole path"),
        _ => path(environment, written.as_ref(), access, source),
    }
}

/// Follows the links of a granted path, and returns them. A path to write may be missing: the grant is then for its name in its
/// directory. A path to read must exist.
fn resolve_links(path: &Path, access: Access) -> anyhow::Result<(PathBuf, Shape, Vec<PathBuf>)> {
    let way = resolve_way(path, true);
    let (failed, error) = match way.end {
        WayEnd::At(real, shape) if access == Access::Write || real.symlink_metadata().is_ok() => {
            return Ok((real, shape, way.links));
        }
        WayEnd::At(..) => (path, io::Error::from(Errno::NOENT)),
        WayEnd::Failed { errno, .. } if errno == Errno::NOENT && access == Access::Write => {
            (path.parent().unwrap_or(path), io::Error::from(errno))
        }
        WayEnd::Failed { errno, .. } => (path, io::Error::from(errno)),
    };
    Err(error).with_context(|| format!("failed to access `{}`", failed.display()))
}

/// Resolves `NAME=VALUE`, or `NAME` with its value in this process. Returns `None` if `NAME` is not set.
pub(super) fn env(environment: &Environment, spec: &OsStr, source: &GrantSource) -> anyhow::Result<Option<EnvGrant>> {
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
    Ok(value.map(|value| EnvGrant { name: name.to_owned(), value, source: source.clone() }))
}

/// Parses the users and groups to which the module may give files.
pub(super) fn own(rule: &str, source: &GrantSource) -> anyhow::Result<OwnerGrant> {
    // An earlier task of the same play can have made the user.
    let user_id = |name: &str| Accounts::host().users().id(name).or_else(|| Accounts::of_now().users().id(name));
    let group_id = |name: &str| Accounts::host().groups().id(name).or_else(|| Accounts::of_now().groups().id(name));
    Ok(OwnerGrant::parse(rule, source, user_id, group_id)?)
}

/// Parses a rule for the hosts that the module may connect to.
pub(super) fn net(rule: &str, source: &GrantSource) -> anyhow::Result<NetGrant> {
    Ok(NetGrant { rule: rule.parse()?, source: source.clone() })
}

/// Parses a rule for the addresses at which the module may listen.
pub(super) fn listen(rule: &str, source: &GrantSource) -> anyhow::Result<ListenGrant> {
    Ok(ListenGrant { rule: rule.parse()?, source: source.clone() })
}

/// Parses a rule for a command that the module may run, and looks up its program now, so that another program that gets
/// the same name later is not granted.
pub(super) fn run(rule: &str, source: &GrantSource) -> anyhow::Result<RunGrant> {
    let rule: RunRule = rule.parse()?;
    let programs = granted_programs(rule.program());
    if programs.is_empty() {
        let program = rule.program();
        bail!(
            "failed to find the program `{program}` in {}; use an absolute path for another directory",
            STANDARD_DIRECTORIES.join(", ")
        );
    }
    Ok(RunGrant { rule, programs, source: source.clone() })
}

/// Parses a rule for a command outside. A program that the machine does not have is not an error, since a policy is often for
/// many machines: such a rule covers nothing.
pub(super) fn outside(rule: &str, source: &GrantSource) -> anyhow::Result<OutsideGrant> {
    let rule: OutsideRule = rule.parse()?;
    let (names, source) = (BoundNames::default(), source.clone());
    Ok(OutsideGrant { programs: programs_outside(&rule), rule, names, is_query: false, is_shipped: false, source })
}
