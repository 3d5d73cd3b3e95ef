//! What a granted program and a chosen interpreter are shown of the folders around them: what they need, and nothing
//! else. With namespaces and without, for the commands of guests and for native modules.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::core::native::native_ladder::{NO_MOUNTS, behind};
use crate::support::{copy_program, guest};

const USER: u32 = 12345;

/// A script that prints the file which is its argument.
const SHOW: &str = "#!/bin/sh\ncat \"$1\"\n";

/// A folder with programs, for root at level 3 and for an ordinary user at the levels 3 and 2.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    pub(crate) user: Option<u32>,
    pub(crate) level: u8,
}

impl Place {
    pub(crate) fn all() -> Vec<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let user = Some(USER).filter(|_| is_root);
        let places = [(None, 3), (user, 3), (user, 2)];
        // Root is not confined at level 2.
        places.into_iter().skip(usize::from(!is_root)).map(|(user, level)| Self::new(user, level)).collect()
    }

    fn new(user: Option<u32>, level: u8) -> Self {
        let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
        let place = Self { dir, user, level };
        for own in ["home", "tmp", "opt/app/etc", "opt/app/bin", "data"] {
            fs::create_dir_all(place.at(own)).unwrap();
            chown(place.at(own), user, user).unwrap();
        }
        copy_program(&place.at("modbox"));
        fs::copy(guest("command"), place.at("command.wasm")).unwrap();
        place.write("opt/app/etc/pw", "secret");
        place.write("data/file", "granted");
        place
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
        chown(self.at(name), self.user, self.user).unwrap();
        self.at(name)
    }

    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Runs modbox, and returns what it printed.
    #[track_caller]
    pub(crate) fn run(&self, words: &[&str]) -> Value {
        self.run_with(words.iter().map(OsStr::new)).0
    }

    /// Runs modbox, and returns what it printed and its exit status.
    #[track_caller]
    pub(crate) fn run_with(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> (Value, Option<i32>) {
        let output = self.output(words);
        let printed = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        (printed, output.status.code())
    }

    /// Runs modbox, and returns its exit status.
    pub(crate) fn status(&self, words: &[&str]) -> Option<i32> {
        self.output(words).status.code()
    }

    fn output(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
        let mut command = Command::new(self.at("modbox"));
        command.env_clear().env("HOME", self.at("home")).env("TMPDIR", self.at("tmp")).current_dir(self.at("home"));
        command.env("PATH", "/usr/bin:/bin").args(words);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let calls = if self.level == 2 { NO_MOUNTS } else { &[] };
        behind(calls, || command.output().unwrap())
    }

    /// Runs a command in a guest, and returns how it ended and the report.
    #[track_caller]
    pub(crate) fn command(&self, argv: &[&str], switches: &[&str]) -> (Value, Value) {
        let args = json!({"commands": [{"argv": argv}]}).to_string();
        let module = self.path("command.wasm");
        let words = [&["run", &module, "--output", "report", "--args", &args][..], switches].concat();
        let report = self.run(&words);
        (report["result"]["seen"][0].clone(), report)
    }

    /// Runs a module of the kind `want_json`, and returns the report.
    #[track_caller]
    pub(crate) fn module(&self, text: &str, switches: &[&str]) -> Value {
        let module = self.program("module", text);
        let report = self.run(&[&["run", module.to_str().unwrap(), "--output", "report"], switches].concat());
        assert_eq!(report["confinement"]["level"], self.level, "{report:#}");
        report
    }
}

fn listed<'a>(report: &'a Value, subject: &str) -> Option<&'a Value> {
    report["grants"].as_array().unwrap().iter().find(|grant| grant["subject"] == subject)
}

#[test]
fn a_granted_program_does_not_show_its_folder() {
    for place in Place::all() {
        let (program, secret) = (place.program("opt/app/bin/t", SHOW), place.path("opt/app/etc/pw"));
        let beside = place.write("opt/app/bin/conf", "secret");
        let program = program.display().to_string();
        let rule = format!("{program} *");
        for hidden in [&secret, beside.to_str().unwrap()] {
            let (seen, report) = place.command(&[&program, hidden], &["--allow-run", &rule]);
            assert_eq!((&seen["stdout"], &seen["end"]), (&json!(""), &json!(1)), "{seen} {report:#}");
        }
        let (seen, report) = place.command(
            &[&program, &place.path("data/file")],
            &["--allow-run", &rule, "--allow-read", &place.path("data")],
        );
        assert_eq!(seen["stdout"], "granted", "{seen}");
        // The grant itself names the program.
        assert_eq!(report["grants"].as_array().unwrap().len(), 2, "{report:#}");
    }
}

