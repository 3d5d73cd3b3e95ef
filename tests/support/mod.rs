//! What the tests stand on.

mod ahead;
mod children;
mod command;
pub(crate) mod debian;
mod guests;
mod install;
mod languages;
mod leftovers;
pub(crate) mod oracle;
pub(crate) mod server;
mod test_dir;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use children::children;
pub(crate) use command::{Modbox, Ran, Running, copy_executable, copy_program, wait_for};
pub(crate) use guests::{c_core, component, core_module, guest, module, native_c, native_modules, small_module};
pub(crate) use languages::{LANGUAGES, language, path as tools_path, place as example};
pub(crate) use test_dir::TestDir;

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the runner lies in the repository")
}

/// A fixture under `tests/`.
pub(crate) fn fixture(path: &str) -> PathBuf {
    repository().join("tests").join(path)
}

/// Returns what a report names as missing: what was denied, and what it hints at.
pub(crate) fn missing(report: &Value) -> impl Iterator<Item = &Value> {
    ["denials", "hints"].into_iter().filter_map(|key| report[key].as_array()).flatten()
}
