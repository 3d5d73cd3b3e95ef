//! Selects the author's variables that reach cargo, rustc and rustup. Pure.
//!
//! modbox may itself run under cargo (`cargo run`, `cargo test`), and the author may have set flags for the local
//! machine. Both would disturb a build for another target in ways that are hard to see. So all variables are passed on,
//! except
//!
//! - `RUSTFLAGS` in its three spellings: flags for the host's linker and processor do not apply to WebAssembly. Flags
//!   for WebAssembly belong into `CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS` or `.cargo/config.toml`;
//! - every `CARGO…` that is not known to be the author's own choice. Cargo sets some forty of them for the programs
//!   that it runs (`CARGO_PKG_NAME`, `CARGO_MAKEFLAGS`, …), and `CARGO_PROFILE_…` would make one module build in two
//!   ways.
//!
//! `RUSTC`, `RUSTC_WRAPPER` (a compiler cache) and `RUSTUP_…` stay: they select the compiler, which is the author's
//! choice.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// `CARGO…` variables that an author sets. An entry is a whole name or, with `_` at the end, a prefix.
const KEPT: &[&str] = &[
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_JOBS",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_TARGET_DIR",
    "CARGO_TARGET_WASM32_WASIP2_",
    "CARGO_TERM_",
];

/// Returns the environment of child processes.
pub(crate) fn for_children(env: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    env.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns whether the author chose a folder for cargo's output.
pub(crate) fn chooses_output(env: &BTreeMap<OsString, OsString>) -> bool {
    ["CARGO_BUILD_BUILD_DIR", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"]
        .iter()
        .any(|name| env.contains_key(OsStr::new(name)))
}

fn is_kept(name: &OsStr) -> bool {
    // Cargo ignores a name that is not UTF-8.
    let Some(name) = name.to_str() else { return true };
    if !name.starts_with("CARGO") {
        return name != "RUSTFLAGS";
    }
    KEPT.iter().any(|kept| if kept.ends_with('_') { name.starts_with(kept) } else { name == *kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, kept: bool) {
        assert_eq!(is_kept(OsStr::new(name)), kept, "{name}");
    }

    #[test]
    fn what_an_outer_cargo_sets_is_taken_out() {
        for name in ["CARGO", "CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_MAKEFLAGS", "CARGO_TARGET_TMPDIR"] {
            check(name, false);
        }
    }

    #[test]
    fn flags_for_the_host_are_taken_out() {
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_PROFILE_RELEASE_LTO"] {
            check(name, false);
        }
    }

    #[test]
    fn the_authors_choices_stay() {
        for name in ["PATH", "CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTC_WRAPPER", "RUSTUP_TOOLCHAIN", "RUSTUP_HOME"] {
            check(name, true);
        }
    }
}
