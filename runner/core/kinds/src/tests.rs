//! The registry, and the invocation that each kind makes of a request.

use std::collections::BTreeMap;

use modbox_contract::args::decode_file;
use modbox_contract::{GivenSecrets, ModuleArgs, Release};
use modbox_vocabulary::Program;

use super::powershell::NoPowershell;
use super::*;

#[test]
fn the_registry_is_whole() {
    for kind in Kind::all() {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        assert!(kind.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        assert_eq!(ALL.iter().filter(|module_kind| module_kind.kind() == kind).count(), 1);
    }
    let every = [
        Kind::Component,
        Kind::Core,
        Kind::Binary,
        Kind::Python,
        Kind::Powershell,
        Kind::Jsonargs,
        Kind::WantJson,
        Kind::OldStyle,
        Kind::Provider(ProviderForm::Native),
    ];
    assert!(every.into_iter().eq(Kind::all()));
    assert_eq!(
        "wasm".parse::<Kind>().unwrap_err().to_string(),
        "unknown module kind `wasm`; expected one of component, core, binary, python, powershell, jsonargs, want_json, old_style, provider"
    );
}

struct Case<'a> {
    interpreters: &'a [(&'a str, &'a str)],
    default_python: Option<&'a str>,
    tmpdir: &'a str,
    release: Release,
    pipelining: bool,
}

const PLAIN: Case<'_> =
    Case { interpreters: &[], default_python: None, tmpdir: "/t/a b/", release: Release::V2_19, pipelining: false };

