//! Finds PowerShell, ansible-core's scripts for it, and the utils of modules on this machine.
//!
//! ansible-core is found by the layout of its files alone; no program is started to ask for it. Places are tried in
//! this order: the folders of `--module-utils`, the environments of the `ansible` and the `python3` in PATH, the
//! system's Python.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use modbox_kinds::powershell::{PowershellSource, Script, SourceError};

use crate::python::{PythonConfig, collection_folders};

/// Largest script that is read; the largest util of ansible-core has 80 KB.
const MAX_SCRIPT: u64 = 8 << 20;

/// Bytes of a program that are read for its `#!` line.
const MAX_LINE: u64 = 1024;

/// First release of ansible-core with these wrappers.
const NEEDED: &str = "2.19 or newer";

/// Folder of the wrappers in ansible-core.
const WRAPPERS: &str = "executor/powershell";

/// Lookup of PowerShell, ansible-core and utils on this machine.
#[derive(Debug)]
pub(crate) struct InstalledPowershell<'a> {
    environment: &'a [(OsString, OsString)],
    /// Folders of utils and of collections.
    config: &'a PythonConfig,
    /// Path of the module; utils may lie beside it.
    module: &'a Path,
    /// The Python that the operator has chosen.
    python: Option<&'a str>,
    package: OnceLock<Result<PathBuf, SourceError>>,
}

impl<'a> InstalledPowershell<'a> {
    pub(crate) fn new(environment: &'a [(OsString, OsString)], config: &'a PythonConfig, module: &'a Path) -> Self {
        Self { environment, config, module, python: None, package: OnceLock::new() }
    }

    /// Takes the package of a chosen Python before others.
    pub(crate) fn with_python(self, python: Option<&'a str>) -> Self {
        Self { python, ..self }
    }

    fn variable(&self, name: &str) -> Option<&OsString> {
        self.environment.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.variable("PATH")?);
        let programs = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
        let mut programs = programs.filter(|program| program.is_file());
        programs.find(|program| rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok())
    }

    /// Returns the folder of the Python package `ansible`.
    fn package(&self) -> Result<&Path, SourceError> {
        let found = self.package.get_or_init(|| {
            let mut too_old = None;
            for package in self.candidates() {
                if !package.join(WRAPPERS).is_dir() {
                    continue;
                }
                match version(&package) {
                    Some(version) if is_known(&version) => return Ok(package),
                    version => {
                        let version = version.unwrap_or_else(|| "of an unknown version".to_owned());
                        too_old.get_or_insert_with(|| format!("`{}` is {version}", package.display()));
                    }
                }
            }
            let found = too_old.unwrap_or_else(|| "there is none".to_owned());
            Err(SourceError::NoAnsible { needed: NEEDED, found })
        });
        found.as_deref().map_err(Clone::clone)
    }

    /// Returns the folder of ansible-core, if there is one.
    pub(crate) fn core(&self) -> Option<&Path> {
        self.package().ok()
    }

    fn candidates(&self) -> Vec<PathBuf> {
        let named = self.config.module_utils.iter().flat_map(|folder| {
            let around = folder.parent().filter(|_| folder.ends_with("module_utils")).map(Path::to_owned);
            [Some(folder.clone()), Some(folder.join("ansible")), around].into_iter().flatten()
        });
        let chosen = self.python.and_then(|line| line.split_whitespace().next());
        let chosen = chosen.and_then(|word| match word.contains('/') {
            true => Some(PathBuf::from(word)).filter(|path| path.is_absolute()),
            false => self.program(word),
        });
        let programs = ["ansible", "python3"].into_iter().filter_map(|name| self.program(name));
        let prefixes = chosen.into_iter().chain(programs).flat_map(|program| prefixes(&program));
        let home = self.variable("HOME").map(|home| Path::new(home).join(".local"));
        let prefixes = prefixes.chain(home).chain(["/usr/local", "/usr"].map(PathBuf::from));
        named.chain(prefixes.flat_map(|prefix| packages(&prefix))).collect()
    }

    /// Returns the folders in which utils lie by the names of their files.
    fn util_folders(&self) -> Vec<PathBuf> {
        let beside = self.module.parent().into_iter().flat_map(|folder| {
            let around = folder.parent().map(|around| around.join("module_utils"));
            [Some(folder.join("module_utils")), around].into_iter().flatten()
        });
        let package = self.package().ok().map(|package| package.join("module_utils"));
        let roots = beside.chain(self.config.module_utils.iter().cloned()).chain(package);
        roots.flat_map(|root| [root.join("powershell"), root.join("csharp"), root]).collect()
    }

    /// Returns the folders that hold `ansible_collections`.
    fn collection_roots(&self) -> Vec<PathBuf> {
        collection_folders(self.config, self.module, self.package().ok())
    }
}

