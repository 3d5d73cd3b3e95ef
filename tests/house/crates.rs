//! The house rules for crates: which crate may depend on which, and which must build without the engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::house::tidy::{Source, ascii, read, rust_files};
use crate::support::repository;

/// The crates below `tasks`.
const TASKS: [&str; 10] = [
    "argument-spec",
    "checksum",
    "contract",
    "inventory",
    "jinja",
    "python-json",
    "python-re",
    "template",
    "vocabulary",
    "yaml",
];

/// The crates below `run`.
const RUN: [&str; 18] = [
    "argument-spec",
    "channel",
    "cleanup",
    "closure",
    "contract",
    "files",
    "kernel",
    "kinds",
    "native",
    "overlay",
    "policy",
    "providers",
    "python-json",
    "scratch",
    "store",
    "vocabulary",
    "wasm",
    "worker",
];

/// The crates of the runner by their folders, lowest first, each with the modbox crates that it may depend on. Cargo enforces the
/// manifests; this test enforces their content.
const CRATES: [(&str, &[&str]); 29] = [
    ("core/vocabulary", &[]),
    ("core/channel", &[]),
    ("core/cleanup", &[]),
    ("core/closure", &[]),
    ("core/files", &[]),
    ("ansible/collection", &["python-json"]),
    ("core/contract", &["python-json", "vocabulary"]),
    ("providers", &["contract"]),
    ("core/kinds", &["contract", "providers", "python-json", "vocabulary"]),
    ("core/policy", &["vocabulary"]),
    ("core/scratch", &["cleanup", "vocabulary"]),
    ("core/store", &["cleanup", "vocabulary"]),
    ("supply/trust", &["closure", "vocabulary"]),
    ("ansible/fleet", &["cleanup", "contract", "store"]),
    ("core/kernel", &["policy", "vocabulary"]),
    ("core/worker", &["channel", "kernel"]),
    ("supply/registry", &["channel", "files", "kernel", "policy", "trust", "worker"]),
    ("core/wasm", &["channel", "cleanup", "kernel", "policy", "scratch", "store", "vocabulary", "worker"]),
    ("core/native", &["channel", "cleanup", "kernel", "policy", "scratch", "vocabulary", "worker"]),
    ("layers/overlay", &["channel", "cleanup", "kernel", "vocabulary", "worker"]),
    ("agents", &["argument-spec", "python-json"]),
    ("authoring", &["argument-spec", "cleanup", "files", "vocabulary"]),
    ("plays/vault", &[]),
    ("plays/yaml", &["argument-spec", "python-json"]),
    ("plays/inventory", &["python-re", "yaml"]),
    ("plays/template", &["jinja", "python-json", "python-re", "yaml"]),
    ("plays/tasks", &TASKS),
    ("run", &RUN),
    (
        "",
        &[
            "agents",
            "argument-spec",
            "authoring",
            "cleanup",
            "closure",
            "collection",
            "contract",
            "files",
            "fleet",
            "kernel",
            "jinja",
            "kinds",
            "native",
            "overlay",
            "policy",
            "providers",
            "python-json",
            "python-re",
            "registry",
            "run",
            "scratch",
            "tasks",
            "template",
            "trust",
            "vault",
            "vocabulary",
            "wasm",
            "worker",
            "yaml",
        ],
    ),
];

/// The crates that must build without the engine: they and their dependencies are pure or use only the kernel.
const WITHOUT_ENGINE: [&str; 22] = [
    "core/vocabulary",
    "core/channel",
    "core/cleanup",
    "core/closure",
    "ansible/collection",
    "core/contract",
    "core/files",
    "core/kinds",
    "core/policy",
    "core/scratch",
    "core/store",
    "ansible/fleet",
    "supply/trust",
    "core/kernel",
    "layers/overlay",
    "providers",
    "agents",
    "plays/vault",
    "plays/yaml",
    "plays/inventory",
    "plays/template",
    "plays/tasks",
];

#[test]
fn crates_depend_only_on_lower_ones() {
    let depends = ascii(r"(?m)^modbox-([a-z-]+)\.workspace = true$");
    let engine = ascii(r"(?m)^(wasmtime|cranelift)");
    let mut below = crates_below("runner");
    below.sort_unstable();
    let mut table: Vec<_> = CRATES.iter().map(|(folder, _)| *folder).filter(|folder| !folder.is_empty()).collect();
    table.sort_unstable();
    assert_eq!(below, table, "the table has every crate below runner/");
    for (folder, allowed) in CRATES {
        let path = repository().join("runner").join(folder).join("Cargo.toml");
        let manifest = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for found in depends.captures_iter(dependencies) {
            assert!(allowed.contains(&&found[1]), "`{folder}` depends on `modbox-{}`", &found[1]);
        }
        let is_engine = engine.is_match(dependencies);
        assert!(!is_engine || !WITHOUT_ENGINE.contains(&folder), "`{folder}` depends on the engine");
    }
}

/// Rustdoc reads a whole crate to find its examples, so crates without examples leave that out, and only they may.
#[test]
fn examples_in_documentation_are_run() {
    let example = ascii(r"(?m)^ *//[/!] ```");
    let (mut with, mut without) = (0, 0);
    let of = |source: &Source| {
        let folders = Path::new(&source.path).ancestors().skip(1);
        folders.map(|folder| folder.join("Cargo.toml")).find(|manifest| repository().join(manifest).is_file())
    };
    let mut has_examples: BTreeMap<PathBuf, bool> = BTreeMap::new();
    // The fuzz targets are a workspace of their own, without tests.
    for source in rust_files().into_iter().filter(|source| !source.path.starts_with("tests/fuzz/")) {
        let Some(manifest) = of(&source) else { continue };
        *has_examples.entry(manifest).or_default() |= example.is_match(&source.text);
    }
    for (manifest, has_examples) in has_examples {
        let is_off = read(manifest.to_str().unwrap()).contains("doctest = false");
        assert!(!(has_examples && is_off), "`{}` has examples that are not run", manifest.display());
        let is_crate_with_library = repository().join(manifest.with_file_name("src/lib.rs")).is_file();
        assert!(
            has_examples || is_off || !is_crate_with_library,
            "`{}` has no examples: it needs `doctest = false`",
            manifest.display()
        );
        *if has_examples { &mut with } else { &mut without } += 1;
    }
    assert!(with > 5 && without > 15, "{with} crates with examples and {without} without");
}

/// Returns the folders of crates below a folder of the repository, relative to it.
pub(crate) fn crates_below(folder: &str) -> Vec<String> {
    let root = repository().join(folder);
    let folders =
        |dir: &Path| -> Vec<PathBuf> { dir.read_dir().unwrap().flatten().map(|entry| entry.path()).collect() };
    let is_crate = |dir: &PathBuf| dir.join("Cargo.toml").is_file();
    let (crates, groups): (Vec<_>, Vec<_>) =
        folders(&root).into_iter().filter(|path| path.is_dir()).partition(is_crate);
    let grouped = groups.iter().flat_map(|group| folders(group)).filter(is_crate);
    let all = crates.into_iter().chain(grouped);
    all.map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()).collect()
}
