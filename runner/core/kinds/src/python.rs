//! New-style Python: an interpreter gets the module with all its imports, and the arguments on standard input.
//!
//! In the sandbox for WebAssembly, the interpreter is a guest, and gets arguments, start and code as files.
//!
//! The imports are on the disk, so they are collected before this kind prepares the module. The request states the form
//! of the assembled module and how it is started. As with Ansible's pipelining, neither form leaves the arguments on
//! the disk or on a command line. Only with `--keep-files` is there a file with both, as Ansible leaves it.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use modbox_contract::args::{INJECT_INVOCATION, encode_file};
use modbox_contract::{Dict, GivenSecrets, ModuleArgs, Release, Value};
use modbox_vocabulary::{InputFile, Invocation, NativeProgram, Program, WasmFormat, WasmProgram, quoting};

use crate::ansiballz::with_params;
use crate::kind::Kind;
use crate::powershell_source::NoPowershell;
use crate::request::{ARGS_NAME, ARGS_PATH, ModuleKind, PrepareError, PreparedInvocation, PythonForm, Request};
use crate::{native, shebang};

/// The `#!` line that Ansible assumes for a module without one (ansible-core 2.19, `_find_module_utils`).
const DEFAULT_LINE: &[u8] = b"#!/usr/bin/python\n";

/// The name of the interpreter that stands for any python.
const ANY_PYTHON: &str = "python";

/// The name of an interpreter that cannot run Python: a kernel starts modbox itself through such a `#!` line.
const THIS_PROGRAM: &str = "modbox";

/// The token of old modules. Since ansible-core 2.1 it is replaced by the import below.
const COMMON_TOKEN: &str = "#<<INCLUDE_ANSIBLE_MODULE_COMMON>>";
const COMMON: &str = "from ansible.module_utils.basic import *";

/// The path of the start file of the interpreter in the sandbox.
const START_PATH: &str = "/args/start.json";
const START_NAME: &str = "start.json";

/// The path of the code for the interpreter in the sandbox; its start file names it.
pub const GUEST_CODE_PATH: &str = "/args/code.bin";
const CODE_NAME: &str = "code.bin";

/// The name of the file with the secrets that are in the arguments.
const SECRETS_NAME: &str = "secrets.json";

#[derive(Debug)]
pub(super) struct Python;

/// A module's text, and the interpreter that its `#!` line and the overrides select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSource {
    /// The module's source in the encoding of the file, with Ansible's marker for common code replaced by that code.
    pub text: Arc<[u8]>,
    /// The interpreter. `None` stands for any python that is new enough.
    pub interpreter: Option<String>,
    /// Whether the module's `#!` line selects the interpreter, and not the caller.
    pub own_choice: bool,
    /// Arguments of the interpreter.
    pub arguments: Vec<String>,
}

impl PythonSource {
    /// Parses a module's file. `interpreters` are those of a [`Request`].
    ///
    /// # Errors
    ///
    /// An invalid `#!` line.
    pub fn read(name: &str, bytes: &Arc<[u8]>, interpreters: &BTreeMap<String, String>) -> Result<Self, PrepareError> {
        static NONE: LazyLock<Arc<[u8]>> = LazyLock::new(|| DEFAULT_LINE.into());
        let has_line = bytes.starts_with(b"#!");
        let line = shebang::read(
            if has_line { bytes } else { &NONE },
            &Request {
                module_name: name,
                file_name: "",
                path: "",
                bytes,
                args: ModuleArgs::Complete(&Dict::new()),
                tmpdir: "",
                interpreters,
                default_python: None,
                python: None,
                release: Release::default(),
                pipelining: false,
                powershell: &NoPowershell,
                secrets: &GivenSecrets::default(),
                open_files: 0,
            },
        )?;
        let mut words = line.words;
        // `env` only looks up a name, so the name can be used directly.
        let names_program = |word: &String| !word.starts_with('-') && !word.contains('=');
        if !line.replaced && words[0].rsplit('/').next() == Some("env") && words.get(1).is_some_and(names_program) {
            words.remove(0);
        }
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default();
        let is = |name: &str| program.contains('/') && program.rsplit('/').next() == Some(name);
        let is_any = is(ANY_PYTHON);
        let chosen = line.replaced || interpreters.contains_key(ANY_PYTHON);
        Ok(Self {
            text: with_common(bytes),
            interpreter: match is(THIS_PROGRAM) {
                true => interpreters.get(ANY_PYTHON).cloned(),
                false => Some(program).filter(|_| !is_any || chosen),
            },
            own_choice: !chosen,
            arguments: words.collect(),
        })
    }
}

/// Returns the command of the shell that sets the soft limit of open files before the interpreter starts: the number, or the hard
/// limit if that is lower (ansible-core 2.21, `_ansiballz_main`).
fn open_files_limit(number: u64) -> String {
    match number {
        0 => String::new(),
        number => format!("ulimit -Sn {number} 2>/dev/null || ulimit -Sn \"$(ulimit -Hn)\"; "),
    }
}

fn with_common(bytes: &Arc<[u8]>) -> Arc<[u8]> {
    let text = String::from_utf8_lossy(bytes);
    match text.contains(COMMON_TOKEN) {
        true => text.replace(COMMON_TOKEN, COMMON).into_bytes().into(),
        false => Arc::clone(bytes),
    }
}

