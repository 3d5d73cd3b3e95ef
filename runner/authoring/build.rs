//! Lists the sources of the SDK and of modbox's own modules, which become part of the program.
//!
//! They make a workspace of their own: the manifest is the repository's without the runner, and the lock file has only
//! the packages that this workspace needs. Tests and examples are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Folders of the repository that are carried.
const CARRIED: [&str; 2] = ["guest-sdk", "modules"];

/// Folders below them that are not.
const LEFT_OUT: [&str; 4] = ["examples", "python-host", "target", "tests"];

fn main() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    #[expect(clippy::disallowed_methods, reason = "cargo names the folder for output in a variable")]
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut names = Vec::new();
    for folder in CARRIED {
        collect(&repository, Path::new(folder), &mut names);
    }
    names.sort();
    // A new file shows by the file that declares it, and a new crate by the lock file.
    names.iter().for_each(|name| rerun_if_changed(&repository.join(name)));
    let members: Vec<&Path> =
        names.iter().filter(|name| name.ends_with("Cargo.toml")).filter_map(|name| name.parent()).collect();
    let manifest = trimmed_manifest(&read(&repository.join("Cargo.toml")), &members);
    let lock = pruned_lock(&read(&repository.join("Cargo.lock")), &package_names(&repository, &members));
    for (name, text) in [("Cargo.toml", manifest), ("Cargo.lock", lock)] {
        rerun_if_changed(&repository.join(name));
        fs::write(out.join(name), text).expect("the folder for output is writable");
    }
    let mut files: Vec<(String, PathBuf)> = names.iter().map(|name| (shown(name), repository.join(name))).collect();
    files.extend(["Cargo.toml", "Cargo.lock"].map(|name| (name.to_owned(), out.join(name))));
    fs::write(out.join("carried.rs"), source_text(&files)).expect("the folder for output is writable");
}

/// Collects the files below a folder, as paths from the repository's root.
fn collect(repository: &Path, folder: &Path, names: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(repository.join(folder)).expect("the SDK lies beside the runner");
    for entry in entries.map(|entry| entry.expect("the folder can be listed")) {
        let name = folder.join(entry.file_name());
        let kind = entry.file_type().expect("the entry has a type");
        if kind.is_dir() && !LEFT_OUT.iter().any(|left_out| entry.file_name() == *left_out) {
            collect(repository, &name, names);
        } else if kind.is_file() && !shown(entry.file_name()).starts_with('.') {
            names.push(name);
        }
    }
}

/// Returns the repository's manifest with these members only, without build profiles.
fn trimmed_manifest(text: &str, members: &[&Path]) -> String {
    let mut trimmed = String::from("[workspace]\nresolver = \"3\"\nmembers = [\n");
    for member in members {
        let _ = writeln!(trimmed, "    {:?},", shown(member));
    }
    trimmed += "]\n";
    let mut kept = false;
    for line in text.lines() {
        if line.starts_with('[') {
            kept = line.starts_with("[workspace.");
        }
        let elsewhere = ["\"runner/", "\"tests/"].iter().any(|folder| line.contains(&format!("path = {folder}")));
        if kept && !elsewhere {
            trimmed += line;
            trimmed.push('\n');
        }
    }
    trimmed
}

fn package_names(repository: &Path, members: &[&Path]) -> Vec<String> {
    let name = |member: &&Path| {
        let manifest = read(&repository.join(member).join("Cargo.toml"));
        let line = manifest.lines().find_map(|line| line.strip_prefix("name = ")).expect("a package has a name");
        line.trim_matches('"').to_owned()
    };
    members.iter().map(name).collect()
}

/// Returns the lock file with these packages and the packages that they need. Entries refer to each other by name, and
/// by version if a name occurs twice.
fn pruned_lock(text: &str, roots: &[String]) -> String {
    let (head, entries) = text.split_once("[[package]]\n").expect("a lock file has packages");
    let entries: Vec<&str> = entries.split("[[package]]\n").collect();
    let value = |entry: &str, key: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).unwrap_or_default();
        line.trim_matches('"').to_owned()
    };
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let (name, version) = (value(entry, "name"), value(entry, "version"));
        by_name.entry(format!("{name} {version}")).or_default().push(index);
        by_name.entry(name).or_default().push(index);
    }
    let (mut kept, mut pending) = (BTreeSet::new(), roots.to_vec());
    while let Some(name) = pending.pop() {
        for &index in by_name.get(&name).unwrap_or_else(|| panic!("`{name}` is missing in Cargo.lock")) {
            if kept.insert(index) {
                let needed = entries[index].lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
                pending.extend(needed.map(|needed| needed.split(" (").next().unwrap_or(needed).to_owned()));
            }
        }
    }
    let entries: Vec<&str> = kept.into_iter().map(|index| entries[index].trim_end()).collect();
    format!("{head}[[package]]\n{}\n", entries.join("\n\n[[package]]\n"))
}

/// Returns the Rust code of the list of files.
fn source_text(files: &[(String, PathBuf)]) -> String {
    let mut hasher = DefaultHasher::new();
    let mut list = String::new();
    for (name, path) in files {
        (name, read_bytes(path)).hash(&mut hasher);
        let path = path.canonicalize().expect("the file exists");
        let _ = writeln!(list, "    ({name:?}, include_bytes!({:?})),", shown(&path));
    }
    let digest = hasher.finish();
    format!(
        "/// Paths and contents of all files.\npub(super) static FILES: &[(&str, &[u8])] = &[\n{list}];\n\n\
         /// Differs when any file does.\npub(crate) const DIGEST: &str = \"{digest:016x}\";\n"
    )
}

#[expect(clippy::disallowed_methods, reason = "files of the repository")]
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[expect(clippy::disallowed_methods, reason = "files of the repository")]
fn read_bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().expect("paths are UTF-8").to_owned()
}
