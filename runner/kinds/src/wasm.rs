//! WASI programs, components and core modules alike: the path of a JSON file in `argv[1]`, nothing on
//! standard input.
//!
//! A `#!` line in front lets a kernel, and so an unmodified Ansible, start the file. It is no part of the program:
//! [`skip_shebang`](crate::skip_shebang) takes it off.

use modbox_vocabulary::{InputFile, Invocation, Program, WasmFormat, WasmProgram};

use crate::kind::Kind;
use crate::request::{ModuleKind, PrepareError, Prepared, Request};

/// The name of the arguments file.
const ARGS_NAME: &str = "args.json";

/// Where a guest finds it.
const ARGS_PATH: &str = "/args/args.json";

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

    fn prepare(&self, request: &Request<'_>) -> Result<Prepared, PrepareError> {
        let program =
            WasmProgram { format: self.format, argv: vec![request.module_name.to_owned(), ARGS_PATH.to_owned()] };
        // Only the guest's own copy of the file: nobody else can see it, and the guest cannot write it.
        let args = InputFile { name: ARGS_NAME.to_owned(), contents: request.args.to_file().into(), mode: 0o444 };
        let invocation = Invocation {
            program: Program::Wasm(program),
            files: vec![args],
            stdin: Vec::new(),
            runtime_paths: Vec::new(),
        };
        Ok(Prepared { invocation, shebang: None })
    }
}
