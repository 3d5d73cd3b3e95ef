//! modbox's own modules, built from the carried sources when they are first needed.

use std::path::{Path, PathBuf};

use crate::cargo::build::{build, build_if_stale, find_fresh};
use crate::context::AuthoringContext;
use crate::error::BuildError;
use crate::module::{BuildOptions, BuiltModule};
use crate::sdk;

const OPTIONS: BuildOptions = BuildOptions { binary: None };

/// Returns whether modbox carries the sources of a module of this name.
#[must_use]
pub fn is_standard(name: &str) -> bool {
    sdk::has_module(name)
}

/// Returns the names of modbox's own modules.
#[must_use]
pub fn standard_names() -> Vec<&'static str> {
    sdk::module_names()
}

/// Returns what one of modbox's own modules does, in one line.
#[must_use]
pub fn standard_description(name: &str) -> Option<&'static str> {
    sdk::module_description(name)
}

/// Returns the component of one of modbox's own modules if it was built before. Starts no program.
#[must_use]
pub fn find_standard(cx: &AuthoringContext<'_>, name: &str) -> Option<BuiltModule> {
    let sources = sdk::find_unpacked(cx).filter(|_| is_standard(name))?;
    find_fresh(cx, &project(&sources, name), &OPTIONS)
}

/// Builds one of modbox's own modules, and asks cargo whether anything changed.
///
/// # Errors
///
/// Fails when the sources cannot be unpacked, and as [`build()`] does.
pub fn build_standard(cx: &mut AuthoringContext<'_>, name: &str) -> Result<BuiltModule, BuildError> {
    let sources = sdk::ensure_unpacked(cx)?;
    build(cx, &project(&sources, name), &OPTIONS)
}

/// Builds one of modbox's own modules, unless its component is up to date.
///
/// # Errors
///
/// As [`build_standard`].
pub fn build_standard_if_stale(cx: &mut AuthoringContext<'_>, name: &str) -> Result<BuiltModule, BuildError> {
    let sources = sdk::ensure_unpacked(cx)?;
    build_if_stale(cx, &project(&sources, name), &OPTIONS)
}

fn project(sources: &Path, name: &str) -> PathBuf {
    sources.join("modules").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_has_a_description() {
        for name in standard_names() {
            let description = standard_description(name).unwrap_or_default();
            assert!(description.len() > 10 && !description.contains("//!"), "{name}: {description}");
        }
        assert_eq!(standard_description("none"), None);
    }
}
