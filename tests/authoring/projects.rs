//! Which commands build a project, and when a directory counts as one. A build runs code of the project unconfined, so
//! it must not happen by accident.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, copy_executable, small_module};

/// The commands that show or check a module, with their further words.
const SHOWING: [(&str, &[&str]); 5] =
    [("inspect", &[]), ("doc", &[]), ("validate", &[]), ("assemble", &["--output", "-"]), ("policy", &["--json"])];

/// A working directory with the project `ping`, which must not be built, and a library with the module `ping`.
struct Hostile {
    dir: TestDir,
}

impl Hostile {
    fn new() -> Self {
        let dir = TestDir::new();
        dir.write("ping/Cargo.toml", "[package]\nname = \"ping\"\nversion = \"0.1.0\"\n[workspace]\n");
        dir.write("ping/src/main.rs", "fn main() {}");
        // Tools in place of cargo and rustc, which record that they ran.
        let log = dir.join("ran").display().to_string();
        let tool =
            dir.write_executable("tool", format!("#!/bin/sh\necho \"$0 $*\" >> '{log}'\necho ran >&2\nexit 1\n"));
        dir.mkdir("bin");
        for name in ["cargo", "rustc", "rustup"] {
            copy_executable(&tool, &dir.join("bin").join(name));
        }
        dir.mkdir("good");
        small_module(&dir, "good/ping.wasm");
        Self { dir }
    }

    fn modbox(&self) -> Modbox {
        let path = format!("{}:/usr/bin:/bin", self.dir.join("bin").display());
        Modbox::new(&self.dir).env("PATH", path).env("MODBOX_LIBRARY", self.dir.join("good"))
    }

    fn command(&self, command: &str, more: &[&str], module: &str) -> RunOutput {
        let show = if command == "policy" { &["show"][..] } else { &[] };
        self.modbox().arg(command).args(show).arg(module).args(more).run()
    }

    fn batch(&self, module: &str) -> Value {
        let line = json!({"module": module}).to_string();
        self.modbox().arg("batch").stdin(line).run().json()
    }

    /// Returns the calls of tools.
    fn calls(&self) -> String {
        fs::read_to_string(self.dir.join("ran")).unwrap_or_default()
    }
}

#[test]
fn a_bare_name_is_looked_up_and_never_built() {
    let hostile = Hostile::new();
    for (command, more) in SHOWING {
        let output = hostile.command(command, more, "ping");
        assert!(!output.stderr_text().contains("modbox build"), "{output}");
        assert!(command != "inspect" || output.stdout_text().contains("good/ping.wasm"), "{output}");
    }
    let ran = hostile.modbox().args(["run", "ping"]).run().exits_with(0).json();
    assert_eq!(ran["small"], true, "{ran}");
    let ran = hostile.batch("ping");
    assert_eq!(ran["result"]["small"], true, "{ran}");
    hostile.modbox().args(["run", "--async", "10s", "ping"]).run().exits_with(0);
    assert_eq!(hostile.calls(), "");
}

#[test]
fn a_name_that_only_a_directory_has_is_not_found() {
    let hostile = Hostile::new();
    fs::rename(hostile.dir.join("ping"), hostile.dir.join("pong")).unwrap();
    hostile.modbox().args(["run", "pong"]).run().exits_with(3).says("is a module's source: name it by that path");
    assert_eq!(hostile.batch("pong")["status"], "failed");
    assert_eq!(hostile.calls(), "");
}

#[test]
fn a_module_of_modbox_is_built_from_the_sources_in_the_program() {
    let hostile = Hostile::new();
    fs::create_dir(hostile.dir.join("stat")).unwrap();
    let run = |words: &[&str]| hostile.modbox().own_cache(&hostile.dir).args(words).run().exits_with(3);
    run(&["inspect", "stat"]).says("run `modbox build stat` first");
    assert_eq!(hostile.calls(), "");
    let told = run(&["run", "stat", "path=."]).stderr_text();
    let sources = hostile.dir.join("home/.cache/modbox/sdk");
    assert!(told.starts_with(&format!("modbox: building `{}/", sources.display())), "{told}");
    assert!(hostile.calls().contains("cargo metadata"), "{}", hostile.calls());
}

#[test]
fn a_program_by_itself_makes_projects_that_name_no_folder_of_its_build() {
    let dir = TestDir::new();
    let alone = dir.join("modbox");
    copy_executable(&crate::support::modbox(), &alone);
    let new = Modbox::of(&alone, &dir).own_cache(&dir).args(["new", "motd"]).run().exits_with(0);
    assert!(new.stdout_text().starts_with("made `motd`"), "{new}");
    let manifest = fs::read_to_string(dir.join("motd/Cargo.toml")).unwrap();
    assert!(manifest.contains("modbox-sdk = { path = \".modbox-sdk/guest-sdk\", version = \"0.1.0\" }"), "{manifest}");
    let sdk = dir.join("motd/.modbox-sdk").canonicalize().unwrap();
    assert!(sdk.starts_with(dir.join("home/.cache/modbox/sdk")), "{}", sdk.display());
    assert!(sdk.join("guest-sdk/src/lib.rs").is_file());
    let program = fs::read(&alone).unwrap();
    let checkout = crate::support::repository().join("guest-sdk").display().to_string();
    assert!(!program.windows(checkout.len()).any(|window| window == checkout.as_bytes()), "{checkout}");
}

