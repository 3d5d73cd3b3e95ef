//! modbox assembles Python modules as ansible-core does: the same files with the same bytes, for the modules of three
//! releases and for modules with every form of import.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::sample::{Random, cases, sample};
use crate::support::{Modbox, TestDir, fixture, oracle};

/// Number of modules in a sample: of the seventy of a current release, and of the three thousand of 2.9.
const MODULES: usize = 12;

/// Number of modules with made imports, in an ordinary run and in a whole one.
const MADE: (usize, usize) = (16, 200);

/// Files whose content differs between the two sides.
const OWN_WORDS: [&str; 2] = ["ansible/__init__.py", "ansible/module_utils/__init__.py"];

/// A question to the oracle.
pub(crate) struct Case {
    name: String,
    path: PathBuf,
    /// The files that modbox packed; `None` if it refused the module.
    assembled: Option<PathBuf>,
}

impl Case {
    pub(crate) fn new(dir: &TestDir, path: &Path, python: &Path, options: &[&str]) -> Self {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let assembled = dir.join(&format!("assembled-{name}"));
        let ran = Modbox::new(dir).args(["assemble", "--interpreter"]).arg(python).args(options);
        let ran = ran.arg("--output").arg(&assembled).arg(path).run();
        let refused = ran.status.code() == Some(3);
        assert!(refused || ran.status.success(), "{ran}");
        Self { name, path: path.to_owned(), assembled: (!refused).then_some(assembled) }
    }
}

