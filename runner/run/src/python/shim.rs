//! Resolves pyenv shims: scripts named like an interpreter that look up the real one and start it.
//!
//! Such a script cannot look anything up inside a sandbox. So modbox resolves it beforehand, as pyenv does but by
//! looking at files alone: the variable `PYENV_VERSION`, the first `.python-version` around the working directory, then
//! pyenv's own `version`. This is only for interpreters that the operator has chosen, because the module may read the
//! place to which a shim leads.

use std::fs;
use std::path::{Path, PathBuf};

use crate::python::disk::read_bounded;

/// Bytes that are read; a shim has a few hundred, a file of versions fewer.
const MAX_FILE: u64 = 4 << 10;

/// Text in a shim that starts pyenv.
const STARTS: &str = "/libexec/pyenv\" exec";

/// Returns the interpreter behind a shim; `None` for a program that is not a shim, or for a shim that leads nowhere.
pub(super) fn resolve(program: &Path, directory: &Path, asked: Option<&str>) -> Option<PathBuf> {
    let text = read(program)?;
    let root = text.lines().find_map(|line| line.strip_prefix("export PYENV_ROOT=\"")?.strip_suffix('"'))?;
    let root = Path::new(root);
    if !text.starts_with("#!") || !text.contains(STARTS) || !root.is_absolute() {
        return None;
    }
    let around = || directory.ancestors().find_map(|folder| read(&folder.join(".python-version")));
    let wanted = asked.map(str::to_owned).filter(|asked| !asked.trim().is_empty());
    let wanted = wanted.or_else(around).or_else(|| read(&root.join("version")))?;
    let name = program.file_name()?;
    // Several versions are tried in their order; `system` means another place in PATH and is skipped.
    let versions = wanted.split([':', '\n', ' ']).map(|version| version.trim_end_matches('\r'));
    let versions =
        versions.filter(|version| !version.is_empty() && !version.contains('/') && !version.starts_with('.'));
    versions
        .filter_map(|version| installed(&root.join("versions"), version))
        .map(|version| version.join("bin").join(name))
        .find(|python| python.is_file())
}

/// Returns the folder of a version: an exact match, or the newest version with that prefix.
fn installed(versions: &Path, wanted: &str) -> Option<PathBuf> {
    let exact = versions.join(wanted);
    if exact.is_dir() {
        return Some(exact);
    }
    let names = fs::read_dir(versions).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let number = |name: &String| name.strip_prefix(wanted)?.strip_prefix('.')?.parse::<u32>().ok();
    let newest = names.filter_map(|name| Some((number(&name)?, name))).max()?;
    Some(versions.join(newest.1))
}

fn read(path: &Path) -> Option<String> {
    String::from_utf8(read_bounded(path, MAX_FILE).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shim_leads_to_what_pyenv_would_start() {
        let dir = tempfile::tempdir().unwrap();
        let (root, work) = (dir.path().join("pyenv"), dir.path().join("work/below"));
        for folder in ["pyenv/shims", "work/below", "pyenv/versions/2.7/bin"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for version in ["3.9.1", "3.11.9", "3.11.10"] {
            fs::create_dir_all(root.join("versions").join(version).join("bin")).unwrap();
            fs::write(root.join("versions").join(version).join("bin/python3"), "").unwrap();
        }
        let shim = root.join("shims/python3");
        let shown = root.display();
        let text = format!(
            "#!/usr/bin/env bash\nset -e\nexport PYENV_ROOT=\"{shown}\"\nexec \"{shown}/libexec/pyenv\" exec \"$program\" \"$@\"\n"
        );
        fs::write(&shim, &text).unwrap();
        let leads = |asked: Option<&str>| {
            let python = resolve(&shim, &work, asked)?;
            Some(python.strip_prefix(root.join("versions")).unwrap().display().to_string())
        };
        let at = |version: &str| Some(format!("{version}/bin/python3"));
        assert_eq!(leads(None), None);
        fs::write(root.join("version"), "2.7\n3.9.1\n").unwrap();
        assert_eq!(leads(None), at("3.9.1"));
        fs::write(dir.path().join("work/.python-version"), "3.11\r\n").unwrap();
        assert_eq!(leads(None), at("3.11.10"));
        assert_eq!(leads(Some("system:3.11.9")), at("3.11.9"));
        for wrong in ["system", "4", "../versions/3.9.1", "3.11.1"] {
            assert_eq!(leads(Some(wrong)), None, "{wrong}");
        }
        for other in ["", "#!/bin/sh\nexec python3\n", &text.replace("libexec", "bin"), &text[1..]] {
            fs::write(&shim, other).unwrap();
            assert_eq!(leads(Some("3.9.1")), None, "{other}");
        }
    }
}
