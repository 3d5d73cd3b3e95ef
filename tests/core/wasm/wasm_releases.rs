//! What each command says of a component for WASI 0.3, which modbox does not run: one sentence, before it is compiled.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::supply::registry::registry_place::Place;
use crate::support::{Modbox, TestDir, component, core_module};

/// Exports that make a component a command of a release.
fn command(release: &str) -> String {
    format!(
        r#"(core module $main (func (export "run") (result i32) i32.const 0))
            (core instance $started (instantiate $main))
            (func $run (result (result)) (canon lift (core func $started "run")))
            (instance $interface (export "run" (func $run)))
            (export "wasi:cli/run@{release}" (instance $interface))"#
    )
}

fn sentence(interface: &str) -> String {
    format!("the module is for WASI 0.3 (`{interface}`); modbox runs WASI 0.1 and 0.2: build it for `wasm32-wasip2`")
}

/// Components of WASI 0.3 with the interface that is named: a command that needs no proposal, the release candidates that
/// toolchains have made, imports alone, an asynchronous function, which the engine refuses to compile, and the module inside such
/// a component. And one that the engine takes long to compile.
fn modules(dir: &TestDir) -> Vec<(PathBuf, &'static str)> {
    let asynchronous = r#"(core module $main
            (import "" "return" (func $return (param i32)))
            (func (export "run") (result i32) (call $return (i32.const 0)) i32.const 0)
            (func (export "called") (param i32 i32 i32) (result i32) i32.const 0))
        (core func $return (canon task.return (result (result))))
        (core instance $started (instantiate $main (with "" (instance (export "return" (func $return))))))
        (func $run async (result (result))
            (canon lift (core func $started "run") async (callback (func $started "called"))))
        (instance $interface (export "run" (func $run)))
        (export "wasi:cli/run@0.3.0" (instance $interface))"#;
    let large = format!("(core module (func (local {}) {}))", "i64 ".repeat(1000), "(loop)".repeat(45_000));
    let made = |name: &str, fields: &str| component(dir, name, &format!("(component {fields})"));
    let clock = r#"(import "wasi:clocks/monotonic-clock@0.3.0" (instance))"#;
    let core = r#"(import "wasi:cli/stdin@0.3.0" "read" (func (param i32))) (func (export "_start"))"#;
    vec![
        (made("command.wasm", &command("0.3.0")), "wasi:cli/run@0.3.0"),
        (made("candidate.wasm", &command("0.3.0-rc-2025-09-16")), "wasi:cli/run@0.3.0-rc-2025-09-16"),
        (made("imports.wasm", &format!("{clock} {}", command("0.2.0"))), "wasi:clocks/monotonic-clock@0.3.0"),
        (made("async.wasm", asynchronous), "wasi:cli/run@0.3.0"),
        (core_module(dir, "core.wasm", core), "wasi:cli/stdin@0.3.0"),
        (made("large.wasm", &format!("{large} {}", command("0.3.0"))), "wasi:cli/run@0.3.0"),
    ]
}

#[test]
fn a_run_says_which_interface_is_too_new() {
    let dir = TestDir::new();
    for (module, interface) in modules(&dir) {
        // The large one takes half a minute to compile.
        let run = Modbox::run_module(&dir, &module).own_cache(&dir).args(["--compile-time", "2s"]);
        let ran = run.report().run().exits_with(3);
        let report = ran.json();
        let expect = format!("failed to load the module: {}", sentence(interface));
        assert_eq!(report["result"]["msg"], Value::from(expect), "{ran}");
        assert_eq!(report["status"], "failed", "{ran}");
    }
    let today = component(&dir, "today.wasm", &format!("(component {})", command("0.2.0")));
    let ran = Modbox::run_module(&dir, &today).run();
    assert!(
        ran.json()["msg"].as_str().unwrap().contains("No start of json char found"),
        "one for WASI 0.2 runs, and prints nothing: {ran}"
    );
    dir.assert_nothing_left();
}

#[test]
fn commands_that_only_read_a_module_say_the_same() {
    let dir = TestDir::new();
    for (module, interface) in modules(&dir) {
        let module = module.to_str().unwrap();
        for words in [
            &["inspect", module][..],
            &["inspect", "--json", module],
            &["doc", module],
            &["validate", module],
            &["sign", module, "--key", "missing"],
            &["collection", "build", "--namespace", "acme", "--name", "tools", module],
        ] {
            let ran = Modbox::new(&dir).args(words).run();
            let shown = ran.stderr_text();
            assert!(shown.contains(&sentence(interface)), "{words:?}: {ran}");
            assert!(ran.stdout_text().is_empty(), "{words:?}: {ran}");
            ran.exits_with(3);
        }
    }
}

#[test]
fn batches_and_plays_say_it_of_the_job_or_task() {
    let dir = TestDir::new();
    let library = dir.mkdir("library");
    let text = format!("(component {})", command("0.3.0"));
    std::fs::write(library.join("newer.wasm"), std::fs::read(component(&dir, "newer.wasm", &text)).unwrap()).unwrap();
    let expect = sentence("wasi:cli/run@0.3.0");
    // Twice, since the second job has what was learnt by the first.
    let job = "{\"module\": \"library/newer.wasm\"}\n";
    let ran = Modbox::new(&dir).arg("batch").stdin(job.repeat(2)).run().exits_with(1);
    assert_eq!(ran.stdout_text().matches(&expect).count(), 2, "{ran}");
    dir.write("play.yml", "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - newer:\n");
    let ran = Modbox::new(&dir).args(["play", "play.yml"]).run().exits_with(3);
    assert!(ran.stdout_text().contains(&expect), "{ran}");
    let listed = Modbox::new(&dir).arg("list").run().exits_with(0);
    assert!(listed.stdout_text().contains(&expect), "{listed}");
}

#[test]
fn a_registry_is_not_sent_one() {
    let place = Place::new();
    let module = component(&place.dir, "newer.wasm", &format!("(component {})", command("0.3.0")));
    pushes(&place, &module).says(&sentence("wasi:cli/run@0.3.0"));
    assert_eq!(place.requests(), [""; 0]);
}

fn pushes(place: &Place, module: &Path) -> crate::support::RunOutput {
    place.pushes(module, "a:1").run().exits_with(3)
}
