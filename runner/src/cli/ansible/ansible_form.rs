//! The form of a component that an unmodified Ansible runs: a file that begins with a `#!` line, and its manual for
//! `ansible-doc` beside it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_run::{WasmInfo, ansible_documentation, locate};

use crate::cli::folders::whole_file;

/// Longest `#!` line that every kernel reads.
const MAX_LINE: usize = 127;

/// Writes `NAME.wasm` and `NAME.yml` into a folder. Returns the path of the first.
///
/// # Errors
///
/// The program's path does not fit into a `#!` line, or a file cannot be read or written.
pub(crate) fn install(component: &Path, name: &str, folder: &Path, program: &Path) -> anyhow::Result<PathBuf> {
    let line = interpreter_line(program)?;
    let component = locate::read(component)?;
    let info = WasmInfo::parse(&component.bytes)?;
    std::fs::create_dir_all(folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    let module = folder.join(format!("{name}.wasm"));
    whole_file::write(&module, 0o755, &[&line, &component.bytes])?;
    // A component without metadata has no manual.
    if let Some(metadata) = info.metadata()? {
        let text =
            serde_saphyr::to_string(&ansible_documentation(&metadata)).context("failed to write the manual as YAML")?;
        whole_file::write(
            &folder.join(format!("{name}.yml")),
            0o644,
            &[b"# Written by `modbox build --ansible`.\n", text.as_bytes()],
        )?;
    }
    Ok(module)
}

fn interpreter_line(program: &Path) -> anyhow::Result<Vec<u8>> {
    let path = program.as_os_str().as_bytes();
    let shown = program.display();
    if !program.is_absolute() {
        bail!("failed to write a `#!` line: `{shown}` is not an absolute path; set `--interpreter`");
    }
    if path.iter().any(u8::is_ascii_whitespace) {
        bail!(
            "failed to write a `#!` line: the path `{shown}` has a space; set `--interpreter` to another path of modbox"
        );
    }
    let line = [b"#!", path, b"\n"].concat();
    if line.len() > MAX_LINE {
        bail!("failed to write a `#!` line: the path `{shown}` is longer than the kernel reads; set `--interpreter`");
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_a_path_that_the_kernel_can_start() {
        assert_eq!(interpreter_line(Path::new("/usr/bin/modbox")).unwrap(), b"#!/usr/bin/modbox\n");
        for path in ["modbox", "/my programs/modbox", &format!("/{}", "x".repeat(130))] {
            let error = interpreter_line(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("--interpreter"), "{error}");
        }
    }
}
