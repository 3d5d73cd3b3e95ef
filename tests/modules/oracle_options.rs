//! The options of modbox's components are those that ansible-core documents for its modules of the same names: types, defaults,
//! choices, aliases. `oracle/options.tsv` has the differences, each with its reason.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{Modbox, TestDir, fixture, module, oracle, repository};

/// `setup` has a part of the facts, and does not stand for Ansible's.
const LEFT_OUT: [&str; 1] = ["setup"];

#[test]
fn options_of_components_are_those_of_ansibles_modules() {
    let dir = TestDir::new();
    let library = dir.mkdir("library");
    let modules = fs::read_dir(repository().join("modules")).unwrap().map(|entry| entry.unwrap());
    let modules = modules.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap());
    let names: BTreeSet<String> = modules.filter(|name| !LEFT_OUT.contains(&name.as_str())).collect();
    for name in &names {
        fs::copy(module(name), library.join(format!("{name}.wasm"))).unwrap();
    }
    let proven = fs::read_to_string(repository().join("runner/src/cli/play/task_modules/proven.tsv")).unwrap();
    let proven = proven.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').next().unwrap());
    assert!(proven.into_iter().all(|name| names.contains(name)), "{names:?}");
    let ran = Modbox::of(&oracle::python(), &dir)
        .own_cache(&dir)
        .arg(fixture("oracle/options.py"))
        .args(["--modbox", env!("CARGO_BIN_EXE_modbox"), "--library"])
        .arg(library)
        .arg("--collections")
        .arg(oracle::collections())
        .arg("--home")
        .arg(dir.mkdir("home"))
        .args(names)
        .run();
    let text = ran.exits_with(0).stdout_text();
    let count: usize = text.split(' ').next().unwrap().parse().unwrap();
    assert!(count > 250, "{text}");
    dir.assert_nothing_left();
}