#[test]
fn a_granted_program_has_what_it_leads_to() {
    for place in Place::all() {
        place.program("store/show-1.2", &format!("#!{}\n", place.path("store/inner")));
        place.program("store/inner", "#!/bin/cat\n");
        symlink("../../../store/show-1.2", place.at("opt/app/bin/show")).unwrap();
        let program = place.path("opt/app/bin/show");
        let (seen, report) = place.command(&[&program], &["--allow-run", &program]);
        // `cat` prints the script that the kernel hands to it.
        assert_eq!(seen["stdout"].as_str().map(|text| text.starts_with("#!/bin/cat")), Some(true), "{seen} {report:#}");
        for needed in ["store/show-1.2", "store/inner"] {
            let listed = listed(&report, &place.path(needed)).unwrap_or_else(|| panic!("{needed}: {report:#}"));
            assert_eq!(listed["source"], format!("needed by {program}"));
        }
    }
}

#[test]
fn a_program_finds_its_own_libraries() {
    for place in Place::all() {
        let folder = place.at("opt/app");
        let c = |file: &str, text: &str| place.write(file, text).display().to_string();
        let cc = |words: &[&str]| assert!(Command::new("cc").args(words).status().unwrap().success(), "{words:?}");
        let inner = c("inner.c", "int inner(void) { return 42; }");
        let outer = c("outer.c", "int inner(void); int outer(void) { return inner(); }");
        let main =
            c("main.c", "#include <stdio.h>\nint outer(void); int main(void) { printf(\"%d\", outer()); return 0; }");
        fs::create_dir_all(folder.join("lib")).unwrap();
        fs::create_dir_all(folder.join("more")).unwrap();
        let library = format!("{}/lib/libouter.so", folder.display());
        let second = format!("{}/more/libinner.so", folder.display());
        cc(&["-shared", "-fPIC", "-o", &second, &inner]);
        cc(&["-shared", "-fPIC", "-o", &library, &outer, &second, "-Wl,-rpath,$ORIGIN/../more"]);
        let program = place.path("opt/app/bin/main");
        cc(&["-o", &program, &main, &library, "-Wl,-rpath,$ORIGIN/../lib", "-Wl,--allow-shlib-undefined"]);
        let (seen, report) = place.command(&[&program], &["--allow-run", &program]);
        assert_eq!(seen["stdout"], "42", "{seen} {report:#}");
        assert!(listed(&report, &library).is_some() && listed(&report, &second).is_some(), "{report:#}");
        // Who can replace a library decides what runs.
        let (seen, _) = place.command(&[&program], &["--allow-run", &program, "--allow-write", &second]);
        assert!(seen["failed"].as_str().unwrap().contains("could put another in its place"), "{seen}");
    }
}

#[test]
fn an_interpreter_that_a_script_names_must_not_be_the_modules() {
    for place in Place::all() {
        let interpreter = place.program("data/interpreter", "#!/bin/cat\n");
        symlink(place.at("data"), place.at("link")).unwrap();
        let script = place.program("opt/app/bin/s", &format!("#!{}\n", place.path("link/interpreter")));
        let outer = place.program("opt/app/bin/outer", &format!("#!{}\n", script.display()));
        let program = outer.display().to_string();
        let (seen, _) = place.command(&[&program], &["--allow-run", &program]);
        assert!(seen["stdout"].is_string() && seen["end"] == 0, "{seen}");
        for grant in [interpreter, place.at("data"), place.at("link")] {
            let (seen, _) =
                place.command(&[&program], &["--allow-run", &program, "--allow-write", grant.to_str().unwrap()]);
            assert!(
                seen["failed"].as_str().is_some_and(|text| text.contains("could put another in its place")),
                "{grant:?} {seen}"
            );
        }
    }
}

