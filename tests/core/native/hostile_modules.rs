//! Files that are not modules, or that imitate another kind. For each, modbox ends in time, with a well-formed result
//! and the right exit status, and does not touch the host.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::{Modbox, RunOutput, TestDir, component, core_module, guest, small_module};

/// Enough for anything that ends by itself.
const SOON: Duration = Duration::from_secs(10);

fn run(dir: &TestDir, module: &Path, options: &[&str]) -> RunOutput {
    let ran = Modbox::run_module(dir, module).args(options).run();
    dir.assert_nothing_left();
    ran.within(SOON)
}

/// Asserts that a file is not loaded, with a failed result that says why.
#[track_caller]
fn assert_not_loaded(ran: RunOutput, reason: &str) {
    let ran = ran.exits_with(3);
    let result = ran.json();
    assert_eq!(result["failed"], true, "{ran}");
    assert!(result["msg"].as_str().unwrap().contains(reason), "no `{reason}` in {ran}");
}

/// The bytes of a module that works, to be tried in many variations.
fn working(dir: &TestDir) -> Vec<u8> {
    fs::read(small_module(dir, "small.wasm")).unwrap()
}

#[test]
fn garbage_behind_the_magic_number_is_not_loaded() {
    let dir = TestDir::new();
    for (name, layer) in [("component", b"\x0d\0\x01\0"), ("core", b"\x01\0\0\0")] {
        let module = dir.write(name, [b"\0asm", layer.as_slice(), b"garbage"].concat());
        assert_not_loaded(run(&dir, &module, &[]), "failed to compile the module");
    }
}

#[test]
fn an_unknown_version_and_a_lone_magic_number_are_not_loaded() {
    let dir = TestDir::new();
    for bytes in [b"\0asm".as_slice(), b"\0asm\x02\0\0\0", b"\0asm\x0d\0"] {
        let module = dir.write("module.wasm", bytes);
        assert_not_loaded(run(&dir, &module, &[]), "unknown WebAssembly version");
    }
}

#[test]
fn a_truncated_component_is_not_loaded() {
    let dir = TestDir::new();
    let whole = fs::read(guest("hello")).unwrap();
    for parts in 1..8 {
        let module = dir.write("cut.wasm", &whole[..whole.len() * parts / 8]);
        assert_not_loaded(run(&dir, &module, &["name=x"]), "failed to");
    }
    let module = dir.write("cut.wasm", &whole[..whole.len() - 1]);
    assert_not_loaded(run(&dir, &module, &["name=x"]), "failed to");
}

#[test]
fn a_damaged_module_ends_in_a_result_wherever_it_is_damaged() {
    let dir = TestDir::new();
    let whole = working(&dir);
    // Behind the magic number, which decides whether it is wasm at all.
    for at in (8..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        let module = dir.write("damaged.wasm", &damaged);
        let ran = run(&dir, &module, &["--timeout", "500ms", "--max-memory", "16MiB"]);
        assert!(matches!(ran.status.code(), Some(0 | 1 | 3 | 5 | 6)), "byte {at}: {ran}");
        assert_eq!(ran.json()["failed"], !ran.status.success(), "byte {at}: {ran}");
    }
}

#[test]
fn bytes_other_than_wasm_are_a_native_module_and_fail() {
    let dir = TestDir::new();
    let wrong_magic = [b"\0asn".as_slice(), &working(&dir)[4..]].concat();
    let two_lines = [b"#!/bin/a\n#!/bin/b\n".as_slice(), &working(&dir)].concat();
    let late = [b"\n".as_slice(), &working(&dir)].concat();
    let cases: [(&str, &[u8], &str); 4] = [
        ("empty", b"", "old_style"),
        ("wrong_magic", &wrong_magic, "binary"),
        ("two_lines", &two_lines, "binary"),
        ("late", &late, "binary"),
    ];
    for (name, bytes, kind) in cases {
        let report = run(&dir, &dir.write(name, bytes), &["--output", "report"]).json();
        assert_eq!((&report["status"], &report["module"]["kind"]), (&json!("failed"), &json!(kind)), "{name}");
    }
}

#[test]
fn an_empty_file_that_is_allowed_to_run_has_failed() {
    let dir = TestDir::new();
    let ran = run(&dir, &dir.write("empty", ""), &["--allow-all"]);
    assert!(matches!(ran.status.code(), Some(1 | 3)), "{ran}");
    assert_eq!(ran.json()["failed"], true);
}

#[test]
fn wasm_behind_a_line_for_the_kernel_runs() {
    let dir = TestDir::new();
    for line in ["#!/usr/bin/modbox\n", "#!\n", "#! /usr/bin/env modbox\r\n"] {
        let module = dir.write("started.wasm", [line.as_bytes(), &working(&dir)].concat());
        assert_eq!(run(&dir, &module, &[]).exits_with(0).json()["changed"], false, "{line:?}");
    }
}

