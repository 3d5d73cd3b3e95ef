//! WASI programs, both components and core modules: they get the path of a JSON file in `argv[1]`, and nothing on
//! standard input.
//!
//! A `#!` line before the program lets the kernel start the file, so that an unmodified Ansible can run it. The line is
//! not part of the program; [`skip_shebang`](crate::skip_shebang) removes it.

use modbox_vocabulary::{InputFile, Invocation, Program, WasmFormat, WasmProgram};

use crate::kind::Kind;
use crate::request::{ARGS_NAME, ARGS_PATH, ModuleKind, PrepareError, PreparedInvocation, Request};

#[derive(Debug)]
pub(super) struct Wasm {
    kind: Kind,
    format: WasmFormat,
}

pub(super) const COMPONENT: Wasm = Wasm { kind: Kind::Component, format: WasmFormat::Component };
pub(super) const CORE: Wasm = Wasm { kind: Kind::Core, format: WasmFormat::Core };

impl ModuleKind for Wasm {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
        let program =
            WasmProgram { format: self.format, argv: vec![request.module_name.to_owned(), ARGS_PATH.to_owned()] };
        // The file belongs to this guest: other processes cannot see it, and the guest cannot write it.
        let args = InputFile { name: ARGS_NAME.to_owned(), contents: request.args.to_file().into(), mode: 0o444 };
        let invocation = Invocation {
            program: Program::Wasm(program),
            files: vec![args],
            stdin: Vec::new(),
            runtime_paths: Vec::new(),
        };
        Ok(PreparedInvocation::new(invocation, None))
    }
}
