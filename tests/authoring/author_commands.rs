//! The commands for authors beyond building: the form that Ansible runs, test cases, and `run --watch`.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::Value;

use super::builds::shared_builds;
use crate::support::{Modbox, RunOutput, TestDir, modbox, stretched, wait_for};

/// Time limit for a build of a small program on a busy machine.
const BUILD: Duration = Duration::from_secs(120);

/// A program that prints a result and carries metadata, without any dependency.
fn source(result: &str) -> String {
    let metadata =
        r#"{"name": "hello", "description": ["Says hello. Or not."], "argument_spec": {"name": {"required": true}}}"#;
    format!(
        "#[used]\n#[unsafe(link_section = \"modbox:module\")]\nstatic METADATA: [u8; {}] = *br#\"{metadata}\"#;\n\
         fn main() {{ println!(\"{{}}\", r#\"{result}\"#); }}\n",
        metadata.len()
    )
}

/// Writes the project `hello`, with sources of a minute ago.
fn write_project(dir: &TestDir, result: &str) -> PathBuf {
    let manifest = "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    for (name, text) in [("hello/Cargo.toml", manifest), ("hello/src/main.rs", &source(result))] {
        let path = dir.write(name, text);
        File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }
    dir.join("hello")
}

fn run(dir: &TestDir, words: &[&str]) -> RunOutput {
    Modbox::new(dir).with_toolchain().args(words).run()
}

#[test]
fn one_policy_key_fits_both_forms_of_a_component() {
    let dir = TestDir::new();
    write_project(&dir, r#"{"changed": true}"#);
    let words = ["build", "hello", "--ansible", "library", "--interpreter", "/usr/bin/modbox"];
    let built = run(&dir, &words).exits_with(0);
    assert_eq!(built.stdout_text().trim(), dir.join("library/hello.wasm").to_str().unwrap());
    let installed = dir.join("library/hello.wasm");
    let component = fs::read(dir.join("hello/target/modbox/hello.wasm")).unwrap();
    assert_eq!(fs::read(&installed).unwrap(), [b"#!/usr/bin/modbox\n", component.as_slice()].concat());
    assert_eq!(fs::metadata(&installed).unwrap().permissions().mode() & 0o7777, 0o755);
    let manual = fs::read_to_string(dir.join("library/hello.yml")).unwrap();
    assert!(manual.contains("short_description: Says hello\n") && manual.contains("required: true"), "{manual}");

    let inspect = |file: &str| run(&dir, &["inspect", "--json", file]).exits_with(0).json()["digest"].clone();
    let digest = inspect("library/hello.wasm");
    assert_eq!(digest, inspect("hello/target/modbox/hello.wasm"));
    dir.write("policy.yaml", format!("modules:\n  {digest}: {{allow: {{env: [A=1]}}}}\n"));
    // The second run takes the facts about the module from the cache.
    for _ in 0..2 {
        for file in ["library/hello.wasm", "hello/target/modbox/hello.wasm"] {
            let words = ["run", file, "--policy", "policy.yaml", "--output", "report", "--audit", "audit", "name=x"];
            let report = run(&dir, &words).exits_with(0).json();
            assert_eq!(
                (&report["module"]["digest"], report["grants"].as_array().unwrap().len()),
                (&digest, 1),
                "{report}"
            );
            let shown = run(&dir, &["policy", "show", "--json", file, "--policy", "policy.yaml"]).exits_with(0).json();
            assert_eq!(shown["module"]["digest"], digest);
        }
    }
    let audited = fs::read_to_string(dir.join("audit")).unwrap();
    for line in audited.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        assert!(line["module"]["digest"].is_null() || line["module"]["digest"] == digest, "{line}");
    }
    run(&dir, &["build", "hello", "--ansible", "library", "--interpreter", "modbox"])
        .exits_with(3)
        .says("`--interpreter`");
}