/// Makes an environment of Python whose interpreter is the system's.
fn environment(place: &Place, root: &str) -> PathBuf {
    let python = fs::canonicalize("/usr/bin/python3").unwrap();
    let version = python.file_name().unwrap().to_str().unwrap().to_owned();
    place.write(&format!("{root}/pyvenv.cfg"), "home = /usr/bin\ninclude-system-site-packages = false\n");
    place.write(&format!("{root}/lib/{version}/site-packages/own_package.py"), "WORD = 'from the environment'\n");
    place.write(&format!("{root}/etc/secret"), "secret");
    fs::create_dir_all(place.at(root).join("bin")).unwrap();
    symlink("/usr/bin/python3", place.at(root).join("bin/python")).unwrap();
    place.at(root).join("bin/python")
}

/// Imports from the environment, and tries to read a file beside it.
fn importing(secret: &Path) -> String {
    format!(
        "import own_package, sys\ntry:\n    open({secret:?}).read()\n    word = 'leaked'\nexcept OSError:\n    word = own_package.WORD\n"
    )
}

#[test]
fn a_tool_of_an_environment_of_python_has_its_packages() {
    for place in Place::all() {
        let python = environment(&place, "opt/venv");
        let text = importing(&place.at("opt/venv/etc/secret"));
        let tool = place.program("opt/venv/bin/tool", &format!("#!{}\n{text}print(word)\n", python.display()));
        let tool = tool.display().to_string();
        let (seen, report) = place.command(&[&tool], &["--allow-run", &tool]);
        assert_eq!(seen["stdout"], "from the environment\n", "{seen} {report:#}");
        let shown = place.run(&["policy", "show", "--json", "--allow-run", &tool]);
        for list in [&report, &shown] {
            let library = list["grants"].as_array().unwrap().iter().any(|grant| {
                grant["subject"].as_str().unwrap().contains("opt/venv/lib/python")
                    && grant["source"] == format!("needed by {tool}")
            });
            assert!(library, "{list:#}");
        }
    }
}

#[test]
fn an_interpreter_of_the_operators_shows_its_libraries_alone() {
    for place in Place::all() {
        let python = environment(&place, "opt/venv");
        let text = importing(&place.at("opt/venv/etc/secret"));
        let text = format!("#!/usr/bin/python\n# WANT_JSON\n{text}print('{{\"word\": \"%s\"}}' % word)\n");
        let switch = format!("python={}", python.display());
        let report = place.module(&text, &["--interpreter", &switch]);
        assert_eq!(report["result"]["word"], "from the environment", "{report:#}");
        assert!(listed(&report, &place.path("opt/venv/pyvenv.cfg")).is_some(), "{report:#}");
        let shown = place.run(&["policy", "show", "--json", "--interpreter", &switch]);
        assert!(listed(&shown, &place.path("opt/venv/pyvenv.cfg")).is_some(), "{shown:#}");
        // A module that may change the environment does not choose what is shown.
        fs::remove_file(&python).unwrap();
        symlink(place.at("opt/app/etc/pw"), &python).unwrap();
        let report = place.module(&text, &["--interpreter", &switch, "--allow-write", &place.path("opt/venv")]);
        assert!(listed(&report, &place.path("opt/app/etc/pw")).is_none(), "{report:#}");
        assert!(report["notes"].to_string().contains("nothing more is shown"), "{report:#}");
    }
}

#[test]
fn an_interpreter_elsewhere_shows_nothing_beside_it() {
    for place in Place::all() {
        let interpreter = place.program("opt/app/bin/lang", "#!/bin/sh\nshift 0\n. \"$1\"\n");
        let secret = place.path("opt/app/etc/pw");
        let text = format!(
            "#!/usr/bin/lang\n# WANT_JSON\ncat {secret} >&2 && word=leaked\necho \"{{\\\"word\\\": \\\"$word\\\"}}\"\n"
        );
        let report = place.module(&text, &["--interpreter", &format!("lang={}", interpreter.display())]);
        assert_eq!(report["result"]["word"], "", "{report:#}");
        assert!(listed(&report, interpreter.to_str().unwrap()).is_some(), "{report:#}");
    }
}