#[test]
fn compiled_code_that_a_user_supplies_is_refused_even_when_all_is_allowed() {
    let dir = TestDir::new();
    let small = dir.write("small.wasm", working(&dir));
    Modbox::run_module(&dir, small).own_cache(&dir).run().exits_with(0);
    let entries = fs::read_dir(dir.join("home/.cache/modbox/compiled")).unwrap().flatten();
    let entry = entries.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "cwasm")).unwrap();
    let entry = fs::read(entry).unwrap();
    // What the engine made begins where the ELF header does.
    let start = entry.windows(4).position(|window| window == b"\x7fELF").expect("compiled code is an ELF image");
    let module = dir.write("module.cwasm", &entry[start..]);
    for options in [&[][..], &["--allow-all"], &["--kind", "binary", "--allow-all"], &["--kind", "core"]] {
        assert_not_loaded(run(&dir, &module, options), "compiled code of Wasmtime");
    }
    // A complete cache entry, with its authentication tag, is not a module either.
    assert_not_loaded(run(&dir, &dir.write("entry.cwasm", entry), &["--allow-all"]), "compiled code of Wasmtime");
}

#[test]
fn a_module_that_exports_no_command_is_not_loaded() {
    let dir = TestDir::new();
    let library = core_module(&dir, "library.wasm", r#"(func (export "helper"))"#);
    assert_not_loaded(
        run(&dir, &library, &[]),
        "it is a library: it exports no `_start` to run; build it as a WASI command",
    );
    let reactor = core_module(&dir, "reactor.wasm", r#"(func (export "_initialize")) (func (export "helper"))"#);
    assert_not_loaded(run(&dir, &reactor, &[]), "it is a WASI reactor: it exports `_initialize`");
    let global = core_module(&dir, "global.wasm", r#"(global (export "_start") i32 (i32.const 0))"#);
    assert_not_loaded(run(&dir, &global, &[]), "it is a library");
    assert_not_loaded(run(&dir, &component(&dir, "empty.wasm", "(component)"), &[]), "does not export `wasi:cli/run`");
}

#[test]
fn a_module_with_unknown_imports_is_not_loaded() {
    let dir = TestDir::new();
    let core = core_module(&dir, "core.wasm", r#"(import "env" "system" (func)) (func (export "_start"))"#);
    assert_not_loaded(run(&dir, &core, &["--allow-all"]), "failed to");
    let text = r#"(component (import "evil:host/shell@1.0.0" (instance (export "run" (func)))))"#;
    assert_not_loaded(
        run(&dir, &component(&dir, "component.wasm", text), &["--allow-all"]),
        "imports an unknown interface",
    );
}

#[test]
fn a_loop_at_the_start_of_the_instance_ends_at_the_timeout() {
    let dir = TestDir::new();
    let text = r#"(func $spin (loop (br 0))) (func (export "_start")) (start $spin)"#;
    let module = core_module(&dir, "start.wasm", text);
    let report = run(&dir, &module, &["--timeout", "400ms", "--output", "report"]).exits_with(5).json();
    assert_eq!(report["limit"], json!({"kind": "wall", "allowed": 400_000, "unit": "us"}));
}

#[test]
fn a_module_that_declares_more_memory_than_is_allowed_has_hit_the_limit() {
    let dir = TestDir::new();
    let module = core_module(&dir, "huge.wasm", r#"(memory (export "memory") 65536) (func (export "_start"))"#);
    let report = run(&dir, &module, &["--output", "report"]).exits_with(5).json();
    assert_eq!((&report["limit"]["kind"], &report["result"]["failed"]), (&json!("memory"), &json!(true)));
}

#[test]
fn a_module_cannot_run_out_of_the_hosts_stack() {
    let dir = TestDir::new();
    let deep = format!("{{\"deep\": {}", "[".repeat(1_000_000));
    let hex: String = deep.bytes().map(|byte| format!("{byte:02x}")).collect();
    let args = format!("@{}", dir.write("args.json", json!({"stdout": hex}).to_string()).display());
    let ran = run(&dir, &guest("output"), &["-a", &args]).exits_with(1);
    assert_eq!(ran.json()["failed"], true);
}

#[test]
fn arguments_cannot_run_out_of_the_hosts_stack() {
    let dir = TestDir::new();
    for deep in ["[".repeat(1_000_000), format!("{{\"a\": {}1{}}}", "[".repeat(500_000), "]".repeat(500_000))] {
        let args = format!("@{}", dir.write("args.json", deep).display());
        run(&dir, &guest("hello"), &["-a", &args]).exits_with(2);
    }
}

#[test]
fn a_module_that_is_not_a_file_is_not_read() {
    let dir = TestDir::new();
    let pipe = dir.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    for path in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/dev/null"), Path::new("/dev/null/module")] {
        let ran = Modbox::run_module(&dir, path).patience(SOON).run();
        assert_eq!(ran.status.code(), Some(3), "{ran}");
    }
}

#[test]
fn a_file_that_is_too_large_is_not_read_into_memory() {
    let dir = TestDir::new();
    let mut module = fs::File::create(dir.join("large.wasm")).unwrap();
    module.write_all(b"\0asm\x01\0\0\0").unwrap();
    // Sparse: takes no room on the disk.
    module.set_len(64 << 30).unwrap();
    run(&dir, &dir.join("large.wasm"), &[]).exits_with(3);
}

#[test]
fn there_is_no_network_unless_all_is_allowed() {
    let dir = TestDir::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let args = json!({"address": address}).to_string();
    let denied = run(&dir, &guest("connect"), &["-a", &args]).exits_with(1).json();
    assert!(denied["seen"].as_str().unwrap().starts_with("PermissionDenied"), "{denied}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "a connection was made");
    listener.set_nonblocking(false).unwrap();
    let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(b"hello").unwrap());
    let allowed = run(&dir, &guest("connect"), &["-a", &args, "--allow-all"]).exits_with(0).json();
    assert_eq!(allowed["heard"], "hello");
    server.join().unwrap();
}