impl PowershellSource for InstalledPowershell<'_> {
    fn interpreter(&self) -> Option<String> {
        let found = ["pwsh", "powershell.exe"].into_iter().find_map(|name| self.program(name))?;
        Some(found.display().to_string())
    }

    fn script(&self, name: &str) -> Result<Arc<[u8]>, SourceError> {
        wrapper(self.package()?, name)
    }

    fn util(&self, file: &str) -> Result<Option<Script>, SourceError> {
        if file.contains('/') {
            return Ok(None);
        }
        first(self.util_folders().into_iter().map(|folder| folder.join(file)))
    }

    fn resource(&self, package: &str, file: &str) -> Result<Option<Script>, SourceError> {
        let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !package.split('.').all(is_name) || file.contains('/') {
            return Ok(None);
        }
        let folder: PathBuf = package.split('.').collect();
        if let Ok(below) = folder.strip_prefix("ansible") {
            let package = self.package()?;
            return first([package.join(below).join(file)]);
        }
        first(self.collection_roots().into_iter().map(|root| root.join(&folder).join(file)))
    }

    fn searched(&self) -> String {
        let folders: Vec<String> = self.util_folders().iter().map(|folder| format!("`{}`", folder.display())).collect();
        let roots = self.collection_roots();
        let roots = roots.iter().map(|root| format!("`{}`", root.join("ansible_collections").display()));
        format!("not in {}, nor in collections of {}", folders.join(", "), roots.collect::<Vec<_>>().join(", "))
    }
}

/// Reads one of ansible-core's own scripts, with its signature. `package` is the folder of ansible-core.
pub(crate) fn wrapper(package: &Path, name: &str) -> Result<Arc<[u8]>, SourceError> {
    let folder = package.join(WRAPPERS);
    let path = folder.join(name);
    let missing = || SourceError::Read { path: path.display().to_string(), reason: "it is not there".to_owned() };
    let script = read(&path)?.ok_or_else(missing)?;
    match read(&folder.join(format!("{name}.authenticode")))? {
        Some(signature) => Ok(signed(&script, &signature).into()),
        None => Ok(script.into()),
    }
}

fn first(paths: impl IntoIterator<Item = PathBuf>) -> Result<Option<Script>, SourceError> {
    for path in paths {
        if let Some(bytes) = read(&path)? {
            return Ok(Some(Script { path: path.display().to_string(), bytes: bytes.into() }));
        }
    }
    Ok(None)
}

/// Reads a file; `None` if there is no regular file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, SourceError> {
    let failed = |reason: String| SourceError::Read { path: path.display().to_string(), reason };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        _ => return Ok(None),
    }
    let bytes = head(path, MAX_SCRIPT + 1).map_err(|error| failed(error.to_string()))?;
    match bytes.len() as u64 > MAX_SCRIPT {
        true => Err(failed(format!("it is longer than the limit of {MAX_SCRIPT} bytes for a script"))),
        false => Ok(Some(bytes)),
    }
}

fn head(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Appends a signature, which lies in a file beside its script, as ansible-core does.
fn signed(script: &[u8], signature: &[u8]) -> Vec<u8> {
    let mut signed = script.to_vec();
    for line in signature.split(|byte| *byte == b'\n') {
        signed.extend_from_slice(b"\r\n");
        signed.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
    }
    if signature.ends_with(b"\n") {
        // A final newline ends the last line and begins no other.
        signed.truncate(signed.len() - 2);
    }
    signed.extend_from_slice(b"\r\n");
    signed
}

/// Returns the prefixes of the environments that a program belongs to: those around the program and around the
/// interpreter of its `#!` line.
fn prefixes(program: &Path) -> Vec<PathBuf> {
    let line = head(program, MAX_LINE).unwrap_or_default();
    let line = line.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    let line = line.and_then(|line| str::from_utf8(line).ok()).map(str::trim);
    let interpreter = line.filter(|line| line.starts_with('/')).map(PathBuf::from);
    let own = program.canonicalize().ok();
    let programs = [interpreter, Some(program.to_owned()), own];
    programs.into_iter().flatten().filter_map(|program| Some(program.parent()?.parent()?.to_owned())).collect()
}

/// Returns the places where the package `ansible` could be below a prefix.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("python3") {
            found.extend(["site-packages", "dist-packages"].map(|name| entry.path().join(name).join("ansible")));
        }
    }
    found.sort();
    found
}