fn prepare_with(case: &Case<'_>, kind: Kind, bytes: &[u8]) -> Result<PreparedInvocation, PrepareError> {
    let interpreters = case.interpreters.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect();
    prepare(
        kind,
        &Request {
            module_name: "hello",
            file_name: "hello.x",
            path: "/library/hello.x",
            bytes: &bytes.into(),
            args: ModuleArgs::Complete(&decode_file(r#"{"a": "it's é"}"#.as_bytes()).unwrap()),
            tmpdir: case.tmpdir,
            interpreters: &interpreters,
            default_python: case.default_python,
            python: None,
            release: case.release,
            pipelining: case.pipelining,
            powershell: &NoPowershell,
            secrets: &GivenSecrets::default(),
            open_files: 0,
        },
    )
}

/// The command, the module's file and, where there is one, the arguments file.
fn native(case: &Case<'_>, kind: Kind, bytes: &[u8]) -> (String, Vec<u8>, Option<Vec<u8>>) {
    let invocation = prepare_with(case, kind, bytes).unwrap().invocation;
    let Program::Native(program) = invocation.program else { panic!("{:?}", invocation.program) };
    assert!(invocation.stdin.is_empty());
    let mut files = invocation.files.into_iter();
    let module = files.next().unwrap();
    assert_eq!((module.name.as_str(), module.mode), ("AnsiballZ_hello.x", 0o700));
    let args = files.next().map(|args| {
        assert_eq!((args.name.as_str(), args.mode), ("args", 0o744));
        args.contents.to_vec()
    });
    (program.command, module.contents.to_vec(), args)
}

#[test]
fn native_kinds_get_their_arguments() {
    let json = br#"{"a": "it's \u00e9"}"#.to_vec();
    let (script, elf) = (&b"#!/bin/sh -e\nx"[..], &b"\x7fELF"[..]);
    let module = "'/t/a b/AnsiballZ_hello.x'";
    for (kind, bytes, command, args) in [
        (Kind::WantJson, script, format!("/bin/sh -e {module} '/t/a b/args' && :"), Some(json.clone())),
        (
            Kind::OldStyle,
            script,
            format!("/bin/sh -e {module} '/t/a b/args' && :"),
            Some("a='it'\"'\"'s é' ".as_bytes().to_vec()),
        ),
        (Kind::Jsonargs, script, format!("/bin/sh -e {module} && :"), None),
        (Kind::Binary, elf, format!("{module} '/t/a b/args' && :"), Some(json.clone())),
        (Kind::Binary, script, format!("{module} '/t/a b/args' && :"), Some(json)),
    ] {
        assert_eq!(native(&PLAIN, kind, bytes), (command, bytes.to_vec(), args), "for {kind}");
    }
}

#[test]
fn only_kinds_without_a_file_of_arguments_are_piped_in() {
    let case = Case { pipelining: true, ..PLAIN };
    let script = b"#!/bin/sh -e\n<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>";
    let invocation = prepare_with(&case, Kind::Jsonargs, script).unwrap().invocation;
    let Program::Native(program) = invocation.program else { panic!("{:?}", invocation.program) };
    assert_eq!((program.command.as_str(), invocation.files.len()), ("/bin/sh -e && :", 0));
    assert_eq!(invocation.stdin, b"#!/bin/sh -e\n{\"a\": \"it's \\u00e9\"}");
    for kind in [Kind::WantJson, Kind::OldStyle, Kind::Binary] {
        let (_, _, args) = native(&case, kind, script);
        assert!(args.is_some(), "{kind} needs its files");
    }
}

#[test]
fn older_releases_name_the_encoding_of_python_scripts() {
    for (release, line, expect) in [
        (Release::V2_19, "#!/usr/bin/python3", "#!/usr/bin/python3\nx"),
        (Release::V2_14, "#!/usr/bin/python3", "#!/usr/bin/python3\n# -*- coding: utf-8 -*-\nx"),
        (Release::V2_14, "#!/usr/bin/env python3", "#!/usr/bin/env python3\nx"),
        (Release::V2_9, "#! /usr/bin/python3  -u", "#! /usr/bin/python3  -u\n# -*- coding: utf-8 -*-\nx"),
        (Release::V2_14, "#! /bin/sh", "#! /bin/sh\nx"),
    ] {
        let case = Case { release, ..PLAIN };
        let (_, module, _) = native(&case, Kind::WantJson, format!("{line}\nx").as_bytes());
        assert_eq!(String::from_utf8(module).unwrap(), expect, "{release}");
    }
}

#[test]
fn guests_get_a_json_file() {
    for (kind, line) in [(Kind::Component, ""), (Kind::Core, "#!/usr/bin/modbox --x\n")] {
        let bytes = [line.as_bytes(), b"\0asm..."].concat();
        let invocation = prepare_with(&PLAIN, kind, &bytes).unwrap().invocation;
        let Program::Wasm(program) = &invocation.program else { panic!("{:?}", invocation.program) };
        assert_eq!(crate::skip_shebang(&bytes), b"\0asm...");
        assert_eq!(program.argv, ["hello", "/args/args.json"]);
        let [args] = &invocation.files[..] else { panic!("{:?}", invocation.files) };
        assert_eq!((args.name.as_str(), args.mode), ("args.json", 0o444));
        assert_eq!(&*args.contents, br#"{"a": "it's \u00e9"}"#);
    }
}

#[test]
fn interpreters_are_replaced_by_base_name() {
    let with = |interpreters, default_python| Case { interpreters, default_python, tmpdir: "/t", ..PLAIN };
    let perl: &[_] = &[("perl", " /opt/perl "), ("env", "")];
    let python: &[_] = &[("python", "/usr/bin/env python3.12")];
    for (case, line, command, rewritten) in [
        (&PLAIN, "/usr/bin/perl", "/usr/bin/perl", None),
        (&with(perl, None), "/usr/bin/perl  -w 'a b'\r", "/opt/perl -w 'a b'", Some("/opt/perl -w a b")),
        (&with(perl, None), " /usr/bin/env perl", "/usr/bin/env perl", None),
        (&with(perl, Some("/p")), "/usr/bin/python", "/p", Some("/p")),
        (&with(python, Some("/p")), "python -u", "/usr/bin/env python3.12 -u", Some("/usr/bin/env python3.12 -u")),
        (&with(python, Some("/p")), "/usr/bin/python3", "/usr/bin/python3", None),
        (&with(&[("sh", "/bin/sh")], None), "/bin/sh\r", "/bin/sh", None),
    ] {
        let script = format!("#!{line}\nbody\n");
        let (got, module, _) = native(case, Kind::WantJson, script.as_bytes());
        assert!(got.starts_with(&format!("{command} ")), "{got} for {line:?}");
        let expect = rewritten.map_or_else(|| script.clone(), |line| format!("#!{line}\nbody\n"));
        assert_eq!(String::from_utf8(module).unwrap(), expect);
        assert_eq!(
            prepare_with(case, Kind::WantJson, script.as_bytes()).unwrap().shebang.unwrap(),
            command.replace('\'', "")
        );
    }
}

#[test]
fn says_why_a_module_cannot_be_started() {
    for (kind, bytes, expect) in [
        (Kind::OldStyle, &b""[..], "module (hello) is missing interpreter line"),
        (Kind::WantJson, b"\n#!/bin/sh", "module (hello) is missing interpreter line"),
        (Kind::WantJson, b"\xef\xbb\xbf#!/bin/sh", "module (hello) is missing interpreter line"),
        (Kind::OldStyle, b"#! \nx", "module (hello) has an empty interpreter line"),
        (Kind::Jsonargs, b"#!", "module (hello) has an empty interpreter line"),
        (Kind::OldStyle, b"#!/bin/\xff", "module (hello) has an interpreter line that is not valid UTF-8"),
        (
            Kind::OldStyle,
            b"#!/bin/sh 'a",
            "module (hello) has an interpreter line that cannot be read: No closing quotation: /bin/sh 'a",
        ),
        (Kind::Python, b"", "module (hello) was not combined with its imports"),
        (
            Kind::Powershell,
            b"",
            "failed to find PowerShell: neither `pwsh` nor `powershell.exe` is in PATH; install PowerShell, \
             or name it with `--interpreter powershell=PATH`",
        ),
    ] {
        assert_eq!(prepare_with(&PLAIN, kind, bytes).unwrap_err().to_string(), expect);
    }
}

#[test]
fn python_is_asked_for_its_arguments_where_it_can_be() {
    for (given, on_request, sent, adds) in [
        (r#"{"a": 1}"#, false, r#"{"a": 1}"#, false),
        (r#"{"a": 1}"#, true, r#"{"a": 1, "_ansible_inject_invocation": true}"#, true),
        (r#"{"_ansible_inject_invocation": false}"#, true, r#"{"_ansible_inject_invocation": true}"#, true),
        (r#"{"_ansible_inject_invocation": true}"#, true, r#"{"_ansible_inject_invocation": true}"#, false),
    ] {
        let core_args = CoreArgs { unknown: Vec::new(), invocation_on_request: on_request };
        let form = PythonForm::LaidOut { script: "/tree/run.py".to_owned() };
        let start = PythonStart { interpreter: vec!["python3".to_owned()], form, core_args, runtime_paths: Vec::new() };
        let args = decode_file(given.as_bytes()).unwrap();
        let request = Request {
            module_name: "hello",
            file_name: "hello.py",
            path: "/library/hello.py",
            bytes: &b""[..].into(),
            args: ModuleArgs::Complete(&args),
            tmpdir: "/t",
            interpreters: &BTreeMap::new(),
            default_python: None,
            python: Some(&start),
            release: Release::default(),
            pipelining: true,
            powershell: &NoPowershell,
            secrets: &GivenSecrets::default(),
            open_files: 0,
        };
        let prepared = prepare(Kind::Python, &request).unwrap();
        let stdin = String::from_utf8(prepared.invocation.stdin).unwrap();
        assert_eq!(
            (stdin, prepared.adds_invocation),
            (format!(r#"{{"ANSIBLE_MODULE_ARGS": {sent}}}"#), adds),
            "{given}"
        );
    }
}
