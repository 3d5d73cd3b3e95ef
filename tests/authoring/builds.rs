//! Builds guest crates as an author does: with the real cargo where something is built, and with scripts in place of
//! rustc and rustup to test what happens when a tool is missing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use modbox_authoring::{
    AuthoringContext, BuildError, BuildOptions, BuiltModule, NewOptions, build, build_if_stale, build_standard,
    find_fresh, find_standard, new_project,
};
use modbox_cleanup::Cleanup;

/// Excludes writing scripts while another test builds. A process started at that time inherits the open script for a
/// moment, and the kernel refuses to start a script that is open for writing.
static STARTING: RwLock<()> = RwLock::new(());

const ANY: BuildOptions = BuildOptions { binary: None };

/// A working directory, and the progress messages of the build.
struct Bench {
    root: tempfile::TempDir,
    env: BTreeMap<OsString, OsString>,
    cache: Option<PathBuf>,
    told: Vec<String>,
}

impl Bench {
    fn new() -> Self {
        let env = std::env::vars_os().collect();
        Self { root: tempfile::tempdir().unwrap(), env, cache: None, told: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file with a modification time in the past, as if it was not edited recently.
    fn write(&self, name: &str, text: &str) {
        self.write_at(name, text, SystemTime::now() - Duration::from_secs(60));
    }

    fn write_at(&self, name: &str, text: &str, modified: SystemTime) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        File::open(&path).unwrap().set_modified(modified).unwrap();
    }

    fn write_script(&self, name: &str, text: &str) {
        let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
        self.write(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes a package `hello`, with more lines for its manifest.
    fn write_package(&self, dir: &str, more: &str) {
        let manifest = format!("[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}");
        self.write(&format!("{dir}/Cargo.toml"), &manifest);
        let main = "fn main() {\n    print!(\"{}\", include_str!(\"greeting\"));\n}\n";
        self.write(&format!("{dir}/src/main.rs"), main);
        self.write(&format!("{dir}/src/greeting"), "{}\n");
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut AuthoringContext<'_>) -> T) -> T {
        let _shared = STARTING.read().unwrap_or_else(PoisonError::into_inner);
        let told = &mut self.told;
        act(&mut AuthoringContext {
            cwd: self.root.path().to_owned(),
            env: self.env.clone(),
            cache_dir: self.cache.clone(),
            cleanup: Cleanup::default(),
            progress: &mut |message| told.push(message.to_owned()),
        })
    }

    fn build(&mut self, dir: &str) -> Result<BuiltModule, BuildError> {
        self.with(|cx| build(cx, Path::new(dir), &ANY))
    }

    fn find_fresh(&mut self, dir: &str) -> Option<BuiltModule> {
        self.with(|cx| find_fresh(cx, Path::new(dir), &ANY))
    }

    #[track_caller]
    fn check_fails(&mut self, dir: &str, expected: &str) {
        let message = self.build(dir).unwrap_err().to_string();
        let root = format!("{}/", self.path("").display()).replace("//", "/");
        assert_eq!(message.replace(&root, "%/"), expected);
    }

    #[track_caller]
    fn check_component(module: &BuiltModule) {
        let bytes = read(&module.component);
        assert!(bytes.starts_with(b"\0asm\x0d\0\x01\0"), "{module:?}");
    }
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn read_text(path: &Path) -> String {
    String::from_utf8(read(path)).unwrap()
}

const STANDALONE: &str = "[workspace]\n";

#[test]
fn builds_a_component_and_knows_when_it_is_stale() {
    let mut bench = Bench::new();
    bench.write_package("hello", STANDALONE);
    assert_eq!(bench.find_fresh("hello"), None);

    let module = bench.build("hello").unwrap();
    assert_eq!((module.name.as_str(), module.fresh), ("hello", false));
    assert_eq!(module.component, bench.path("hello/target/modbox/hello.wasm"));
    Bench::check_component(&module);

    let fresh = BuiltModule { fresh: true, ..module };
    assert_eq!(bench.find_fresh("hello").as_ref(), Some(&fresh));
    let (no_tools, env) = (BTreeMap::new(), bench.env.clone());
    bench.env = no_tools;
    assert_eq!(bench.with(|cx| build_if_stale(cx, Path::new("hello"), &ANY)).unwrap(), fresh);
    bench.env = env;
    assert!(bench.build("hello").unwrap().fresh);

    let before = read(&fresh.component);
    bench.write_at("hello/src/greeting", "{\"msg\": \"changed\"}\n", SystemTime::now() - Duration::from_secs(5));
    assert_eq!(bench.find_fresh("hello"), None);
    // Cargo compares modification times, so this one must be later than the last build.
    bench.write_at("hello/src/greeting", "{\"msg\": \"changed\"}\n", SystemTime::now());
    assert!(!bench.build("hello").unwrap().fresh);
    assert_ne!(read(&fresh.component), before);
}

#[test]
fn builds_a_member_of_a_workspace_with_a_path_dependency() {
    let mut bench = Bench::new();
    bench.write("ws/Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"hello\", \"other\"]\n");
    bench.write_package("ws/hello", "[dependencies]\nother = { path = \"../other\" }\n");
    bench.write("ws/other/Cargo.toml", "[package]\nname = \"other\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    bench.write("ws/other/src/lib.rs", "");
    let module = bench.build("ws/hello").unwrap();
    assert_eq!(module.component, bench.path("ws/hello/target/modbox/hello.wasm"));
    Bench::check_component(&module);
    assert!(bench.find_fresh("ws/hello").is_some());
    for input in ["ws/other/src/lib.rs", "ws/other/Cargo.toml", "ws/Cargo.toml"] {
        let text = read_text(&bench.path(input));
        let modified = bench.path(input).metadata().unwrap().modified().unwrap();
        bench.write(input, "# changed\n");
        assert_eq!(bench.find_fresh("ws/hello"), None, "{input}");
        bench.write_at(input, &text, modified);
        assert!(bench.find_fresh("ws/hello").is_some(), "{input} as it was");
    }
    bench.write("ws/.cargo/config.toml", "");
    assert_eq!(bench.find_fresh("ws/hello"), None);
    bench.check_fails(
        "ws",
        "failed to build `%/ws`: it is a workspace without a package; build one of its members: `hello`, `other`",
    );
}

#[test]
fn flags_for_the_host_do_not_reach_the_build() {
    let mut bench = Bench::new();
    bench.write_package("hello", STANDALONE);
    for (name, value) in [
        ("RUSTFLAGS", "-Clinker=/nonexistent"),
        ("CARGO_ENCODED_RUSTFLAGS", "--nonsense"),
        ("CARGO_MAKEFLAGS", "-j --jobserver-fds=98,99"),
    ] {
        bench.env.insert(name.into(), value.into());
    }
    Bench::check_component(&bench.build("hello").unwrap());
}

#[test]
fn fails_with_what_is_wrong_with_the_directory() {
    let mut bench = Bench::new();
    bench.write("file", "");
    bench.write("empty/file", "");
    bench.check_fails("missing", "failed to build `missing`: it is not a directory, nor the name of one of modbox's modules, which `modbox list` shows");
    bench.check_fails("file", "failed to build `file`: it is not a directory, nor the name of one of modbox's modules, which `modbox list` shows");
    bench.check_fails(
        "empty",
        "failed to build `empty`: it has none of `Cargo.toml`, `main.c`, `go.mod`, `main.py`, `main.js`; `modbox new NAME` creates a module project",
    );
    bench.write_package("lib", "[workspace]\n[lib]\ncrate-type = [\"cdylib\"]\n");
    fs::rename(bench.path("lib/src/main.rs"), bench.path("lib/src/lib.rs")).unwrap();
    bench.check_fails(
        "lib",
        "failed to build `%/lib`: the package `hello` has no binary, only a library; \
         a module is a program, so add a `src/main.rs`",
    );
}

#[test]
fn fails_when_cargo_does() {
    let mut bench = Bench::new();
    bench.write_package("hello", STANDALONE);
    bench.write("hello/src/main.rs", "fn main() { nonsense }\n");
    bench.check_fails("hello", "failed to build `%/hello`: cargo failed with exit status: 101; see its messages");
    bench.write("hello/Cargo.toml", "nonsense");
    let message = bench.build("hello").unwrap_err().to_string();
    let (summary, said) = message.split_once('\n').unwrap();
    assert_eq!(
        summary,
        format!("failed to read the package in `{}`; the output of cargo:", bench.path("hello").display())
    );
    assert!(said.contains("Cargo.toml:1"), "{said}");
}

#[test]
fn a_new_project_builds_and_its_tests_pass() {
    let mut bench = Bench::new();
    // The crates of this workspace, so that nothing is downloaded.
    bench.env.insert("CARGO_NET_OFFLINE".into(), "true".into());
    bench.cache = Some(bench.path("cache"));
    let options = NewOptions::default();
    let project = bench.with(|cx| new_project(cx, Path::new(""), "motd", &options)).unwrap();
    // As after a clone of the project on another machine.
    fs::remove_file(project.join(".modbox-sdk")).unwrap();

    let module = bench.build("motd").unwrap();
    assert_eq!(module.component, bench.path("motd/target/modbox/motd.wasm"));
    Bench::check_component(&module);
    let bytes = read(&module.component);
    let name = b"modbox:module";
    assert!(bytes.windows(name.len()).any(|window| window == name), "the metadata is in it");
    assert!(bench.find_fresh("motd").is_some());

    // The lock file that modbox carries is complete, so cargo does not change it.
    let ping = bench.with(|cx| build_standard(cx, "ping")).unwrap();
    Bench::check_component(&ping);
    assert_eq!(bench.with(|cx| find_standard(cx, "ping")).map(|built| built.component), Some(ping.component));
    assert!(!bench.told.iter().any(|told| told.contains("damaged")), "{:?}", bench.told);

    let mut tests = Command::new("cargo");
    tests.args(["test", "--quiet"]).current_dir(&project).env_clear();
    tests.envs(bench.env.iter().filter(|(name, _)| !name.to_string_lossy().starts_with("CARGO_PKG")));
    let output = tests.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(!told.contains("running 0 tests"), "{told}");
}

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
