//! `modbox python`: what is built, tested and kept, and what a failure leaves. A stand-in takes the place of
//! componentize-py; `guest-sdk/python-host/tests` and the oracle test what the real one makes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Modbox, TestDir, printing_module, repository, wait_for};

/// Makes a Python with an ansible-core beside it, and returns its path.
fn python(dir: &TestDir) -> PathBuf {
    let package = "venv/lib/python3.9/site-packages/ansible";
    dir.write(&format!("{package}/release.py"), "__version__ = '2.19.1'\n__author__ = 'A'\n");
    dir.write(&format!("{package}/module_utils/basic.py"), "");
    let python = dir.mkdir("venv/bin").join("python3");
    symlink("/usr/bin/python3", &python).unwrap();
    python
}

/// Makes a module that says what an interpreter says about itself.
fn interpreter(dir: &TestDir, release: &str) -> PathBuf {
    let said = format!(
        r#"{{"python": "3.14.0", "release": "{release}", "modules": [], "names": {{}}, "not_imported": {{}}}}"#
    );
    printing_module(dir, "interpreter.wasm", &said)
}

/// Prepares an installation with a script in the place of componentize-py.
fn install(dir: &TestDir, python: &PathBuf, script: &str) -> Modbox {
    let tool = dir.write_executable("componentize-py", format!("#!/bin/sh\n{script}\n"));
    let install = Modbox::new(dir).own_cache(dir).args(["python", "install", "--interpreter"]).arg(python);
    install.arg("--componentize").arg(tool)
}

/// The script that writes this file as the component.
fn writes(wasm: &Path) -> String {
    format!("while [ \"$1\" != -o ]; do shift; done; cp '{}' \"$2\"", wasm.display())
}

fn kept(dir: &TestDir) -> Vec<PathBuf> {
    let all = fs::read_dir(dir.join("home/.cache/modbox/interpreters")).into_iter().flatten().flatten();
    all.map(|entry| entry.path()).filter(|path| !path.ends_with("locks")).collect()
}

#[test]
fn an_interpreter_is_installed_listed_and_removed() {
    let dir = TestDir::new();
    let (python, wasm) = (python(&dir), interpreter(&dir, "2.19.1"));
    let list = || Modbox::new(&dir).own_cache(&dir).args(["python", "list"]).run().exits_with(0).stdout_text();
    assert_eq!(list(), "");
    let said = install(&dir, &python, &writes(&wasm)).run().exits_with(0).stdout_text();
    assert!(
        said.contains("  ansible-core 2.19.1  CPython 3.14.0  ") && said.contains("is installed; it took"),
        "{said}"
    );
    assert!(list().contains("ansible-core 2.19.1") && !list().contains("stale"), "{}", list());
    dir.write("venv/lib/python3.9/site-packages/ansible/module_utils/new.py", "");
    assert!(list().contains("stale: `modbox python install`"), "{}", list());
    fs::remove_file(dir.join("venv/lib/python3.9/site-packages/ansible/module_utils/new.py")).unwrap();
    let again = install(&dir, &python, "exit 1").run().exits_with(3);
    assert!(
        again.stderr_text().contains("failed to build"),
        "another componentize-py makes another interpreter: {again}"
    );
    let again = install(&dir, &python, &writes(&wasm)).run().exits_with(0).stdout_text();
    assert!(again.contains("is installed already"), "{again}");
    let key = again.split_whitespace().next().unwrap().to_owned();
    let remove = |key: &str| Modbox::new(&dir).own_cache(&dir).args(["python", "remove", key]).run();
    assert!(remove("nothing").exits_with(3).stderr_text().contains("unknown interpreter `nothing`"));
    assert!(remove(&key).exits_with(0).stdout_text().contains(&format!("removed {key}")));
    assert_eq!((list(), kept(&dir)), (String::new(), Vec::new()));
}

