//! Shared code of the native kinds: the files of a module and the shell command that starts it.
//!
//! Names, modes and the command are those of ansible-core 2.19 on a POSIX target. The module is `AnsiballZ_<file name>`
//! in its temporary directory, its arguments are the file `args` beside it, and the command is `[interpreter] MODULE
//! [ARGS] && :`, for `/bin/sh -c`. A module that is read from standard input has no file; its interpreter is the whole
//! command.

use std::sync::Arc;

use modbox_vocabulary::{InputFile, Invocation, NativeProgram, Program, quoting};

use crate::request::{PreparedInvocation, Request};
use crate::shebang::Shebang;

/// The mode after Ansible's `chmod u+rwx` of a file that was copied with 0600.
const MODULE_MODE: u32 = 0o700;

/// The mode after the same `chmod` of a file that was copied with 0644.
const ARGS_MODE: u32 = 0o744;

/// The name of the arguments file.
const ARGS_NAME: &str = "args";

/// Builds an invocation. Without a shebang the kernel starts the module.
pub(super) fn prepare(
    request: &Request<'_>,
    module: Arc<[u8]>,
    args: Option<Vec<u8>>,
    shebang: Option<&Shebang>,
) -> PreparedInvocation {
    let module_name = format!("AnsiballZ_{}", request.file_name);
    let directory = request.tmpdir.trim_end_matches('/');
    let mut words = shebang.map_or_else(Vec::new, |shebang| shebang.words.clone());
    words.push(format!("{directory}/{module_name}"));
    let mut files = vec![InputFile { name: module_name, contents: module, mode: MODULE_MODE }];
    if let Some(args) = args {
        words.push(format!("{directory}/{ARGS_NAME}"));
        files.push(InputFile { name: ARGS_NAME.to_owned(), contents: args.into(), mode: ARGS_MODE });
    }
    PreparedInvocation::new(invocation(&words, files, Vec::new()), shebang.map(Shebang::text))
}

/// Builds an invocation whose interpreter reads the module from standard input.
pub(super) fn pipe(module: Vec<u8>, interpreter: &Shebang) -> PreparedInvocation {
    PreparedInvocation::new(invocation(&interpreter.words, Vec::new(), module), Some(interpreter.text()))
}

/// Builds an invocation whose interpreter gets a file of the temporary directory as its standard input.
pub(super) fn redirect(request: &Request<'_>, module: Vec<u8>, interpreter: &Shebang) -> PreparedInvocation {
    let name = format!("AnsiballZ_{}", request.file_name);
    let path = format!("{}/{name}", request.tmpdir.trim_end_matches('/'));
    let words = quoting::join(interpreter.words.iter().map(String::as_str));
    let command = format!("{words} < {} && :", quoting::quote(&path));
    let files = vec![InputFile { name, contents: module.into(), mode: MODULE_MODE }];
    PreparedInvocation::new(started(command, files, Vec::new()), Some(interpreter.text()))
}

fn invocation(words: &[String], files: Vec<InputFile>, stdin: Vec<u8>) -> Invocation {
    let command = format!("{} && :", quoting::join(words.iter().map(String::as_str)));
    started(command, files, stdin)
}

fn started(command: String, files: Vec<InputFile>, stdin: Vec<u8>) -> Invocation {
    Invocation { program: Program::Native(NativeProgram { command }), files, stdin, runtime_paths: Vec::new() }
}
