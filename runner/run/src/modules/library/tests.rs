//! Names against folders and collections of their own making.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::python::{CollectionPaths, PythonConfig};

struct Case {
    dir: tempfile::TempDir,
}

impl Case {
    /// Makes files; a path below `c/` is one of the collection `n.c` in the first folder.
    fn new(files: &[(&str, &str)]) -> Self {
        let case = Self { dir: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let path = case.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        case
    }

    fn path(&self, path: &str) -> PathBuf {
        let path = path
            .strip_prefix("c/")
            .map_or_else(|| path.to_owned(), |below| format!("first/ansible_collections/n/c/{below}"));
        self.dir.path().join(path)
    }

    fn find(&self, name: &str) -> Result<Located, LookupError> {
        let folders = ["first", "second"].map(|folder| self.path(folder));
        let collections = CollectionPaths { variable: Some(folders.to_vec()), ..CollectionPaths::default() };
        let module_utils = vec![self.path("core/ansible/module_utils")];
        let python = PythonConfig { collections, module_utils, ..PythonConfig::default() };
        let library = [self.path("library"), self.path("more")].to_vec();
        let folders = vec![Place { origin: "--module-path", absent: "none", folders: library }];
        Library { folders, own: |_| None, python: &python, interpreter: None, directory: self.dir.path() }
            .find(Path::new(name))
    }

    #[track_caller]
    fn finds(&self, name: &str, path: &str, full: &str) -> FoundModule {
        let Located::File(found) = self.find(name).unwrap() else { panic!("{name} is not a file") };
        assert_eq!((found.path.clone(), found.name.as_str()), (self.path(path), full), "{name}");
        found
    }

    #[track_caller]
    fn fails(&self, name: &str, with: &str) {
        let error = self.find(name).unwrap_err().to_string();
        assert!(error.contains(with), "{name}: {error}");
    }
}

/// Files of an ansible-core.
const CORE: [(&str, &str); 5] = [
    ("core/ansible/release.py", "__version__ = '2.19.0'"),
    ("core/ansible/module_utils/basic.py", ""),
    ("core/ansible/modules/ping.py", ""),
    ("core/ansible/modules/copy.py", ""),
    (
        "core/ansible/config/ansible_builtin_runtime.yml",
        "plugin_routing: {modules: {moved: {redirect: n.c.m}, gone: {redirect: x.y.z}, old: {tombstone: {warning_text: 'Use ping.'}}}}",
    ),
];

#[test]
fn plain_names_are_looked_up_folder_by_folder() {
    let files = [
        "library/both.md",
        "library/b.yml",
        "library/a.wasm~",
        "more/both.wasm",
        "more/both.py",
        "more/b",
        "more/dot.ted.py",
    ];
    let case = Case::new(&files.map(|file| (file, "")));
    for (name, file, expect) in
        [("both", "more/both.py", "both"), ("both.wasm", "more/both.wasm", "both"), ("b", "more/b", "b")]
    {
        assert_eq!(case.finds(name, file, expect).task_name, expect);
    }
    case.finds("dot.ted", "more/dot.ted.py", "dot.ted");
    assert_eq!(case.finds("ansible.legacy.b", "more/b", "b").task_name, "ansible.legacy.b");
    for name in ["a", "ansible.legacy.a", "a.b"] {
        case.fails(name, "and nothing of that name in --module-path (`");
    }
}

#[test]
fn what_lies_beside_a_component_is_passed_over() {
    let mut files = vec![("library/m.wasm", ""), ("c/plugins/modules/m.wasm", "")];
    let beside = ["m.d", "m.json", "m.lock", "m.sig", "m.toml", "m.wasm.sig", "only.d", "only.sig"];
    let (library, collection) =
        (beside.map(|name| format!("library/{name}")), beside.map(|name| format!("c/plugins/modules/{name}")));
    files.extend(library.iter().chain(&collection).map(|path| (path.as_str(), "")));
    let case = Case::new(&files);
    case.finds("m", "library/m.wasm", "m");
    case.finds("m.wasm", "library/m.wasm", "m");
    case.finds("n.c.m", "c/plugins/modules/m.wasm", "n.c.m");
    case.fails("only", "nothing of that name in --module-path");
    case.fails("n.c.only", "no module `n.c.only`");
}

#[test]
fn plain_names_lead_to_ansible_core_last() {
    let case = Case::new(&[&CORE[..], &[("library/copy.py", ""), ("c/plugins/modules/m.py", "")]].concat());
    case.finds("copy", "library/copy.py", "copy");
    case.finds("ansible.legacy.copy", "library/copy.py", "copy");
    case.finds("ansible.builtin.copy", "core/ansible/modules/copy.py", "ansible.builtin.copy");
    for name in ["ping", "ansible.legacy.ping", "ansible.builtin.ping"] {
        let found = case.finds(name, "core/ansible/modules/ping.py", "ansible.builtin.ping");
        assert_eq!(found.task_name, name);
    }
    assert_eq!(case.finds("moved", "c/plugins/modules/m.py", "n.c.m").task_name, "moved");
    case.fails("gone", "there is no module `gone`, which is `x.y.z`: no collection `x.y` in");
    case.fails("old", "the module `old`, which is `ansible.builtin.old` was removed: Use ping.");
    case.fails("nothing", "ansible-core (`");
    case.fails("ansible.builtin.nothing", "nothing of that name in `");
}

#[test]
fn full_names_are_looked_up_in_their_collection_alone() {
    let case = Case::new(&[
        ("c/plugins/modules/m.py", ""),
        ("c/plugins/modules/m.ps1", ""),
        ("c/plugins/modules/m.md", ""),
        ("c/plugins/modules/plain", ""),
        ("c/plugins/modules/sub/deep/m.py", ""),
        ("c/plugins/modules/__init__.py", ""),
        ("second/ansible_collections/n/c/plugins/modules/hidden.py", ""),
        ("second/ansible_collections/n/d/plugins/modules/seen.py", ""),
        ("library/n.c.m.py", ""),
        ("library/n.x.dots.py", ""),
    ]);
    case.finds("n.c.m", "c/plugins/modules/m.ps1", "n.c.m");
    case.finds("n.c.plain", "c/plugins/modules/plain", "n.c.plain");
    case.finds("n.c.sub.deep.m", "c/plugins/modules/sub/deep/m.py", "n.c.sub.deep.m");
    case.finds("n.d.seen", "second/ansible_collections/n/d/plugins/modules/seen.py", "n.d.seen");
    // Names of files outside of collections may have dots.
    case.finds("n.x.dots.py", "library/n.x.dots.py", "n.x.dots");
    let modules = case.path("c/plugins/modules");
    for name in ["n.c.hidden", "n.c.sub", "n.c.__init__", "n.c.m.py"] {
        case.fails(name, &format!("there is no module `{name}`: nothing of that name in `{}", modules.display()));
    }
    case.fails("x.y.z", "no collection `x.y` in --module-utils (`");
    case.fails("x.y.z", "`ansible-galaxy collection install x.y`");
}

#[test]
fn redirects_are_followed_to_their_end() {
    let runtime = "plugin_routing:\n  modules:\n    a: {redirect: n.c.b}\n    b: {redirect: n.d.m, deprecation: {warning_text: use n.d.m, removal_version: 2.0.0}}\n    \
                   sub.a: {redirect: n.c.m}\n    gone: {tombstone: {warning_text: Use m., removal_version: 1.0.0}}\n    to_gone: {redirect: n.c.gone}\n    \
                   loop: {redirect: n.c.pool}\n    pool: {redirect: n.c.loop}\n    plain: {redirect: m}\n    legacy: {redirect: ansible.legacy.own}\n";
    let case = Case::new(&[
        ("c/meta/runtime.yml", runtime),
        ("c/plugins/modules/m.py", ""),
        ("c/plugins/modules/a.py", ""),
        ("second/ansible_collections/n/d/plugins/modules/m.py", ""),
        ("second/ansible_collections/n/e/meta/runtime.yml", "plugin_routing: {modules: {m: ["),
        ("library/own.py", ""),
    ]);
    let found = case.finds("n.c.a", "second/ansible_collections/n/d/plugins/modules/m.py", "n.d.m");
    assert_eq!(found.task_name, "n.c.a");
    assert_eq!(found.deprecations, ["the module `n.c.b` is deprecated: use n.d.m (release 2.0.0)"]);
    case.finds("n.c.sub.a", "c/plugins/modules/m.py", "n.c.m");
    case.finds("n.c.legacy", "library/own.py", "own");
    case.fails("n.c.gone", "the module `n.c.gone` was removed: Use m (release 1.0.0)");
    case.fails("n.c.to_gone", "the module `n.c.to_gone`, which is `n.c.gone` was removed");
    case.fails("n.c.loop", "do not end: n.c.loop → n.c.pool → n.c.loop");
    case.fails("n.c.plain", "redirected to `m`, which is not the full name");
    case.fails("n.e.m", "failed to understand `");
}

#[test]
fn endless_redirects_end() {
    let entries: String = (0..100).map(|n| format!("    m{n}: {{redirect: n.c.m{}}}\n", n + 1)).collect();
    let case = Case::new(&[("c/meta/runtime.yml", &format!("plugin_routing:\n  modules:\n{entries}"))]);
    case.fails("n.c.m0", "do not end");
}

#[test]
fn a_path_is_not_looked_up() {
    let case = Case::new(&[("modules/one/Cargo.toml", ""), ("modules/two/go.mod", ""), ("own/main.c", "")]);
    let nothing = case.path("nothing");
    assert!(matches!(case.find(nothing.to_str().unwrap()), Err(LookupError::NoSuchFile(_))));
    case.fails(case.path("modules").to_str().unwrap(), "it has the projects one, two");
    case.fails("modules", "`./modules` is a directory and no module project; it has the projects one, two");
    case.fails("two", "`modules/two` is a module's source");
    case.fails("own", "`./own` is a module's source");
}

#[test]
fn a_path_has_a_slash_or_is_made_of_dots() {
    for (module, expect) in [("./a", true), ("a/", true), (".", true), ("..", true), ("a", false), (".a", false)] {
        assert_eq!(is_path(Path::new(module)), expect, "{module}");
    }
}
