//! From the command line as typed to what a run needs: policy files read and merged, paths made absolute
//! and looked at, variables resolved, arguments parsed. Every mistake is an error of usage that names
//! the switch or the file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::cli::args::{GrantArgs, LimitArgs};
use crate::cli::environment::Environment;
use crate::sandbox::limits::Limits;
use crate::sandbox::policy::{Access, EnvGrant, LimitOverrides, PathGrant, Policy, PolicyFile, Shape};

/// Larger than any policy that a person writes.
const MAX_POLICY: u64 = 1 << 20;

/// Larger than the arguments that any task passes; Ansible itself holds them in memory several times.
pub(crate) const MAX_ARGS: u64 = 64 << 20;

/// The policy and the limits of a run: those of the policy files, then those of the command line.
///
/// # Errors
///
/// A policy file or grant that is wrong or names what is not there.
pub(crate) fn policy(
    environment: &Environment,
    grants: &GrantArgs,
    limit_args: &LimitArgs,
) -> anyhow::Result<(Policy, Limits)> {
    let (mut policy, mut limits) = (Policy::default(), Limits::default());
    for path in &environment.policy_files {
        if let Some(text) = read_optional(path)? {
            add_file(&mut policy, &mut limits, environment, path, &text)?;
        }
    }
    for path in &grants.policy {
        let text = read_optional(path)?.with_context(|| format!("there is no policy file `{}`", path.display()))?;
        add_file(&mut policy, &mut limits, environment, path, &text)?;
    }
    for (switch, access, paths) in
        [("--allow-read", Access::Read, &grants.allow_read), ("--allow-write", Access::Write, &grants.allow_write)]
    {
        for path in paths {
            add_path(&mut policy, environment, path, access, switch).with_context(|| in_switch(switch, path))?;
        }
    }
    for variable in &grants.allow_env {
        let switch = "--allow-env";
        add_env(&mut policy, environment, variable, switch).with_context(|| in_switch(switch, variable))?;
    }
    if grants.allow_all {
        policy.allow_everything("--allow-all");
        for (name, value) in &environment.variables {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str()) {
                let (name, value) = (name.to_owned(), value.to_owned());
                policy.allow_env(EnvGrant { name, value, source: "--allow-all".to_owned() });
            }
        }
    }
    LimitOverrides {
        timeout: limit_args.timeout,
        cpu_time: limit_args.cpu_time,
        memory: limit_args.max_memory,
        output: limit_args.max_output,
        processes: limit_args.max_processes,
    }
    .apply(&mut limits);
    Ok((policy, limits))
}

fn in_switch(switch: &str, value: &OsStr) -> String {
    format!("wrong grant `{switch} {}`", value.to_string_lossy())
}

fn add_file(
    policy: &mut Policy,
    limits: &mut Limits,
    environment: &Environment,
    path: &Path,
    text: &str,
) -> anyhow::Result<()> {
    let source = format!("policy file {}", path.display());
    let in_file = || format!("wrong policy file `{}`", path.display());
    let file = PolicyFile::parse(text).with_context(in_file)?;
    for (access, paths) in [(Access::Read, &file.allow.read), (Access::Write, &file.allow.write)] {
        for grant in paths {
            add_path(policy, environment, grant.as_ref(), access, &source).with_context(in_file)?;
        }
    }
    for variable in &file.allow.env {
        add_env(policy, environment, variable.as_ref(), &source).with_context(in_file)?;
    }
    file.limits.apply(limits);
    Ok(())
}

/// Adds `PATH` or `PATH::GUEST`.
fn add_path(
    policy: &mut Policy,
    environment: &Environment,
    spec: &OsStr,
    access: Access,
    source: &str,
) -> anyhow::Result<()> {
    let bytes = spec.as_bytes();
    let (host, guest) = match bytes.windows(2).position(|pair| pair == b"::") {
        Some(at) => (&bytes[..at], Some(&bytes[at + 2..])),
        None => (bytes, None),
    };
    if host.is_empty() {
        bail!("the path is empty");
    }
    let host = environment.absolute(Path::new(OsStr::from_bytes(host)));
    let guest = guest.map_or_else(|| host.as_os_str().as_bytes().to_vec(), <[u8]>::to_vec);
    let guest = String::from_utf8(guest)
        .ok()
        .context("a guest sees paths as UTF-8; map the directory elsewhere with `PATH::GUEST`")?;
    if !guest.starts_with('/') {
        bail!("the path behind `::` must be absolute, as the module sees it");
    }
    let guest = crate::sandbox::policy::normalize(Path::new(&guest)).to_string_lossy().into_owned();
    let (host, shape) = settle(&host, access)?;
    policy.allow_path(PathGrant { host, shape, guest, access, source: source.to_owned() })?;
    Ok(())
}

