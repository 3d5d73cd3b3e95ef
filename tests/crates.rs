//! The house rules for crates: which crate may depend on which, and which must build without the engine.

use crate::support::repository;
use crate::tidy::ascii;

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

/// The crates of the runner, lowest first, each with the modbox crates that it may depend on. Cargo enforces the
/// manifests; this test enforces their content.
const CRATES: [(&str, &[&str]); 24] = [
    ("vocabulary", &[]),
    ("channel", &[]),
    ("cleanup", &[]),
    ("collection", &["python-json"]),
    ("contract", &["python-json", "vocabulary"]),
    ("providers", &["contract"]),
    ("kinds", &["contract", "providers", "python-json", "vocabulary"]),
    ("policy", &["vocabulary"]),
    ("scratch", &["cleanup", "vocabulary"]),
    ("store", &["cleanup", "vocabulary"]),
    ("trust", &["vocabulary"]),
    ("fleet", &["cleanup", "contract", "store"]),
    ("kernel", &["policy", "vocabulary"]),
    ("worker", &["channel", "kernel"]),
    ("registry", &["channel", "kernel", "policy", "trust", "worker"]),
    ("wasm", &["channel", "cleanup", "kernel", "policy", "scratch", "store", "vocabulary", "worker"]),
    ("native", &["channel", "cleanup", "kernel", "policy", "scratch", "vocabulary", "worker"]),
    ("overlay", &["channel", "cleanup", "kernel", "vocabulary", "worker"]),
    ("authoring", &["argument-spec", "cleanup", "vocabulary"]),
    ("yaml", &["argument-spec", "python-json"]),
    ("inventory", &["python-re", "yaml"]),
    ("template", &["jinja", "python-json", "python-re", "yaml"]),
    ("tasks", &TASKS),
    (
        "",
        &[
            "argument-spec",
            "authoring",
            "channel",
            "cleanup",
            "collection",
            "contract",
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
            "scratch",
            "store",
            "tasks",
            "template",
            "trust",
            "vocabulary",
            "wasm",
            "worker",
            "yaml",
        ],
    ),
];

/// The crates that must build without the engine: they and their dependencies are pure or use only the kernel.
const WITHOUT_ENGINE: [&str; 18] = [
    "vocabulary",
    "channel",
    "cleanup",
    "collection",
    "contract",
    "kinds",
    "policy",
    "scratch",
    "store",
    "fleet",
    "trust",
    "kernel",
    "overlay",
    "providers",
    "yaml",
    "inventory",
    "template",
    "tasks",
];

#[test]
fn crates_depend_only_on_lower_ones() {
    let depends = ascii(r"(?m)^modbox-([a-z-]+)\.workspace = true$");
    let engine = ascii(r"(?m)^(wasmtime|cranelift)");
    let folders = repository().join("runner").read_dir().unwrap().flatten();
    let folders = folders.filter(|entry| entry.path().join("Cargo.toml").is_file()).count();
    assert_eq!(folders, CRATES.len() - 1, "the table has every crate below runner/");
    for (name, allowed) in CRATES {
        let path = repository().join("runner").join(name).join("Cargo.toml");
        let manifest = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for found in depends.captures_iter(dependencies) {
            assert!(allowed.contains(&&found[1]), "`{name}` depends on `modbox-{}`", &found[1]);
        }
        let is_engine = engine.is_match(dependencies);
        assert!(!is_engine || !WITHOUT_ENGINE.contains(&name), "`{name}` depends on the engine");
    }
}
