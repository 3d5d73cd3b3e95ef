//! The builds of modbox that a benchmark measures.

use std::path::PathBuf;

use crate::support::{TestDir, repository};

/// The default build, and the static one when it is there: `MODBOX_STATIC` names it, or it lies where `runner/dist/build`
/// puts it. Each as it is once installed: a copy. What a linker wrote piece by piece lies in small pages of the kernel's,
/// which takes longer to start.
pub(crate) fn builds(dir: &TestDir) -> Vec<(&'static str, PathBuf)> {
    let default = repository().join("target/x86_64-unknown-linux-musl/dist/modbox");
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