#[test]
fn cases_compare_the_result_and_the_files() {
    let dir = TestDir::new();
    write_project(&dir, r#"{"changed": true, "msg": "hello"}"#);
    run(&dir, &["test", "hello"]).exits_with(3).says("failed to find a case in").says("hello/cases");
    let good = "args: {name: x}\nfiles: {sub/kept: \"text\\n\"}\nexpect:\n  status: changed\n  result: {msg: hello}\n  \
                files: {sub/kept: \"text\\n\", gone: null}\n";
    dir.write("hello/cases/good.yaml", good);
    let ran = run(&dir, &["test", "hello"]).exits_with(0);
    assert_eq!(ran.stdout_text(), "ok     good\n1 passed, 0 failed\n");
    dir.write(
        "hello/cases/bad.json",
        r#"{"args": {"name": "x"}, "expect": {"result": {"msg": "bye"}, "files": {"new": "x"}}}"#,
    );
    dir.write("hello/cases/refused.yaml", "expect: {status: failed}\n");
    let ran = run(&dir, &["test", "hello"]).exits_with(1);
    let expect = "FAILED bad\n  result.msg: expected \"bye\", got \"hello\"\n  new: expected a file, and there is none\n  \
                  the module said: hello\nok     good\nFAILED refused\n  status: expected `failed`, got `changed`\n  \
                  the module said: hello\n1 passed, 2 failed\n";
    assert_eq!(ran.stdout_text(), expect);
    dir.write("hello/cases/wrong.yaml", "expects: {}\n");
    run(&dir, &["test", "hello"]).exits_with(3).says("failed to read the case").says("wrong.yaml");
    dir.assert_nothing_left();
}

#[test]
fn a_watched_project_runs_again_after_each_change() {
    let dir = TestDir::new();
    write_project(&dir, r#"{"number": 1}"#);
    run(&dir, &["run", "--watch", "hello.wasm"]).exits_with(2).says("needs the directory of a project");
    let script = format!("exec {} run --watch ./hello name=x > out 2> err", modbox().display());
    let shell = Modbox::of(Path::new("/bin/sh"), &dir).with_toolchain().patience(stretched(BUILD * 4));
    let running = shell.args(["-c", &script]).spawn();
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
    let wait = |name: &str, text: &str| {
        assert!(
            wait_for(stretched(BUILD), || read(name).contains(text)),
            "no {text}: {}\n{}",
            read("out"),
            read("err")
        );
    };
    wait("out", "\"number\": 1");
    wait("err", "waiting for a change");
    dir.write("hello/src/main.rs", "fn main() { mistake }");
    wait("err", "cargo failed");
    dir.write("hello/src/main.rs", source(r#"{"number": 2}"#));
    wait("out", "\"number\": 2");
    running.signal(Signal::TERM);
    running.wait().dies_of(Signal::TERM);
    dir.assert_nothing_left();
}

#[test]
fn the_compiler_reports_a_mistake_once_and_options_without_a_description() {
    let dir = TestDir::new();
    Modbox::new(&dir).own_cache(&dir).with_toolchain().args(["new", "mistaken"]).run().exits_with(0);
    let template = fs::read_to_string(dir.join("mistaken/src/main.rs")).unwrap();
    let check = |from: &str, to: &str| {
        assert!(template.contains(from), "{from}");
        dir.write("mistaken/src/main.rs", template.replace(from, to));
        let cargo = Modbox::of(Path::new("cargo"), &dir).with_toolchain().patience(stretched(BUILD * 4));
        let words = ["check", "--offline", "--manifest-path", "mistaken/Cargo.toml"];
        cargo.env("CARGO_BUILD_BUILD_DIR", shared_builds()).args(words).run()
    };
    let refused = check("access = \"write\"", "acess = \"write\"").exits_with(101);
    let told = refused.says("field `path`: unknown key `acess` in `#[arg(…)]`").stderr_text();
    assert_eq!(told.matches("\nerror").count(), 2, "the mistake, and that the crate does not compile: {told}");
    let told = check("    /// The file.\n", "").exits_with(0).stderr_text();
    assert!(told.contains("option `path` has no description in the manual; add a doc comment to the field"), "{told}");
    let told = check("    /// The file.\n", "    /// The file that is written.\n").exits_with(0).stderr_text();
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn an_old_compiler_is_refused_with_its_version() {
    let dir = TestDir::new();
    dir.write("greet/go.mod", "module greet\n");
    let go =
        dir.write_executable("bin/go", "#!/bin/sh\ntest \"$1\" = version && echo go version go1.19.8 linux/amd64\n");
    let built = Modbox::new(&dir).env("PATH", dir.join("bin")).args(["build", "greet"]).run().exits_with(3);
    built.says(&format!("failed to build with `{}`: modules need Go 1.21 or newer, found 1.19.8;", go.display()));
}
