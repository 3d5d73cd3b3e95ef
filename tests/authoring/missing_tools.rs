//! Builds with scripts in place of rustc, rustup and cargo: what happens when a tool or the target is missing.

use std::fs;
use std::path::Path;
use std::sync::PoisonError;

use modbox_authoring::{AuthoringContext, BuildError, build};
use modbox_cleanup::Cleanup;

use super::builds::{ANY, Bench, STANDALONE, STARTING, read_text};

/// Scripts in place of the author's tools. `rustc` reports its libraries in `lib`; `cargo` runs the real one for
/// `metadata`, and fails to build.
fn without_target(version: &str) -> Bench {
    let mut bench = Bench::new();
    bench.write_package("hello", STANDALONE);
    bench.write("lib/rustlib/host/file", "");
    let libraries = bench.path("lib/rustlib/wasm32-wasip2/lib");
    bench.write_script(
        "bin/rustc",
        &format!(
            "case $1 in -vV) echo release: {version};; --print) echo '{}';; *) exit 9;; esac",
            libraries.display()
        ),
    );
    let answer = format!(
        r#"{{"packages":[{{"name":"hello","manifest_path":"{0}/Cargo.toml","targets":[{{"name":"hello","kind":["bin"]}}],"default_run":null}}],"workspace_root":"{0}","target_directory":"{0}/target"}}"#,
        bench.path("hello").display()
    );
    bench.write_script("bin/cargo", &format!("case $1 in metadata) echo '{answer}';; *) exit 42;; esac"));
    bench.env = [("PATH".into(), bench.path("bin").into_os_string())].into();
    bench
}

/// A `rustup` that succeeds.
fn adds_target(bench: &Bench) -> String {
    let libraries = bench.path("lib/rustlib/wasm32-wasip2/lib").display().to_string();
    format!("/bin/mkdir -p '{libraries}'; : > '{libraries}/libcore-1.rlib'; : > '{libraries}/libstd-1.rlib'")
}

#[test]
fn adds_the_target_in_the_project_and_says_so() {
    let mut bench = without_target("1.95.0");
    let adds = adds_target(&bench);
    let log = bench.path("log");
    bench.write_script("bin/rustup", &format!("echo \"$PWD $*\" >> '{}'; {adds}", log.display()));
    // The target is there, so the build goes on to cargo.
    bench.check_fails("hello", "failed to build `%/hello`: cargo failed with exit status: 42; see its messages");
    assert_eq!(bench.told[1..], ["adding target `wasm32-wasip2` with rustup"]);
    let expected = format!("{} target add wasm32-wasip2\n", bench.path("hello").display());
    assert_eq!(read_text(&log), expected);
    bench.check_fails("hello", "failed to build `%/hello`: cargo failed with exit status: 42; see its messages");
    assert_eq!(read_text(&log), expected, "added once");
}

#[test]
fn two_builds_add_the_target_once() {
    let bench = without_target("1.95.0");
    let adds = adds_target(&bench);
    let log = bench.path("log");
    bench.write_script("bin/rustup", &format!("echo run >> '{}'; /bin/sleep 0.3; {adds}", log.display()));
    let _shared = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let (root, env) = (bench.path(""), bench.env.clone());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (cwd, env) = (root.clone(), env.clone());
                let mut cx =
                    AuthoringContext { cwd, env, cache_dir: None, cleanup: Cleanup::default(), progress: &mut |_| () };
                assert!(matches!(build(&mut cx, Path::new("hello"), &ANY), Err(BuildError::Cargo { .. })));
            });
        }
    });
    assert_eq!(read_text(&log), "run\n");
}

#[test]
fn a_target_that_arrives_while_rustup_fails_will_do() {
    let mut bench = without_target("1.95.0");
    let adds = adds_target(&bench);
    bench.write_script(
        "bin/rustup",
        &format!("(while kill -0 $$; do /bin/sleep 0.01; done; {adds}) >/dev/null 2>&1 & exit 1"),
    );
    bench.check_fails("hello", "failed to build `%/hello`: cargo failed with exit status: 42; see its messages");
}

#[test]
fn fails_without_rustup_and_says_what_to_do() {
    let mut bench = without_target("1.95.0");
    bench.check_fails(
        "hello",
        "failed to find the Rust target `wasm32-wasip2` for `%/bin/rustc`, and there is no rustup to add it: \
         install Rust with rustup (https://rustup.rs) and run `rustup target add wasm32-wasip2`, or install your \
         distribution's package of Rust's standard library for `wasm32-wasip2`, if it has one",
    );
    assert_eq!(bench.told.len(), 1, "nothing is added: {:?}", bench.told);
}

#[test]
fn fails_when_rustup_does_and_says_what_to_do() {
    let mut bench = without_target("1.95.0");
    bench.write_script("bin/rustup", "echo 'error: could not download file' >&2; exit 1");
    bench.check_fails(
        "hello",
        "failed to find the Rust target `wasm32-wasip2`, and rustup could not add it: with a network connection, \
         run `rustup target add wasm32-wasip2`; rustup said: could not download file",
    );
}

#[test]
fn fails_when_rustup_serves_another_toolchain() {
    let mut bench = without_target("1.95.0");
    bench.write_script("bin/rustup", "exit 0");
    bench.check_fails(
        "hello",
        "failed to find the Rust target `wasm32-wasip2`: rustup added it, but to another toolchain than that of \
         `%/bin/rustc`; put rustup's `cargo` and `rustc` first in PATH, or install your distribution's package of \
         Rust's standard library for `wasm32-wasip2`, if it has one",
    );
}

#[test]
fn fails_when_rust_is_missing_or_too_old() {
    let mut bench = without_target("1.81.0");
    bench.check_fails(
        "hello",
        "failed to build for `wasm32-wasip2`: Rust 1.81.0 is too old, 1.82 or newer is needed; run `rustup update`",
    );
    bench.write_script("bin/rustc", "echo 'error: toolchain is not installed' >&2; exit 1");
    bench.check_fails("hello", "failed to query the version of `%/bin/rustc`: toolchain is not installed");
    fs::remove_file(bench.path("bin/rustc")).unwrap();
    bench.check_fails("hello", "failed to find `rustc` in PATH; install Rust from https://rustup.rs");
    fs::remove_file(bench.path("bin/cargo")).unwrap();
    bench.check_fails("hello", "failed to find `cargo` in PATH; install Rust from https://rustup.rs");
}

#[test]
fn refuses_output_that_is_not_a_component() {
    let mut bench = without_target("1.95.0");
    let adds = adds_target(&bench);
    bench.write_script("bin/rustup", &adds);
    let dir = bench.path("hello").display().to_string();
    let message = format!(
        r#"{{"reason":"compiler-artifact","package_id":"path+file://{dir}#hello@0.1.0","manifest_path":"{dir}/Cargo.toml","target":{{"kind":["bin"],"name":"hello"}},"executable":"{dir}/core.wasm"}}"#
    );
    let metadata = read_text(&bench.path("bin/cargo")).replace("exit 42", &format!("echo '{message}'"));
    bench.write_script("bin/cargo", &metadata);
    bench.write("hello/core.wasm", "\0asm\u{1}\0\0\0");
    bench.check_fails(
        "hello",
        "failed to build a component: `%/hello/core.wasm` is not one; check whether `linker` in \
         `.cargo/config.toml` replaces `wasm-component-ld`",
    );
    assert!(!bench.path("hello/target/modbox/hello.wasm").exists());
}
