//! The `#!` chain of a program: the interpreter of a script, and the interpreter of that.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes of a line that the kernel reads (`BINPRM_BUF_SIZE`).
const MAX_LINE: u64 = 256;

/// Scripts that the kernel follows to their interpreter, one after the other.
const MAX_SCRIPTS: usize = 5;

/// Name of the program that looks its interpreter up in PATH.
const ENV: &str = "env";

/// Returns the programs that the kernel starts for a program, in order: the program itself, its interpreter, and so on.
/// `search` has the folders in which `env` looks a name up.
pub(super) fn chain(program: &Path, search: &[PathBuf]) -> Vec<PathBuf> {
    let mut chain = vec![program.to_owned()];
    for _ in 0..=MAX_SCRIPTS {
        let Some(line) = chain.last().and_then(|script| first_line(script)) else { break };
        let mut words =
            line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
        let Some(interpreter) = words.next().map(Path::new).filter(|path| path.is_absolute()) else { break };
        chain.push(interpreter.to_owned());
        if interpreter.file_name() == Some(OsStr::new(ENV)) {
            let is_program = |word: &&OsStr| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
            let Some(named) = words.find(is_program).and_then(|name| look_up(name, search)) else { break };
            chain.push(named);
        }
    }
    chain
}

fn look_up(name: &OsStr, search: &[PathBuf]) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute());
    }
    search.iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Returns the first line of a script without its `#!`.
fn first_line(script: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    open(script)?.take(MAX_LINE).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(line.to_vec())
}

/// Opens a regular file. A FIFO in its place does not hold up the caller.
pub(super) fn open(path: &Path) -> Option<File> {
    modbox_files::open_regular(path).ok().map(|(file, _)| file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_chain_ends_with_a_program_of_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let write = |name: &str, text: String| fs::write(at(name), text).unwrap();
        write("tool", format!("#! {} -x\nbody", at("outer").display()));
        write("outer", "#!/usr/bin/env -S A=1 inner\n".to_owned());
        write("inner", "#!/bin/sh".to_owned());
        let search = [at("nowhere"), dir.path().to_owned()];
        let expect = [at("tool"), at("outer"), "/usr/bin/env".into(), at("inner"), "/bin/sh".into()];
        assert_eq!(chain(&at("tool"), &search), expect);
        write("circle", format!("#!{}\n", at("circle").display()));
        assert_eq!(chain(&at("circle"), &search).len(), MAX_SCRIPTS + 2);
        for text in ["#!", "#!\n", "#!relative\n", "no script", "#!/usr/bin/env\n"] {
            write("odd", text.to_owned());
            assert!(chain(&at("odd"), &search).len() <= 2, "{text}");
        }
    }
}
