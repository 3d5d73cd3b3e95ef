//! Support for tests: a directory for each test, the modbox command, guests, and the real Ansible.
//!
//! This is a separate crate, so that all tiers of tests and the benchmarks share one build of it.

#![expect(clippy::missing_panics_doc, reason = "what does not work here fails the test that needs it")]

mod book;
pub mod browser;
mod children;
mod command;
pub mod debian;
pub mod docker_registry;
mod files;
mod follow;
mod guests;
mod host_network;
mod install;
mod languages;
mod leftovers;
mod load;
pub mod markdown;
pub mod npm;
pub mod oracle;
pub mod oracle_collections;
mod oracle_plays;
mod oracle_release;
pub mod registry;
pub mod sample;
pub mod server;
pub mod sessions;
mod small_disk;
mod ssh_host;
mod test_dir;

use std::path::{Path, PathBuf};

pub use book::build_book;
pub use children::children;
pub use command::{Modbox, RunOutput, Running, copy_executable, copy_program, prefixed, wait_for};
pub use files::tracked;
pub use follow::follow;
pub use guests::{
    c_core, component, core_module, example_module, example_program, example_provider, guest, module, native_c,
    native_guest, native_library, native_modules, printing_module, small_module,
};
pub use host_network::HostNetwork;
pub use install::tool as run_tool;
pub use languages::{LANGUAGES, language, path as tools_path, place as example};
pub use load::stretched;
use serde_json::Value;
pub use small_disk::{NO_SMALL_DISK, with_small_disk};
pub use ssh_host::{PASSWORD, SshHost};
pub use test_dir::TestDir;

/// Returns the root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate lies two folders deep")
}

/// Returns the modbox program that was built for the tests.
pub fn modbox() -> PathBuf {
    profile().join("modbox")
}

/// Returns the folder below the target directory that tests write to.
pub fn temporary() -> PathBuf {
    profile().parent().expect("a profile's folder lies in the target directory").join("tmp")
}

/// Returns the folder of the profile that the running test was built with. Cargo puts tests and benchmarks into its
/// `deps` folder.
fn profile() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own program");
    test.ancestors().nth(2).expect("a test lies in the target directory").to_owned()
}

/// Returns a file or a folder of `tests/`.
pub fn fixture(path: &str) -> PathBuf {
    repository().join("tests").join(path)
}

/// Returns the missing grants that a report names: its denials and hints.
pub fn missing(report: &Value) -> impl Iterator<Item = &Value> {
    ["denials", "hints", "lost"].into_iter().filter_map(|key| report[key].as_array()).flatten()
}
