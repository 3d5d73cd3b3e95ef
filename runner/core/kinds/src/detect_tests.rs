//! Bytes and the kinds detected from them.

use super::*;

#[track_caller]
fn check(bytes: &[u8], kind: Kind, reason: &str) {
    let expect = Detection { kind, reason: reason.to_owned() };
    assert_eq!(detect(bytes), Ok(expect), "for {:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn finds_wasm_first() {
    check(b"\0asm\x0d\0\x01\0", Kind::Component, "WebAssembly component");
    check(b"\0asm\x01\0\0\0 WANT_JSON", Kind::Core, "WebAssembly core module");
    check(b"#!/usr/bin/modbox\n\0asm\x0d\0\x01\0", Kind::Component, "WebAssembly component behind a `#!` line");
    check(b"# \n\0asm\x0d\0\x01\0", Kind::Binary, "byte 0x00 at offset 3 is not text");
}

#[test]
fn providers_have_a_name_and_any_bytes() {
    for (name, expect) in
        [("/x/a.prov", true), ("a.prov", true), ("prov", false), (".prov", false), ("a.prov.sh", false)]
    {
        assert_eq!(kind_of_name(Path::new(name)).is_some_and(Kind::is_provider), expect, "{name}");
    }
    let native = Kind::Provider(ProviderForm::Native);
    let provider = Some(native);
    for (bytes, form) in [
        (&b"#!/bin/sh\nWANT_JSON"[..], ProviderForm::Native),
        (b"\x7fELF\x02", ProviderForm::Native),
        (b"\0asm\x0d\0\x01\0", ProviderForm::Component),
        (b"#!/usr/bin/modbox\n\0asm\x01\0\0\0", ProviderForm::Core),
    ] {
        assert_eq!(choose(provider, bytes).unwrap().kind, Kind::Provider(form));
    }
    let found = detect_file(Path::new("a.prov"), b"#!/bin/sh\n").unwrap();
    assert_eq!((found.kind, found.reason.as_str()), (native, "the name ends with `.prov`"));
    assert_eq!(detect_file(Path::new("a"), b"#!/bin/sh\n").unwrap().kind, Kind::OldStyle);
    let error = choose(provider, b"echo").unwrap_err().to_string();
    assert!(error.contains("cannot be run as provider: it is text without a `#!` line"), "{error}");
}

#[test]
fn refuses_bytes_that_are_not_a_module() {
    let mut elf = *b"\x7fELF\x02\x01\x01\x00";
    check(&elf, Kind::Binary, "byte 0x7f at offset 0 is not text");
    elf[7] = 200;
    assert_eq!(detect(&elf), Err(DetectError::Precompiled));
    assert_eq!(detect(b"\0asm\x0e\0\x01\0"), Err(DetectError::UnknownWasm("0e000100".to_owned())));
    assert_eq!(detect(b"\0asm\x01"), Err(DetectError::UnknownWasm("01".to_owned())));
}

#[test]
fn follows_the_order_of_the_markers() {
    let all = [
        ("#<<INCLUDE_ANSIBLE_MODULE_COMMON>>", Kind::Python),
        ("from ansible.module_utils.basic import x", Kind::Python),
        ("# POWERSHELL_COMMON", Kind::Powershell),
        ("#requires -version", Kind::Powershell),
        ("<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>", Kind::Jsonargs),
        ("WANT_JSON", Kind::WantJson),
        ("nothing", Kind::OldStyle),
    ];
    for (first, (marker, kind)) in all.iter().enumerate() {
        let rest: Vec<_> = all[first..].iter().rev().map(|(marker, _)| *marker).collect();
        assert_eq!(detect(rest.join("\n").as_bytes()).unwrap().kind, *kind, "for {marker}");
    }
}

#[test]
fn says_where_the_marker_is() {
    check(b"#!/bin/sh\n# WANT_JSON\n", Kind::WantJson, "`WANT_JSON` on line 2");
    check(b"a\n\nimport  ansible.module_utils.basic", Kind::Python, "`import  ansible.module_utils.` on line 3");
    check(b"", Kind::OldStyle, "text without any marker");
    let long = format!("from ansible.module_utils{} import x", ".a".repeat(40));
    let reason = format!("`from ansible.module_utils{}.…` on line 1", ".a".repeat(17));
    check(long.as_bytes(), Kind::Python, &reason);
}

#[test]
fn takes_the_kind_that_is_asked_for() {
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    for (declared, bytes) in [
        (Kind::OldStyle, &b"#!/bin/sh\n# WANT_JSON"[..]),
        (Kind::WantJson, b"#!/bin/sh"),
        (Kind::WantJson, b"#!/usr/bin/python3\nPK\x03\x04"),
        (Kind::Binary, b"#!/bin/sh"),
        (Kind::Python, b"print(1)"),
        (Kind::Component, COMPONENT),
    ] {
        assert_eq!(choose(Some(declared), bytes).unwrap().kind, declared, "for {bytes:?}");
    }
    for (declared, bytes, expect) in [
        (Kind::Component, &b"#!/bin/sh"[..], "component: it is old_style, text without any marker"),
        (Kind::Core, COMPONENT, "core: it is component, WebAssembly component"),
        (Kind::WantJson, COMPONENT, "want_json: it is component, WebAssembly component"),
        (Kind::OldStyle, b"\x7fELF", "old_style: byte 0x7f at offset 0 is not text, and there is no `#!` line"),
        (Kind::Python, b"#!/bin/sh\n\0", "python: byte 0x00 at offset 10 is not text"),
        (Kind::Binary, b"echo", "binary: it is text without a `#!` line (old_style)"),
        (Kind::Jsonargs, b"#!/bin/sh", "jsonargs: it does not contain `<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>`"),
    ] {
        let error = choose(Some(declared), bytes).unwrap_err().to_string();
        assert_eq!(error, format!("the module cannot be run as {expect}"));
    }
    assert_eq!(choose(None, COMPONENT).unwrap().kind, Kind::Component);
}