#[test]
fn a_new_project_in_another_language_has_its_helper_and_needs_no_sdk() {
    let dir = TestDir::new();
    let new = |words: &[&str]| Modbox::new(&dir).own_cache(&dir).arg("new").args(words).run();
    for (language, helper) in
        [("c", "modbox.h"), ("go", "modbox.go"), ("python", "modbox.py"), ("javascript", "modbox.js")]
    {
        let name = format!("my-{language}");
        new(&["--language", language, &name]).exits_with(0);
        let carried = fs::read(dir.join(&name).join(helper)).unwrap();
        let example = crate::support::repository().join("guest-sdk/examples").join(language).join(helper);
        assert_eq!(carried, fs::read(example).unwrap(), "{language}");
        let manual = fs::read_to_string(dir.join(&name).join("module.json")).unwrap();
        assert!(manual.contains(&format!("\"name\": \"{name}\"")), "{manual}");
    }
    assert!(!dir.join("home/.cache/modbox/sdk").exists());
    new(&["--language", "perl", "other"]).exits_with(2).says("[possible values: rust, c, go, python, javascript]");
    new(&["--language", "go", "--sdk", ".", "other"]).exits_with(2).says("`--sdk` is for projects in Rust");
    assert!(!dir.join("other").exists());
}

#[test]
fn a_project_for_another_version_of_the_sdk_is_refused() {
    let dir = TestDir::new();
    let build = || Modbox::new(&dir).own_cache(&dir).with_toolchain();
    build().args(["new", "motd"]).run().exits_with(0);
    let manifest = fs::read_to_string(dir.join("motd/Cargo.toml")).unwrap();
    dir.write("motd/Cargo.toml", manifest.replace("version = \"0.1.0\" }", "version = \"7.0.0\" }"));
    build().args(["build", "motd"]).run().exits_with(3).says("it needs modbox-sdk `^7.0.0`, and this modbox has 0.1.0");
}

#[test]
fn crates_that_cannot_be_downloaded_are_named() {
    let dir = TestDir::new();
    let offline = || Modbox::new(&dir).own_cache(&dir).with_toolchain().env("CARGO_HOME", dir.join("home/.cargo"));
    offline().args(["new", "motd"]).run().exits_with(0);
    let built = offline().env("CARGO_NET_OFFLINE", "true").args(["build", "motd"]).run().exits_with(3);
    built.says("crates that it depends on are not on this machine").says("connect to the network");
}

#[test]
fn only_run_and_build_build_a_project() {
    let hostile = Hostile::new();
    for (command, more) in SHOWING {
        hostile.command(command, more, "./ping").exits_with(3).says("run `modbox build ./ping` first");
    }
    let refused = hostile.batch("./ping");
    assert!(refused["result"]["msg"].as_str().unwrap().contains("run `modbox build ./ping` first"), "{refused}");
    assert_eq!(hostile.calls(), "");
    for words in [&["run", "./ping"][..], &["run", "--async", "10s", "./ping"], &["build", "ping"]] {
        let output = hostile.modbox().args(words).run().exits_with(3);
        assert!(!hostile.calls().is_empty(), "{output}");
        fs::remove_file(hostile.dir.join("ran")).unwrap();
    }
}

#[test]
fn a_build_says_first_what_it_will_run() {
    let hostile = Hostile::new();
    let told = hostile.modbox().args(["run", "./ping"]).run().exits_with(3).stderr_text();
    let (project, cargo) = (hostile.dir.join("ping"), hostile.dir.join("bin/cargo"));
    let note = format!("modbox: building `{}` with `{}`: build scripts", project.display(), cargo.display());
    assert!(told.starts_with(&note), "{told}");

    hostile.dir.write("c/main.c", "int main(void) { return 0; }");
    let zig = hostile.dir.join("bin/zig");
    copy_executable(&cargo, &zig);
    let told = hostile.modbox().args(["run", "./c"]).run().exits_with(3).stderr_text();
    let running = format!("modbox: running `{} cc -target wasm32-wasi", zig.display());
    let places: Vec<_> =
        ["modbox: building `c`, which is written in C", &running, "\nran\n"].map(|it| told.find(it)).into();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}: {told}");
}

#[test]
fn a_project_of_the_same_name_does_not_rename_a_module() {
    let hostile = Hostile::new();
    fs::rename(hostile.dir.join("ping"), hostile.dir.join("trusted")).unwrap();
    symlink("trusted", hostile.dir.join("ping")).unwrap();
    let named = |module: &str| hostile.modbox().args(["policy", "show", "--json", module]).run().exits_with(0).json();
    assert_eq!(named("ping")["module"]["name"], "ping");
}

/// Writes a project that cargo builds in an instant, with sources of a minute ago.
fn write_project(dir: &TestDir) -> PathBuf {
    let manifest = "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    for (name, text) in [("hello/Cargo.toml", manifest), ("hello/src/main.rs", "fn main() {}")] {
        let path = dir.write(name, text);
        fs::File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }
    dir.join("hello")
}

#[test]
fn a_component_that_is_up_to_date_is_shown_without_a_build() {
    let dir = TestDir::new();
    let project = write_project(&dir);
    let built = Modbox::new(&dir).with_toolchain().arg("build").arg(&project).run().exits_with(0);
    let component = built.stdout_text().trim().to_owned();
    // There is no cargo in this command's PATH.
    let inspect = || Modbox::new(&dir).env("PATH", "/nowhere").args(["inspect", "./hello"]).run();
    assert!(inspect().exits_with(0).stdout_text().contains(&component));
    dir.write("hello/src/main.rs", "fn main() { print!(\"{{}}\") }");
    inspect().exits_with(3).says("run `modbox build ./hello` first");
}
