//! The libraries of a language, which its interpreter reads from the folders around it.
//!
//! An interpreter outside the system's folders is useless without them. They are recognised by the layout of their
//! folders alone; no program is started.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use modbox_native::base;

use crate::programs::script::open;

/// File that makes a folder an environment of Python.
const ENVIRONMENT: &str = "pyvenv.cfg";

/// Bytes of it that are read; it has a few hundred.
const MAX_ENVIRONMENT: u64 = 64 << 10;

/// Parts of an environment of Python.
const OF_ENVIRONMENT: [&str; 4] = [ENVIRONMENT, "bin", "lib/python*", "lib64/python*"];

/// Folder that makes a prefix one of conda, and its parts.
const CONDA: &str = "conda-meta";
const OF_CONDA: [&str; 7] = [CONDA, "bin", "lib", "libexec", "share", "ssl", "include/python*"];

/// Parts of the prefix around an interpreter's `bin`. `*` stands for the rest of a name. The first part has to exist.
const OF_PREFIX: [(&str, &[&str]); 7] = [
    ("python", &["lib/python*", "lib/lib*.so*"]),
    ("python", &["lib64/python*", "lib64/lib*.so*"]),
    ("pypy", &["lib/pypy*", "lib/lib*.so*"]),
    ("perl", &["lib/5.*", "lib/site_perl", "lib/vendor_perl"]),
    ("perl", &["lib/perl*"]),
    ("ruby", &["lib/ruby", "lib/lib*.so*"]),
    ("java", &["lib/modules", "lib", "conf"]),
];

/// Program of PowerShell, and the file beside it by which its folder is recognised.
const POWERSHELL: [&str; 2] = ["pwsh", "pwsh.dll"];

/// Upper bound of the names that a pattern finds.
const MAX_FOUND: usize = 256;

/// Returns the paths that an interpreter reads besides itself. `hops` are the program and the links through which it
/// leads to its file, the first one as it is called.
pub(super) fn reads(hops: &[PathBuf]) -> Vec<PathBuf> {
    let mut reads = Vec::new();
    let is_python = hops.iter().any(|hop| is_called(hop, "python") || is_called(hop, "pypy"));
    if let Some(environment) = hops.first().filter(|_| is_python).and_then(|program| environment(program)) {
        reads.extend(OF_ENVIRONMENT.iter().flat_map(|part| found(&environment, part)));
        reads.extend(home(&environment).into_iter().flat_map(|home| of_prefix(&home.join("python"))));
    }
    let others = hops.iter().filter(|hop| !base::paths().any(|base| hop.starts_with(base)));
    reads.extend(others.flat_map(|hop| of_prefix(hop)));
    let [name, beside] = POWERSHELL;
    let folders = hops.iter().filter(|hop| is_called(hop, name)).filter_map(|hop| hop.parent());
    reads.extend(folders.filter(|folder| folder.join(beside).is_file() && !is_wide(folder)).map(Path::to_owned));
    reads
}

/// Returns the paths whose existence decides what [`reads`] returns for a program.
pub(super) fn decisive(program: &Path) -> Vec<PathBuf> {
    let folders = program.ancestors().skip(1).take(2);
    folders.flat_map(|folder| [ENVIRONMENT, CONDA].map(|name| folder.join(name))).collect()
}

/// Returns whether a program is a language's interpreter, by its name without a version.
fn is_called(program: &Path, language: &str) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let version = name.strip_prefix(language);
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | 't')))
}

/// Returns the environment that a Python belongs to: the folder of the program, or the one around it.
fn environment(program: &Path) -> Option<PathBuf> {
    program.ancestors().skip(1).take(2).find(|folder| folder.join(ENVIRONMENT).is_file()).map(Path::to_owned)
}

/// Returns the folder of the Python that an environment was made with.
fn home(environment: &Path) -> Option<PathBuf> {
    let mut text = String::new();
    open(&environment.join(ENVIRONMENT))?.take(MAX_ENVIRONMENT).read_to_string(&mut text).ok()?;
    let home = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| PathBuf::from(value.trim()))
    });
    home.filter(|home| home.is_absolute())
}

fn of_prefix(program: &Path) -> Vec<PathBuf> {
    let prefix = program.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    let Some(prefix) = prefix else { return Vec::new() };
    let languages = OF_PREFIX.iter().filter(|(language, _)| is_called(program, language));
    let parts = languages.filter(|(_, parts)| parts.first().is_some_and(|first| !found(prefix, first).is_empty()));
    let mut reads: Vec<PathBuf> =
        parts.flat_map(|(_, parts)| parts.iter()).flat_map(|part| found(prefix, part)).collect();
    if is_called(program, "python") && prefix.join(CONDA).is_dir() {
        reads.extend(OF_CONDA.iter().flat_map(|part| found(prefix, part)));
    }
    reads
}

/// Returns the paths of a part below a prefix.
fn found(prefix: &Path, part: &str) -> Vec<PathBuf> {
    let path = prefix.join(part);
    let (Some(folder), Some(pattern)) = (path.parent(), part.rsplit('/').next()) else { return Vec::new() };
    let Some((start, rest)) = pattern.split_once('*') else {
        return path.exists().then_some(path).into_iter().collect();
    };
    let middle = rest.trim_end_matches('*');
    let entries =
        fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let fits = |name: &String| name.strip_prefix(start).is_some_and(|rest| rest.contains(middle));
    let mut names: Vec<String> = entries.filter(fits).take(MAX_FOUND).collect();
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Returns whether a folder holds much more than one program: a top-level folder of the system, or a user's home.
fn is_wide(folder: &Path) -> bool {
    let parent = folder.parent();
    folder == Path::new("/root") || parent.is_none_or(|parent| parent == Path::new("/") || parent == Path::new("/home"))
}
