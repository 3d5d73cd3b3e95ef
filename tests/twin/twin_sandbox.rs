//! Which Python modules `--python auto` runs in the sandbox: those of `proven.tsv`, in which the twin test of tasks finds nothing.
//!
//! The twin runs random tasks by ansible-core and in the sandbox; `twin/sandbox_modules.tsv` has the known differences. The list
//! is held to that table, and to the sources of the modules: `BLESS=1` writes their digests anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use regex::Regex;
use serde_json::Value;

use crate::python::oracle_python_places::{INSTALLED, Installed, SETTLED, modbox};
use crate::python::python_closure::package;
use crate::support::{RunOutput, TestDir, oracle, repository};
use crate::twin::twin_modules::{faulty, generated};
use crate::twin::twin_runs::TwinRun;

/// Number of random cases of an ordinary run and of a whole one. Each is run with two forms of grants.
const CASES: (usize, usize) = (40, 50_000);

/// The same for the earlier release in the list, of which less is new.
const EARLIER_CASES: (usize, usize) = (30, 20_000);

/// Why a module runs natively that is not in the list.
const UNPROVEN: &str = "is not proven to do the same in the sandbox";

fn list() -> PathBuf {
    repository().join("runner/run/src/python/guest/proven.tsv")
}

/// Returns the modules of the list, with their releases and identities.
fn listed() -> Vec<[String; 3]> {
    let text = fs::read_to_string(list()).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap()).collect()
}

/// Starts a module with an option that it does not have.
fn start(module: &str, words: &[&str]) -> RunOutput {
    start_by(&INSTALLED, module, words)
}

fn start_by(installed: &Installed, module: &str, words: &[&str]) -> RunOutput {
    let run = modbox(&installed.python, &installed.dir).args(["run", "--log", "debug", "--allow-run", "true"]).report();
    run.arg("--collections-path").arg(oracle::collections()).args(words).args([module, "no_such_option=1"]).run()
}

fn place(ran: &RunOutput) -> (String, String) {
    let report = ran.json();
    let text = |key: &str| report["python"][key].as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    (text("place"), text("reason"))
}

#[test]
fn tasks_in_the_sandbox_do_what_ansibles_do() {
    let script = "oracle/twin_modules/run.py";
    TwinRun { script, python: &INSTALLED.python, cache: &INSTALLED.dir, cases: CASES, user: None, all_rows: true }
        .of_tasks("sandbox", None);
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn tasks_of_an_earlier_release_in_the_sandbox_do_what_its_own_do() {
    let script = "oracle/twin_modules/run.py";
    TwinRun { script, python: &SETTLED.python, cache: &SETTLED.dir, cases: EARLIER_CASES, user: None, all_rows: false }
        .of_tasks("sandbox", None);
}

#[test]
fn proven_modules_are_in_the_twin_and_have_no_fault_of_their_own() {
    let proven: BTreeSet<String> =
        listed().into_iter().map(|[name, _, _]| name.rsplit('.').next().unwrap().to_owned()).collect();
    assert!(!proven.is_empty() && proven.is_subset(&generated()), "{proven:?}");
    let faulty = faulty("sandbox_modules.tsv");
    assert!(proven.is_disjoint(&faulty), "{proven:?} and {faulty:?}");
}

#[test]
fn proven_modules_are_those_that_the_twin_runs() {
    let releases = [oracle::version(), oracle::SETTLED];
    for [name, release, _] in listed() {
        let is_known = releases.contains(&release.as_str()) || !oracle::is_testable(&release);
        assert!(is_known, "the twin does not run {name} of {release}");
    }
    are_those_of(&INSTALLED, oracle::version());
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn proven_modules_of_an_earlier_release_are_those_that_the_twin_runs() {
    are_those_of(&SETTLED, oracle::SETTLED);
}

/// Compares the modules of one release in the list with those of its interpreter. With `BLESS=1`, one release after the other.
fn are_those_of(installed: &Installed, version: &str) {
    static LIST: Mutex<()> = Mutex::new(());
    let _list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let identity = Regex::new("identity=\"([0-9a-f]{64})\"").unwrap();
    let mut text = fs::read_to_string(list()).unwrap();
    for [name, release, proven] in listed().into_iter().filter(|[_, release, _]| release == version) {
        let ran = start_by(installed, &name, &[]);
        let stderr = ran.stderr_text();
        let found = identity.captures(&stderr).unwrap_or_else(|| panic!("{stderr}"))[1].to_owned();
        if std::env::var_os("BLESS").is_some() {
            text = text.replace(&format!("{name}\t{release}\t{proven}"), &format!("{name}\t{release}\t{found}"));
            continue;
        }
        assert_eq!(
            proven, found,
            "{name} of {release} is another module than the proven one; BLESS=1 writes its digest"
        );
        assert_eq!(place(&ran).0, "wasm", "{name} of {release}: {}", ran.json());
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(list(), text).unwrap();
    }
}

#[test]
fn a_module_is_proven_by_its_sources_and_not_by_its_name() {
    let dir = TestDir::new();
    let own = package(&INSTALLED.python).join("modules/stat.py");
    let run = |module: &PathBuf, words: &[&str]| place(&start(module.to_str().unwrap(), words));
    assert_eq!(run(&own, &[]).0, "wasm");
    // In another folder, the same text is another module.
    let copy = dir.join("stat.py");
    fs::copy(&own, &copy).unwrap();
    let uri = package(&INSTALLED.python).join("modules/uri.py");
    for found in [run(&copy, &[]), run(&uri, &[])] {
        assert_eq!(found.0, "native");
        assert!(found.1.contains(UNPROVEN) && found.1.contains("`--python wasm`"), "{}", found.1);
    }
    assert_eq!(run(&copy, &["--python", "wasm"]).0, "wasm");
    // Another utility makes another module.
    let utility = dir.write(
        "utilities/basic.py",
        fs::read_to_string(package(&INSTALLED.python).join("module_utils/basic.py")).unwrap() + "\n# changed\n",
    );
    let utilities = utility.parent().unwrap().to_str().unwrap();
    let found = run(&own, &["--module-utils", utilities]);
    assert!(found.0 == "native" && found.1.contains("another `ansible/module_utils/basic.py`"), "{found:?}");
}

#[test]
fn a_proven_module_runs_natively_where_the_sandbox_lacks_something() {
    let report = |words: &[&str]| -> Value {
        let run = modbox(&INSTALLED.python, &INSTALLED.dir).args(["run", "--check"]).report();
        run.args(["ansible.builtin.stat", "path=/etc/passwd", "get_mime=no"]).args(words).run().exits_with(0).json()
    };
    let plain = report(&["get_attributes=no"]);
    assert_eq!(plain["python"]["place"], "wasm", "{plain}");
    let commands = report(&[]);
    assert_eq!(commands["python"]["place"], "native", "{commands}");
    assert!(commands["python"]["reason"].as_str().unwrap().contains("the policy allows none"), "{commands}");
    assert_eq!(report(&["--allow-run", "lsattr *"])["python"]["place"], "wasm");
}