/// Follows the links of a path that is to be granted, once and for all: what they lead to later is not granted. What
/// is not there yet is a name in its directory, if it is to be made; to read, it must be there.
fn settle(path: &Path, access: Access) -> anyhow::Result<(PathBuf, Shape)> {
    match path.canonicalize() {
        Ok(real) if real.is_dir() => Ok((real, Shape::Directory)),
        Ok(real) => Ok((real, Shape::Name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && access == Access::Write => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error.into()) };
            let parent = parent.canonicalize().with_context(|| format!("failed to look at `{}`", parent.display()))?;
            Ok((parent.join(name), Shape::Name))
        }
        Err(error) => Err(error).with_context(|| format!("failed to look at `{}`", path.display())),
    }
}

/// Adds `NAME=VALUE`, or `NAME` with the value that it has here, if any.
fn add_env(policy: &mut Policy, environment: &Environment, spec: &OsStr, source: &str) -> anyhow::Result<()> {
    let text = spec.to_str().context("a guest sees variables as UTF-8")?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => {
            let value = environment.variable(text);
            (text, value.map(|value| value.to_str().context("its value is not UTF-8").map(str::to_owned)).transpose()?)
        }
    };
    if name.is_empty() || text.contains('\0') {
        bail!("not NAME or NAME=VALUE");
    }
    if let Some(value) = value {
        policy.allow_env(EnvGrant { name: name.to_owned(), value, source: source.to_owned() });
    }
    Ok(())
}

fn read_optional(path: &Path) -> anyhow::Result<Option<String>> {
    match read_bounded(path, MAX_POLICY) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => bail!("the policy file `{}` is not UTF-8", path.display()),
        },
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("failed to read the policy file `{}`", path.display())),
    }
}

/// Reads a whole file of at most `limit` bytes; only a regular file or a pipe has an end to wait for.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_stream(File::open(path)?, limit)
}

/// Reads a stream to its end, if that comes within `limit` bytes.
pub(crate) fn read_stream(stream: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than the limit of {limit} bytes")));
    }
    Ok(bytes)
}

/// The folders in which module names are looked up, in order.
pub(crate) fn library(environment: &Environment, module_path: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("library")];
    folders.extend_from_slice(module_path);
    folders.extend_from_slice(&environment.library);
    folders.iter().map(|folder| environment.absolute(folder)).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use super::*;

    fn environment(dir: &Path) -> Environment {
        Environment {
            cwd: dir.to_owned(),
            temp_dir: dir.to_owned(),
            cache_dir: None,
            policy_files: vec![dir.join("system.yaml"), dir.join("user.yaml")],
            library: Vec::new(),
            variables: vec![("STAGE".into(), "test".into()), ("BAD".into(), OsString::from("x"))],
        }
    }

    fn read(specs: &[&str]) -> GrantArgs {
        GrantArgs { allow_read: specs.iter().map(Into::into).collect(), ..GrantArgs::default() }
    }

    #[test]
    fn files_and_switches_add_up() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        fs::write(dir.path().join("user.yaml"), "allow: {read: [data::/data], env: [STAGE]}\nlimits: {timeout: 3s}\n")
            .unwrap();
        let grants = GrantArgs { allow_write: vec!["data/../data::/out".into()], ..GrantArgs::default() };
        let (policy, limits) = policy(&environment(dir.path()), &grants, &LimitArgs::default()).unwrap();
        let subjects: Vec<String> = policy.grants().into_iter().map(|grant| grant.subject).collect();
        let data = dir.path().join("data").display().to_string();
        assert_eq!(subjects, [format!("{data}::/data"), format!("{data}::/out"), "STAGE".to_owned()]);
        assert_eq!(limits.timeout.as_secs(), 3);
    }

    #[test]
    fn mistakes_name_the_switch_and_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for (spec, expect) in [
            ("nowhere", "failed to look at"),
            ("", "the path is empty"),
            (".::data", "must be absolute"),
            (".::/tmp", "every guest's own"),
        ] {
            let error = policy(&environment(dir.path()), &read(&[spec]), &LimitArgs::default()).unwrap_err();
            let text = format!("{error:#}");
            assert!(text.contains(expect) && text.contains("--allow-read"), "{spec}: {text}");
        }
    }

    #[test]
    fn a_wrong_policy_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("system.yaml"), "allow: {raed: []}\n").unwrap();
        let error = policy(&environment(dir.path()), &GrantArgs::default(), &LimitArgs::default()).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("system.yaml") && text.contains("raed"), "{text}");
    }
}
