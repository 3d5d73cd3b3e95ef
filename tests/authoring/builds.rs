//! Builds guest crates as an author does, with the real cargo.

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

use crate::support::temporary;

/// Excludes writing scripts while another test builds. A process started at that time inherits the open script for a
/// moment, and the kernel refuses to start a script that is open for writing.
pub(super) static STARTING: RwLock<()> = RwLock::new(());

pub(super) const ANY: BuildOptions = BuildOptions { binary: None };

/// A working directory, and the progress messages of the build.
pub(super) struct Bench {
    root: tempfile::TempDir,
    pub(super) env: BTreeMap<OsString, OsString>,
    cache: Option<PathBuf>,
    pub(super) told: Vec<String>,
}

impl Bench {
    pub(super) fn new() -> Self {
        let env = std::env::vars_os().collect();
        Self { root: tempfile::tempdir().unwrap(), env, cache: None, told: Vec::new() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file with a modification time in the past, as if it was not edited recently.
    pub(super) fn write(&self, name: &str, text: &str) {
        self.write_at(name, text, SystemTime::now() - Duration::from_secs(60));
    }

    fn write_at(&self, name: &str, text: &str, modified: SystemTime) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        File::open(&path).unwrap().set_modified(modified).unwrap();
    }

    pub(super) fn write_script(&self, name: &str, text: &str) {
        let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
        self.write(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes a package `hello`, with more lines for its manifest.
    pub(super) fn write_package(&self, dir: &str, more: &str) {
        let manifest = format!("[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}");
        self.write(&format!("{dir}/Cargo.toml"), &manifest);
        let main = "fn main() {\n    print!(\"{}\", include_str!(\"greeting\"));\n}\n";
        self.write(&format!("{dir}/src/main.rs"), main);
        self.write(&format!("{dir}/src/greeting"), "{}\n");
    }

    pub(super) fn with<T>(&mut self, act: impl FnOnce(&mut AuthoringContext<'_>) -> T) -> T {
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

    pub(super) fn build(&mut self, dir: &str) -> Result<BuiltModule, BuildError> {
        self.with(|cx| build(cx, Path::new(dir), &ANY))
    }

    fn find_fresh(&mut self, dir: &str) -> Option<BuiltModule> {
        self.with(|cx| find_fresh(cx, Path::new(dir), &ANY))
    }

    #[track_caller]
    pub(super) fn check_fails(&mut self, dir: &str, expected: &str) {
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

pub(super) fn read_text(path: &Path) -> String {
    String::from_utf8(read(path)).unwrap()
}

pub(super) const STANDALONE: &str = "[workspace]\n";

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

/// Returns cargo's folder for builds in which tests compile the same crates. The packages have names of their own.
pub(super) fn shared_builds() -> PathBuf {
    temporary().join("authoring-builds")
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn a_new_project_builds_and_its_tests_pass() {
    let mut bench = Bench::new();
    // The crates of this workspace, so that nothing is downloaded.
    bench.env.insert("CARGO_NET_OFFLINE".into(), "true".into());
    bench.env.insert("CARGO_BUILD_BUILD_DIR".into(), shared_builds().into());
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