#[test]
fn collections_are_a_part_of_an_interpreter() {
    let dir = TestDir::new();
    let (python, wasm) = (python(&dir), interpreter(&dir, "2.19.1"));
    let own = "venv/lib/python3.9/site-packages/ansible_collections/acme/web";
    dir.write(&format!("{own}/MANIFEST.json"), r#"{"collection_info": {"version": "1.2.0"}}"#);
    let utility = dir.write(&format!("{own}/plugins/module_utils/deep/pages.py"), "");
    dir.mkdir("venv/lib/python3.9/site-packages/ansible_collections/acme/empty");
    // The last argument of componentize-py is the folder of what it imports.
    let laid = dir.join("laid");
    let with = |names: &[&str]| {
        let list = format!("for last; do :; done; ls -R \"$last\" >'{}'; {}", laid.display(), writes(&wasm));
        let words = names.iter().flat_map(|name| ["--with", *name]);
        install(&dir, &python, &list).args(words).run()
    };
    let alone = with(&[]).exits_with(0).stdout_text();
    let both = with(&["acme.web", "acme.web"]).exits_with(0).stdout_text();
    assert!(both.contains("  ansible-core 2.19.1  acme.web 1.2.0  CPython"), "{both}");
    assert!(fs::read_to_string(&laid).unwrap().contains("acme/web/plugins/module_utils/deep:\npages.py"));
    assert_ne!(alone.split(' ').next(), both.split(' ').next(), "the key is another one");
    let list = || Modbox::new(&dir).own_cache(&dir).args(["python", "list"]).run().exits_with(0).stdout_text();
    assert!(!list().contains("stale"), "{}", list());
    fs::write(utility, "changed = True\n").unwrap();
    assert_eq!(list().lines().filter(|line| line.contains("stale")).count(), 1, "{}", list());
    for (name, status, message) in [
        ("acme", 2, "write a namespace and a name"),
        ("acme.Web", 2, "`Web` cannot be a part of a collection's name"),
        ("acme.empty", 2, "share nothing"),
        ("acme.none", 3, "`ansible-galaxy collection install acme.none` installs it"),
    ] {
        let refused = with(&[name]).exits_with(status);
        assert!(refused.stderr_text().contains(message), "{refused}");
    }
    assert_eq!(kept(&dir).len(), 2);
}

#[test]
fn a_failure_is_told_and_leaves_nothing() {
    let dir = TestDir::new();
    let python = python(&dir);
    let other = interpreter(&dir, "2.18.0");
    let text = dir.write("text", "not wasm");
    for (script, told) in [
        ("echo 'failed to preload `ansible.module_utils.basic`: why' >&2; exit 1".to_owned(), "failed to preload"),
        ("exit 0".to_owned(), "failed to build the interpreter"),
        ("kill -9 $$".to_owned(), "failed to build the interpreter"),
        (writes(&text), "interpreter"),
        (writes(&other), "the interpreter has ansible-core 2.18.0, and not 2.19.1"),
        (writes(&crate::support::small_module(&dir, "small.wasm")), "failed to run the interpreter"),
    ] {
        let ran = install(&dir, &python, &script).run().exits_with(3);
        assert!(ran.stderr_text().contains(told), "{script}: {ran}");
        assert_eq!(ran.stdout_text(), "", "{script}");
        assert_eq!(kept(&dir), Vec::<PathBuf>::new(), "{script}");
    }
}

#[test]
fn a_signal_leaves_nothing() {
    let dir = TestDir::new();
    let python = python(&dir);
    let started = dir.join("started");
    // As the real one does, it leaves its temporary files when it is killed.
    let script =
        format!("made=$(mktemp -d) && echo x > \"$made/file\" && echo \"$made\" > '{}'; sleep 60", started.display());
    let running = install(&dir, &python, &script).spawn();
    let temporary = || fs::read_to_string(&started).unwrap_or_default();
    assert!(wait_for(std::time::Duration::from_secs(60), || temporary().ends_with('\n')));
    assert!(Path::new(temporary().trim()).starts_with(dir.join("tmp")));
    running.signal(rustix::process::Signal::TERM);
    running.wait().dies_of(rustix::process::Signal::TERM);
    assert_eq!(kept(&dir), Vec::<PathBuf>::new());
    dir.assert_nothing_left();
}

#[test]
fn what_is_missing_is_named_with_its_remedy() {
    let dir = TestDir::new();
    let python = python(&dir);
    let install = Modbox::new(&dir).own_cache(&dir).args(["python", "install", "--interpreter"]).arg(&python);
    let ran = install.env("PATH", dir.mkdir("empty")).run().exits_with(3);
    assert!(ran.stderr_text().contains("failed to find componentize-py: run `pip install componentize-py`"), "{ran}");
}

#[test]
fn the_part_in_python_passes_its_own_tests() {
    let folder = repository().join("guest-sdk/python-host");
    let mut tests = Command::new("python3");
    tests.args(["-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."]).current_dir(folder);
    let ran = tests.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