/// Packs the same modules with ansible-core, and compares. Returns the number of modules that both packed.
#[track_caller]
pub(crate) fn compare(dir: &TestDir, python: &Path, before: Option<&Path>, cases: &[Case]) -> usize {
    let mut filter = Command::new(python)
        .arg(fixture("oracle/payload.py"))
        .args(before)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", dir.join("home"))
        .env("ANSIBLE_COLLECTIONS_PATH", dir.join("collections"))
        .env("ANSIBLE_MODULE_UTILS", dir.join("module_utils"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the oracle starts");
    let question = |case: &Case| json!({"name": case.name, "path": case.path, "assembled": case.assembled});
    let lines: String = cases.iter().map(|case| question(case).to_string() + "\n").collect();
    let mut stdin = filter.stdin.take().expect("it is piped");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = filter.wait_with_output().expect("the oracle ends");
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers: Vec<Value> =
        output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(answers.len(), cases.len());
    let (mut wrong, mut packed) = (String::new(), 0);
    for (case, answer) in cases.iter().zip(&answers) {
        let names = |key: &str| -> BTreeSet<&str> {
            answer[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
        };
        let (theirs, ours, same) = (names("files"), names("ours"), names("same"));
        let same: BTreeSet<&str> = same.into_iter().chain(OWN_WORDS).collect();
        match (&answer["error"], &case.assembled) {
            (Value::Null, Some(_)) if theirs == ours && theirs.is_subset(&same) => packed += 1,
            (Value::String(_), None) => {}
            _ => {
                let (missing, extra) = (theirs.difference(&ours), ours.difference(&theirs));
                let text = std::fs::read_to_string(&case.path).unwrap_or_default();
                let head: String = text.chars().take(600).collect();
                wrong += &format!(
                    "{}: {} missing {:?}, too many {:?}, different {:?}\n{head}\n",
                    case.path.display(),
                    answer["error"],
                    missing.collect::<Vec<_>>(),
                    extra.collect::<Vec<_>>(),
                    theirs.difference(&same).collect::<Vec<_>>(),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    packed
}

/// Returns all modules in a folder and its subfolders.
fn modules(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_module =
                path.extension().is_some_and(|extension| extension == "py") && !path.ends_with("__init__.py");
            if path.is_dir() {
                pending.push(path);
            } else if is_module {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The package `ansible` of an environment.
pub(crate) fn package(python: &Path) -> PathBuf {
    let lib = python.ancestors().nth(2).unwrap().join("lib");
    let versions = std::fs::read_dir(&lib).unwrap().map(|entry| entry.unwrap().path());
    let mut packages = versions.map(|version| version.join("site-packages/ansible"));
    packages.find(|package| package.is_dir()).unwrap_or_else(|| panic!("there is no ansible in {}", lib.display()))
}

fn check_all(python: &Path) {
    let dir = TestDir::new();
    let paths = modules(&package(python).join("modules"));
    assert!(paths.len() > 60, "only {} modules", paths.len());
    let paths = sample(paths, MODULES);
    let cases: Vec<Case> = paths.iter().map(|path| Case::new(&dir, path, python, &[])).collect();
    assert_eq!(compare(&dir, python, None, &cases), paths.len());
}

#[test]
fn modules_of_ansible_core_are_packed_as_ansible_packs_them() {
    check_all(&oracle::python());
}

#[test]
fn modules_of_older_releases_are_packed_as_they_pack_them() {
    for version in sample(vec![oracle::EARLIER, oracle::SETTLED], 1) {
        check_all(&oracle::python_of(version));
    }
}

#[test]
fn modules_of_the_next_release_are_packed_as_it_packs_them() {
    oracle::warn_about_next(|version| check_all(&oracle::python_of(version)));
}

#[test]
fn modules_of_2_9_are_packed_as_it_packs_them() {
    let dir = TestDir::new();
    let (python, lib) = (oracle::python_of(oracle::EARLIER), oracle::legacy());
    let paths = modules(&lib.join("ansible/modules"));
    let paths = sample(paths, MODULES);
    let cases: Vec<Case> = paths.iter().map(|path| Case::new(&dir, path, &python, &[])).collect();
    assert!(cases.len() >= MODULES, "only {} modules", cases.len());
    assert_eq!(compare(&dir, &python, Some(&lib), &cases), cases.len());
}

/// Creates utilities in two collections and beside a playbook, with every kind of file that an import may pass through.
fn utilities(dir: &TestDir) {
    let of = |collection: &str, path: &str| format!("collections/ansible_collections/{collection}/{path}");
    for collection in ["n/c", "o/d"] {
        dir.write(&of(collection, "galaxy.yml"), "");
    }
    let utils = [
        ("n/c", "a.py", "from .p import thing\nfrom ansible.module_utils.common.text.converters import to_text\n"),
        ("n/c", "p/__init__.py", "from . import b\nfrom .b import thing\nfrom ..q import other\n"),
        (
            "n/c",
            "p/b.py",
            "from ...module_utils.q import thing\ntry:\n    from .nowhere import x\nexcept ImportError:\n    x = 1\n",
        ),
        ("n/c", "q.py", "thing = other = 1\n"),
        // Folders without an `__init__.py`, one of them beside a module of its name.
        ("n/c", "r/inner.py", "from ..a import thing\nother = 1\n"),
        ("n/c", "s/inner/deep.py", "thing = 1\n"),
        ("n/c", "s.py", "thing = other = 1\n"),
        ("o/d", "e.py", "from ansible_collections.n.c.plugins.module_utils.q import thing\nother = 2\n"),
        ("o/d", "__init__.py", ""),
    ];
    for (collection, path, text) in utils {
        dir.write(&of(collection, &format!("plugins/module_utils/{path}")), text);
    }
    dir.write(
        &of("n/c", "meta/runtime.yml"),
        "plugin_routing:\n  module_utils:\n    moved: {redirect: n.c.a}\n    gone.away: {redirect: o.d.e}\n    \
         q2: {redirect: ansible_collections.o.d.plugins.module_utils.e}\n    lost: {redirect: n.c.nowhere}\n",
    );
    dir.write("module_utils/own.py", "from ansible.module_utils.ownpackage import x\nthing = 1\n");
    dir.write("module_utils/ownpackage/__init__.py", "from .deep import x\n");
    dir.write("module_utils/ownpackage/deep.py", "x = 1\n");
}

const CORE_NAMES: [&str; 8] = [
    "basic",
    "urls",
    "six.moves.urllib.parse",
    "common.text.converters",
    "facts.system.distribution",
    "own",
    "ownpackage.deep",
    "nowhere",
];

const COLLECTION_NAMES: [&str; 14] = [
    "a",
    "p",
    "p.b",
    "q",
    "r",
    "r.inner",
    "s",
    "s.inner",
    "s.inner.deep",
    "moved",
    "gone.away",
    "q2",
    "lost",
    "nowhere",
];

const FORMS: [&str; 10] = [
    "import ansible.module_utils.{core}",
    "import ansible.module_utils.{core} as x, os, ansible.module_utils.urls",
    "from ansible.module_utils.{core} import thing",
    "from ansible.module_utils.{core} import (\n{indent}    thing,\n{indent}    other as y,\n{indent})",
    "from ansible.module_utils import urls, facts",
    "from ..module_utils.{util} import thing",
    "from ..module_utils import {first}",
    "from ansible_collections.n.c.plugins.module_utils.{util} import thing, other",
    "import ansible_collections.n.c.plugins.module_utils.{util} as z",
    "from ansible_collections.o.d.plugins.module_utils.e import thing",
];

const PLACES: [(&str, &str); 6] = [
    ("", ""),
    ("", ""),
    ("try:\n    ", "\nexcept ImportError:\n    pass"),
    ("def f():\n    ", ""),
    ("class A(object):\n    if True:\n        ", ""),
    ("if __name__ == '__main__':\n    pass\nelse:\n    ", ""),
];

fn generated(random: &mut Random) -> String {
    let mut text = "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\n".to_owned();
    for _ in 0..*random.pick(&[1, 2, 4]) {
        let util = *random.pick(&COLLECTION_NAMES);
        let (before, after) = *random.pick(&PLACES);
        let indent: String = before.chars().rev().take_while(|c| *c == ' ').collect();
        let (form, core) = (*random.pick(&FORMS), *random.pick(&CORE_NAMES));
        let form = form.replace("{core}", core).replace("{util}", util);
        let form = form.replace("{first}", util.split('.').next().unwrap()).replace("{indent}", &indent);
        text += &format!("{before}{form}{after}\n");
    }
    text
}

#[test]
fn every_form_of_import_is_packed_as_ansible_packs_it() {
    let dir = TestDir::new();
    utilities(&dir);
    let python = oracle::python();
    let mut random = Random::new(0x2545_f491_4f6c_dd1d);
    let (utils, collections) = (dir.join("module_utils"), dir.join("collections"));
    let options = ["--module-utils", utils.to_str().unwrap(), "--module-utils", collections.to_str().unwrap()];
    let case = |number: usize| {
        // Relative imports resolve only inside the collection.
        let folder = ["collections/ansible_collections/n/c/plugins/modules", "library"][number % 4 / 3];
        let mut text = generated(&mut random);
        if folder == "library" {
            text = text.replace("from ..module_utils", "from ansible_collections.n.c.plugins.module_utils");
        }
        Case::new(&dir, &dir.write(&format!("{folder}/m{number}.py"), text), &python, &options)
    };
    let cases: Vec<Case> = (0..cases(MADE.0, MADE.1)).map(case).collect();
    let refused = cases.iter().filter(|case| case.assembled.is_none()).count();
    assert!(refused > 1, "some import what is nowhere: {refused}");
    let packed = compare(&dir, &python, None, &cases);
    assert!(packed > 5 && packed + refused == cases.len(), "{packed} packed, {refused} refused");
}
