//! Providers of libral: the kernel starts a native one with the words of an action, and the engine gives the same words
//! to a component.
//!
//! A native provider is started without a shell, so that its words keep every byte. The kernel reads its `#!` line,
//! unless the caller has replaced the interpreter.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use modbox_providers::{RawCall, Text};
use modbox_vocabulary::{DirectProgram, InputFile, Invocation, Program, WasmFormat, WasmProgram};

use crate::kind::{Kind, ProviderForm};
use crate::request::{ModuleKind, PrepareError, PreparedInvocation, Request};
use crate::shebang::{self, Shebang};

/// The mode of a provider's file.
const MODE: u32 = 0o700;

#[derive(Debug)]
pub(super) struct Provider(ProviderForm);

pub(super) const NATIVE: Provider = Provider(ProviderForm::Native);
pub(super) const COMPONENT: Provider = Provider(ProviderForm::Component);
pub(super) const CORE: Provider = Provider(ProviderForm::Core);

impl ModuleKind for Provider {
    fn kind(&self) -> Kind {
        Kind::Provider(self.0)
    }

    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
        let RawCall { words, stdin, .. } = RawCall::from_arguments(&request.args.to_dict())?;
        match self.kind().format() {
            None => native(request, words, stdin),
            Some(format) => guest(request, words, stdin, format),
        }
    }
}

fn native(request: &Request<'_>, words: Vec<Text>, stdin: Vec<u8>) -> Result<PreparedInvocation, PrepareError> {
    let script = format!("{}/{}", request.tmpdir.trim_end_matches('/'), request.file_name);
    let line = match request.bytes.starts_with(b"#!") {
        true => Some(shebang::read(request.bytes, request)?),
        false => None,
    };
    let interpreter = line.iter().filter(|line| line.replaced).flat_map(|line| line.words.clone());
    let words = words.into_iter().map(|word| OsString::from_vec(word.into_bytes()));
    let argv: Vec<OsString> = interpreter.chain([script.clone()]).map(OsString::from).chain(words).collect();
    let path = argv.first().map(PathBuf::from).unwrap_or_default();
    let file = InputFile { name: request.file_name.to_owned(), contents: request.bytes.clone(), mode: MODE };
    let program = Program::Direct(DirectProgram { path, argv });
    let invocation = Invocation { program, files: vec![file], stdin, runtime_paths: Vec::new() };
    Ok(PreparedInvocation::new(invocation, line.as_ref().map(Shebang::text)))
}

fn guest(
    request: &Request<'_>,
    words: Vec<Text>,
    stdin: Vec<u8>,
    format: WasmFormat,
) -> Result<PreparedInvocation, PrepareError> {
    let text = |word: Text| {
        String::from_utf8(word.into_bytes()).map_err(|_| PrepareError::NotText(request.module_name.to_owned()))
    };
    let mut argv = vec![request.module_name.to_owned()];
    argv.extend(words.into_iter().map(text).collect::<Result<Vec<_>, _>>()?);
    let program = Program::Wasm(WasmProgram { format, argv });
    let invocation = Invocation { program, files: Vec::new(), stdin, runtime_paths: Vec::new() };
    Ok(PreparedInvocation::new(invocation, None))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use modbox_contract::{Dict, GivenSecrets, ModuleArgs, Release, Value};

    use super::*;
    use crate::powershell::NoPowershell;

    fn prepare(
        provider: &Provider,
        bytes: &[u8],
        name: &[u8],
        interpreters: &[(&str, &str)],
    ) -> Result<Invocation, PrepareError> {
        let args = Dict::from_iter([
            ("ral_action".to_owned(), "find".into()),
            ("name".to_owned(), Value::from_os_bytes(name)),
            ("_ansible_check_mode".to_owned(), true.into()),
        ]);
        let interpreters: BTreeMap<String, String> =
            interpreters.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect();
        let request = Request {
            module_name: "service",
            file_name: "service.prov",
            path: "/data/service.prov",
            bytes: &bytes.into(),
            args: ModuleArgs::Complete(&args),
            tmpdir: "/t/a b/",
            interpreters: &interpreters,
            default_python: None,
            python: None,
            release: Release::V2_19,
            pipelining: true,
            powershell: &NoPowershell,
            secrets: &GivenSecrets::default(),
            open_files: 0,
        };
        Ok(provider.prepare(&request)?.invocation)
    }

    #[track_caller]
    fn check(bytes: &[u8], interpreters: &[(&str, &str)], expect: &[&[u8]]) {
        let invocation = prepare(&NATIVE, bytes, b"it's \xff", interpreters).unwrap();
        let Program::Direct(program) = invocation.program else { panic!("{:?}", invocation.program) };
        let expect: Vec<OsString> = expect.iter().map(|word| OsString::from_vec(word.to_vec())).collect();
        assert_eq!(program.argv, expect);
        assert_eq!(program.path, PathBuf::from(&expect[0]));
        assert_eq!((invocation.files[0].name.as_str(), invocation.files[0].mode), ("service.prov", 0o700));
        assert_eq!(*invocation.files[0].contents, *bytes);
    }

    #[test]
    fn a_native_provider_gets_words_without_a_shell() {
        let (script, words): (&[u8], [&[u8]; 2]) =
            (b"/t/a b/service.prov", [b"name='it'\\''s \xff'", b"ral_action=find"]);
        check(b"#!/bin/bash -e\n", &[], &[script, words[0], words[1]]);
        check(b"\x7fELF\0", &[("bash", "/x/bash")], &[script, words[0], words[1]]);
        check(b"#!/bin/bash -e\n", &[("bash", "/x/bash -u")], &[b"/x/bash", b"-u", b"-e", script, words[0], words[1]]);
    }

    #[test]
    fn a_component_gets_the_same_words() {
        let invocation = prepare(&COMPONENT, b"", b"it's", &[]).unwrap();
        let Program::Wasm(program) = invocation.program else { panic!("{:?}", invocation.program) };
        assert_eq!(program.format, WasmFormat::Component);
        assert_eq!(program.argv, ["service", r"name='it'\''s'", "ral_action=find"]);
        assert!(invocation.files.is_empty() && invocation.stdin.is_empty());
        assert!(matches!(prepare(&CORE, b"", b"\xff", &[]), Err(PrepareError::NotText(_))));
    }
}