impl ModuleKind for Python {
    fn kind(&self) -> Kind {
        Kind::Python
    }

    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
        let start = request.python.ok_or_else(|| PrepareError::NotAssembled(request.module_name.to_owned()))?;
        let mut args = request.args.to_dict().into_owned();
        args.retain(|key, _| !start.core_args.unknown.contains(key));
        let adds_invocation = start.core_args.invocation_on_request
            && !args.insert(INJECT_INVOCATION.to_owned(), true.into()).is_some_and(|asked| asked.is_truthy());
        let params = encode_file(&Dict::from_iter([("ANSIBLE_MODULE_ARGS".to_owned(), Value::Dict(args))]));
        let shebang = shebang::Shebang { words: start.interpreter.clone(), replaced: false, names_encoding: false };
        let words = start.interpreter.iter().map(String::as_str);
        let limit = open_files_limit(request.open_files);
        let piped = |command: String, stdin: Vec<u8>| Invocation {
            program: Program::Native(NativeProgram { command: format!("{limit}{command}") }),
            files: Vec::new(),
            stdin,
            runtime_paths: Vec::new(),
        };
        let invocation = match &start.form {
            // `exec` replaces the shell, so that no shell waits for the module.
            PythonForm::LaidOut { script } => {
                let secrets =
                    if request.secrets.is_empty() { String::new() } else { format!("\n{}", request.secrets.to_json()) };
                let stdin = [params, secrets.into_bytes()].concat();
                piped(format!("exec {}", quoting::join(words.chain([script.as_str()]))), stdin)
            }
            PythonForm::Portable { text, on_disk: false } => {
                piped(format!("exec {}", quoting::join(words)), with_params(text, &params, request.secrets))
            }
            PythonForm::Guest { start, code } => {
                let argv = [request.module_name, ARGS_PATH, START_PATH].map(str::to_owned).into();
                let file = |name: &str, contents: Arc<[u8]>| InputFile { name: name.to_owned(), contents, mode: 0o444 };
                let secrets = Some(request.secrets).filter(|secrets| !secrets.is_empty());
                let secrets = secrets.map(|secrets| file(SECRETS_NAME, secrets.to_json().into_bytes().into()));
                Invocation {
                    program: Program::Wasm(WasmProgram { format: WasmFormat::Component, argv }),
                    files: [
                        file(ARGS_NAME, params.into()),
                        file(START_NAME, Arc::clone(start)),
                        file(CODE_NAME, Arc::clone(code)),
                    ]
                    .into_iter()
                    .chain(secrets)
                    .collect(),
                    stdin: Vec::new(),
                    runtime_paths: Vec::new(),
                }
            }
            PythonForm::Portable { text, on_disk: true } => {
                let file = with_params(text, &params, request.secrets);
                native::prepare(request, file.into(), None, Some(&shebang)).invocation
            }
        };
        let invocation = Invocation { runtime_paths: start.runtime_paths.clone(), ..invocation };
        let shebang = (!matches!(start.form, PythonForm::Guest { .. })).then(|| shebang.text());
        Ok(PreparedInvocation { invocation, shebang, adds_invocation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, interpreters: &[(&str, &str)]) -> (Option<String>, String) {
        let interpreters = interpreters.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect();
        let source = PythonSource::read("m", &text.as_bytes().into(), &interpreters).unwrap();
        (source.interpreter, source.arguments.join(" "))
    }

    #[test]
    fn only_plain_python_leaves_the_interpreter_open() {
        let some = |text: &str| Some(text.to_owned());
        for (line, interpreters, expect) in [
            ("", &[][..], (None, "")),
            ("#!/usr/bin/python\n", &[], (None, "")),
            ("#!/usr/bin/python -u\n", &[], (None, "-u")),
            ("#!/usr/bin/python\n", &[("python", "/opt/python")], (some("/opt/python"), "")),
            ("#!/usr/bin/python\n", &[("python", "/usr/bin/python")], (some("/usr/bin/python"), "")),
            ("", &[("python", "/opt/python -s")], (some("/opt/python"), "-s")),
            ("#!/usr/bin/python3\n", &[("python", "/opt/python")], (some("/usr/bin/python3"), "")),
            ("#!/usr/bin/python3\n", &[("python3", "/opt/python")], (some("/opt/python"), "")),
            ("#!/usr/bin/env python3\n", &[], (some("python3"), "")),
            ("#!/usr/bin/env python\n", &[("python", "/opt/python")], (some("python"), "")),
            ("#!/usr/bin/env -S python3 -u\n", &[], (some("/usr/bin/env"), "-S python3 -u")),
        ] {
            let (interpreter, arguments) = expect;
            assert_eq!(read(line, interpreters), (interpreter, arguments.to_owned()), "{line}");
        }
    }

    #[test]
    fn the_old_token_becomes_an_import() {
        let text = "#<<INCLUDE_ANSIBLE_MODULE_COMMON>>\nmain()\n";
        let source = PythonSource::read("m", &text.as_bytes().into(), &BTreeMap::new()).unwrap();
        assert_eq!(&source.text[..], b"from ansible.module_utils.basic import *\nmain()\n");
    }
}