/// Reads the version of an ansible-core from its `release.py`.
fn version(package: &Path) -> Option<String> {
    let text = String::from_utf8(head(&package.join("release.py"), MAX_SCRIPT).ok()?).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("__version__")?.trim_start().strip_prefix('='))?;
    Some(line.trim().trim_matches(['\'', '"']).to_owned())
}

fn is_known(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or_default());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()) >= (2, 19)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn environment(path: &OsStr) -> Vec<(OsString, OsString)> {
        vec![("PATH".into(), path.to_owned())]
    }

    fn package(root: &Path, version: &str) -> PathBuf {
        let package = root.join("lib/python3.11/site-packages/ansible");
        fs::create_dir_all(package.join(WRAPPERS)).unwrap();
        fs::create_dir_all(package.join("module_utils/csharp")).unwrap();
        fs::write(package.join("release.py"), format!("x = 1\n__version__ = '{version}'\n")).unwrap();
        fs::write(package.join(WRAPPERS).join("a.ps1"), "script").unwrap();
        fs::write(package.join("module_utils/csharp/Ansible.X.cs"), "util").unwrap();
        package
    }

    #[test]
    fn ansible_is_found_by_its_program_and_by_name() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let venv = dir.path().join("venv");
        let found = package(&venv, "2.19.3");
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let line = format!("#!{}\n", venv.join("bin/python").display());
        fs::write(bin.join("ansible"), line).unwrap();
        fs::set_permissions(bin.join("ansible"), fs::Permissions::from_mode(0o755)).unwrap();
        let (by_path, nothing) = (environment(bin.as_os_str()), environment(OsStr::new("/nowhere")));
        let module = Path::new("/m.ps1");
        let unnamed = PythonConfig::default();
        let by_program = InstalledPowershell::new(&by_path, &unnamed, module);
        assert_eq!(by_program.package().unwrap(), found);
        assert_eq!(&*by_program.script("a.ps1").unwrap(), b"script");
        assert_eq!(&*by_program.util("Ansible.X.cs").unwrap().unwrap().bytes, b"util");
        assert_eq!(by_program.util("../csharp/Ansible.X.cs").unwrap(), None);
        assert_eq!(by_program.interpreter(), None);
        let python = venv.join("bin/python").display().to_string();
        let chosen = InstalledPowershell::new(&nothing, &unnamed, module).with_python(Some(&python));
        assert_eq!(chosen.package().unwrap(), found);
        for named in [found.clone(), found.join("module_utils"), found.parent().unwrap().to_owned()] {
            let named = PythonConfig { module_utils: vec![named], ..PythonConfig::default() };
            assert_eq!(InstalledPowershell::new(&nothing, &named, module).package().unwrap(), found);
        }
    }

    #[test]
    fn an_older_ansible_core_is_reported_and_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let module_utils = vec![package(dir.path(), "2.14.18")];
        let named = PythonConfig { module_utils, ..PythonConfig::default() };
        let nothing = environment(OsStr::new(""));
        let source = InstalledPowershell::new(&nothing, &named, Path::new("/m.ps1"));
        let error = source.script("a.ps1").unwrap_err().to_string();
        // The machine that runs the test may have a newer ansible-core.
        assert!(error.contains("2.14.18") || error.contains("a.ps1"), "{error}");
    }

    #[test]
    fn signatures_follow_their_script() {
        assert_eq!(signed(b"a", b"x\ny\n"), b"a\r\nx\r\ny\r\n");
        assert_eq!(signed(b"a", b"x\r\ny"), b"a\r\nx\r\ny\r\n");
    }
}
