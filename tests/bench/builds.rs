//! The builds of modbox that a benchmark measures.

use std::path::PathBuf;

use crate::support::{TestDir, repository};

/// Returns the default build, and the static one when it exists: `MODBOX_STATIC` names it, or it is in `target/` for the
/// architecture of this machine. Each is a copy, as an installed program is: the pages of a file that a linker wrote
/// piece by piece are small, and starting from them takes longer.
pub(crate) fn builds(dir: &TestDir) -> Vec<(&'static str, PathBuf)> {
    let default = repository().join(format!("target/{}-unknown-linux-musl/dist/modbox", std::env::consts::ARCH));
    let fixed = std::env::var_os("MODBOX_STATIC").map_or(default, PathBuf::from);
    let mut builds = vec![("modbox", PathBuf::from(env!("CARGO_BIN_EXE_modbox")))];
    if fixed.is_file() {
        builds.push(("modbox, static build", fixed));
    }
    for (name, program) in &mut builds {
        let installed = dir.join(&name.replace([',', ' '], "-"));
        std::fs::copy(&program, &installed).expect("the disk has room for a copy");
        *program = installed;
    }
    builds
}
