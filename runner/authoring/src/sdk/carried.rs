//! The carried files, as `build.rs` lists them, and their version.

include!(concat!(env!("OUT_DIR"), "/carried.rs"));

/// Version of the carried SDK, which is that of modbox.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Oldest Rust version that compiles the SDK.
pub(crate) const LEAST_RUST: &str = env!("CARGO_PKG_RUST_VERSION");

/// Returns the lock file of the carried workspace: the versions of other crates that the SDK was tested with.
pub(crate) fn lock_file() -> &'static [u8] {
    FILES.iter().find(|(name, _)| *name == "Cargo.lock").map_or(&[], |(_, bytes)| *bytes)
}

/// Returns whether a module of this name is among the files.
pub(crate) fn has_module(name: &str) -> bool {
    let manifest = format!("modules/{name}/Cargo.toml");
    !name.contains('/') && FILES.iter().any(|(file, _)| *file == manifest)
}

/// Returns what a carried module does, in one line: the first one of its source.
pub(crate) fn module_description(name: &str) -> Option<&'static str> {
    let source = format!("modules/{name}/src/main.rs");
    let (_, bytes) = FILES.iter().find(|(file, _)| *file == source)?;
    let first = std::str::from_utf8(bytes).ok()?.lines().next()?;
    first.strip_prefix("//! `")?.split_once("`: ").map(|(_, description)| description)
}

/// Returns the names of the carried modules, in order.
pub(crate) fn module_names() -> Vec<&'static str> {
    let name = |file: &'static str| file.strip_prefix("modules/")?.strip_suffix("/Cargo.toml");
    let mut names: Vec<&str> = FILES.iter().filter_map(|(file, _)| name(file)).collect();
    names.retain(|name| !name.contains('/'));
    names.sort_unstable();
    names
}
