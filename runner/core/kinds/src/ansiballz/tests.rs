//! Closures and payloads, built from files that exist only in memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use crate::ansiballz::*;

/// Sources by their paths, redirects by collection.
#[derive(Default)]
struct Files {
    sources: BTreeMap<String, String>,
    routing: BTreeMap<String, Arc<Routing>>,
}

impl Files {
    fn of(sources: &[(&str, &str)]) -> Self {
        let basic = [("core/basic.py", "")];
        let sources = basic.iter().chain(sources);
        let sources = sources.map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Self { sources, routing: BTreeMap::new() }
    }

    fn routing(mut self, collection: &str, utilities: &str) -> Self {
        let yaml = format!("plugin_routing: {{module_utils: {utilities}}}");
        self.routing.insert(collection.to_owned(), Arc::new(Routing::parse(&yaml).unwrap()));
        self
    }

    fn find(&self, root: &str, parts: &[String]) -> Option<Found> {
        let path = format!("{root}/{}", parts.join("/"));
        let found = |is_package: bool, path: String| {
            let source = self.sources.get(&path)?.as_bytes().into();
            Some(Found { source, is_package })
        };
        found(true, format!("{path}/__init__.py")).or_else(|| found(false, format!("{path}.py")))
    }
}

impl Lookup for Files {
    type Error = Infallible;

    fn core(&mut self, parts: &[String]) -> Result<Option<Found>, Infallible> {
        Ok(self.find("core", parts))
    }

    fn collection(&mut self, collection: &[String; 2], parts: &[String]) -> Result<Option<Found>, Infallible> {
        Ok(self.find(&collection.join("."), parts))
    }

    fn routing(&mut self, collection: &[String; 2]) -> Result<Option<Arc<Routing>>, Infallible> {
        Ok(self.routing.get(&collection.join(".")).cloned())
    }

    fn embedded(&mut self, package: &DottedName, name: &str) -> Result<EmbeddedFile, Infallible> {
        let folder = match package.parts() {
            [ansible, utils, rest @ ..] if [ansible, utils] == ["ansible", "module_utils"] => {
                ["core"].into_iter().chain(rest.iter().map(String::as_str)).collect::<Vec<_>>().join("/")
            }
            [_, namespace, collection, _, _, rest @ ..] => {
                let root = format!("{namespace}.{collection}");
                [root.as_str()].into_iter().chain(rest.iter().map(String::as_str)).collect::<Vec<_>>().join("/")
            }
            _ => return Ok(EmbeddedFile::NoPackage),
        };
        let bytes = self.sources.get(&format!("{folder}/{name}")).map(|text| text.as_bytes().into());
        let has_package = self.sources.keys().any(|path| path.starts_with(&format!("{folder}/")));
        Ok(match bytes {
            Some(bytes) => EmbeddedFile::Found(bytes),
            None if has_package => EmbeddedFile::NoFile,
            None => EmbeddedFile::NoPackage,
        })
    }

    fn searched(&self, _: &DottedName) -> Vec<String> {
        vec!["core".to_owned()]
    }
}

fn payload(module: &str, source: &str, mut files: Files) -> Result<Payload, ClosureError<Infallible>> {
    let core = Core { version: "2.19.14".to_owned(), author: "it's \\".to_owned() };
    assemble(&DottedName::parse(module), &source.as_bytes().into(), &core, &mut files)
}

/// Checks that a payload has exactly these files beside those of every payload.
#[track_caller]
fn check(module: &str, source: &str, files: Files, expect: &[&str]) {
    let payload = payload(module, source, files).unwrap();
    let always = ["ansible/__init__.py", "ansible/module_utils/__init__.py", "ansible/module_utils/basic.py"];
    let own = payload.files.keys().filter(|path| !always.contains(&path.as_str()));
    assert_eq!(own.collect::<Vec<_>>(), expect, "{source}");
}

#[test]
fn an_ambiguous_name_is_a_module_or_something_in_one() {
    let files = || Files::of(&[("core/a/__init__.py", ""), ("core/a/b.py", "c = 1"), ("core/d.py", "")]);
    let module = "ansible/modules/m.py";
    let init = "ansible/modules/__init__.py";
    let (a, b, d) = ("ansible/module_utils/a/__init__.py", "ansible/module_utils/a/b.py", "ansible/module_utils/d.py");
    for (import, found) in [
        ("from ansible.module_utils.a import b", vec![a, b]),
        ("from ansible.module_utils.a import f", vec![a]),
        ("from ansible.module_utils.a.b import c", vec![a, b]),
        ("from ansible.module_utils import d", vec![d]),
        ("import ansible.module_utils.a.b", vec![a, b]),
        ("import ansible.module_utils.d.e", vec![d]),
    ] {
        check("ansible.modules.m", import, files(), &[found, vec![init, module]].concat());
    }
}

#[test]
fn imports_of_imports_are_included() {
    let files = Files::of(&[
        ("core/a/__init__.py", "from .b import x"),
        ("core/a/b.py", "from ..c import x\nfrom . import d"),
        ("core/a/d.py", "import ansible.module_utils.a.b"),
        ("core/c.py", "from ansible.module_utils.six.moves.urllib import x"),
        ("core/six/__init__.py", ""),
    ]);
    let utils = ["a/__init__.py", "a/b.py", "a/d.py", "c.py", "six/__init__.py"];
    let mut expect: Vec<String> = vec!["ansible/legacy/__init__.py".into(), "ansible/legacy/m.py".into()];
    expect.extend(utils.map(|path| format!("ansible/module_utils/{path}")));
    let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
    check("ansible.legacy.m", "from ansible.module_utils.a import y", files, &expect);
}

#[test]
fn optional_imports_may_be_missing() {
    let optional = "try:\n    from ansible.module_utils.nowhere import x\nexcept ImportError:\n    pass\n";
    check("ansible.legacy.m", optional, Files::of(&[]), &["ansible/legacy/__init__.py", "ansible/legacy/m.py"]);
    for (source, name) in [
        ("from ansible.module_utils.nowhere import x", "ansible.module_utils.nowhere.x"),
        ("import ansible_collections.a.b.plugins.module_utils.c", "ansible_collections.a.b.plugins.module_utils.c"),
        ("import ansible_collections.a.b.plugins.lookup.c", "ansible_collections.a.b.plugins.lookup.c"),
    ] {
        let error = payload("ansible.legacy.m", source, Files::of(&[])).unwrap_err().to_string();
        assert!(error.contains(&format!("the module imports `{name}`")) && error.contains("`core`"), "{error}");
    }
    let deep = Files::of(&[("core/a.py", "import ansible.module_utils.nowhere")]);
    let error = payload("ansible.legacy.m", "import ansible.module_utils.a", deep).unwrap_err().to_string();
    assert!(error.starts_with("`ansible.module_utils.a` imports `ansible.module_utils.nowhere`"), "{error}");
}

#[test]
fn collections_bring_their_utilities_and_empty_packages_above() {
    let files = Files::of(&[
        ("n.c/a.py", "from .b import x\nfrom ansible_collections.o.d.plugins.module_utils.e import y"),
        ("n.c/b/__init__.py", ""),
        ("o.d/e.py", ""),
    ]);
    check(
        "ansible_collections.n.c.plugins.modules.m",
        "from ..module_utils.a import z",
        files,
        &[
            "ansible_collections/__init__.py",
            "ansible_collections/n/__init__.py",
            "ansible_collections/n/c/__init__.py",
            "ansible_collections/n/c/plugins/__init__.py",
            "ansible_collections/n/c/plugins/module_utils/__init__.py",
            "ansible_collections/n/c/plugins/module_utils/a.py",
            "ansible_collections/n/c/plugins/module_utils/b/__init__.py",
            "ansible_collections/n/c/plugins/modules/__init__.py",
            "ansible_collections/n/c/plugins/modules/m.py",
            "ansible_collections/o/__init__.py",
            "ansible_collections/o/d/__init__.py",
            "ansible_collections/o/d/plugins/__init__.py",
            "ansible_collections/o/d/plugins/module_utils/__init__.py",
            "ansible_collections/o/d/plugins/module_utils/e.py",
        ],
    );
}

#[test]
fn redirects_are_followed() {
    let files = || {
        Files::of(&[("n.c/new.py", ""), ("core/here.py", "")])
            .routing(
                "ansible.builtin",
                "{old.x: {redirect: n.c.new}, here: {redirect: n.c.new}, gone: {tombstone: {warning_text: why}}}",
            )
            .routing("n.c", "{moved: {redirect: n.c.new}}")
    };
    let found = |source: &str| {
        let payload = payload("ansible.legacy.m", source, files()).unwrap();
        payload.files.keys().filter(|path| !path.ends_with("c/__init__.py")).cloned().collect::<Vec<_>>().join(" ")
    };
    let new = "ansible_collections/n/c/plugins/module_utils/new.py";
    let old = found("from ansible.module_utils.old.x import y");
    assert!(old.contains("ansible/module_utils/old/__init__.py ansible/module_utils/old/x/__init__.py"), "{old}");
    assert!(old.contains(new), "{old}");
    let here = found("import ansible.module_utils.here");
    assert!(here.contains("ansible/module_utils/here.py") && !here.contains(new), "what is there goes first: {here}");
    let moved = found("from ansible_collections.n.c.plugins.module_utils.moved import y");
    assert!(moved.contains("module_utils/moved/__init__.py") && moved.contains(new), "{moved}");
    let error = payload("ansible.legacy.m", "import ansible.module_utils.gone", files()).unwrap_err().to_string();
    assert!(error.ends_with("imports `ansible.module_utils.gone`, which was removed: why"), "{error}");
}

#[test]
fn the_same_payload_is_the_same_file() {
    let files = || Files::of(&[("core/a.py", "x = 1")]);
    let one = payload("ansible.legacy.m", "import ansible.module_utils.a", files()).unwrap();
    let two = payload("ansible.legacy.m", "import ansible.module_utils.a", files()).unwrap();
    assert_eq!(one, two);
    assert_eq!(zip_text(&one).unwrap(), zip_text(&two).unwrap());
    let other = payload("ansible.legacy.m", "import ansible.module_utils.a ", files()).unwrap();
    assert_ne!(one, other);
    let text = String::from_utf8(one.files["ansible/__init__.py"].to_vec()).unwrap();
    assert!(text.contains(r#"__author__ = "it's \\""#), "{text}");
}

#[test]
fn a_source_that_is_too_long_or_no_python_is_refused() {
    let long = format!("#{}", "x".repeat(usize::try_from(MAX_SOURCE).unwrap()));
    let error = payload("ansible.legacy.m", &long, Files::of(&[])).unwrap_err();
    assert!(matches!(error, ClosureError::TooLong(_)), "{error}");
    let error = payload("ansible.legacy.m", "print 'x'", Files::of(&[])).unwrap_err();
    assert!(matches!(error, ClosureError::Source { .. }), "{error}");
}

/// A utility that embeds a file, and the file.
const EMBEDDING: &str =
    "from ansible.module_utils.embed import EmbedManager\nx = EmbedManager.embed('.d', 'x-1.txt')\n";

#[test]
fn embedded_files_come_with_packages_around_them() {
    let files = |embedding: &str| {
        Files::of(&[("core/embed.py", "class EmbedManager: pass"), ("n.c/u.py", embedding), ("n.c/d/x-1.txt", "words")])
    };
    let source = "from ansible_collections.n.c.plugins.module_utils.u import x";
    let payload = payload("ansible.legacy.m", source, files(EMBEDDING)).unwrap();
    let folder = "ansible_collections/n/c/plugins/module_utils/d";
    assert_eq!(&*payload.files[&format!("{folder}/x-1.txt")], b"words");
    assert!(payload.files[&format!("{folder}/__init__.py")].is_empty());
    let fault = |embedding: &str, expect: &str| {
        let error = super::tests::payload("ansible.legacy.m", source, files(embedding)).unwrap_err().to_string();
        let place = "failed to pack `ansible_collections.n.c.plugins.module_utils.u`, line";
        assert!(error.starts_with(place) && error.contains(expect), "{error}");
    };
    fault(&EMBEDDING.replace("x-1.txt", "other"), "line 2: Embed resource 'other' not found while packaging module.");
    fault(&EMBEDDING.replace("'.d'", "'.e'"), "line 2: Embed package not found while packaging module: `ansible_coll");
    fault(&EMBEDDING.replace("x = ", ""), "line 1: Module embedding support was imported");
    let big = "x".repeat(usize::try_from(MAX_SOURCE).unwrap() + 1);
    let mut long = files(EMBEDDING);
    long.sources.insert("n.c/d/x-1.txt".to_owned(), big);
    let error = super::tests::payload("ansible.legacy.m", source, long).unwrap_err().to_string();
    assert!(error.contains("longer than the limit"), "{error}");
}

#[test]
fn a_utility_of_the_managers_name_is_plain_before_2_21() {
    // The file is beside the playbook, not in ansible-core.
    let mut files = Files::of(&[]);
    files.sources.insert("core/embed/__init__.py".to_owned(), "EmbedManager = 1".to_owned());
    let payload = payload("ansible.legacy.m", "from ansible.module_utils.embed import EmbedManager\n", files).unwrap();
    assert!(payload.files.contains_key("ansible/module_utils/embed/__init__.py"));
}

#[test]
fn a_payload_tells_which_internal_arguments_its_ansible_core_knows() {
    let of = |parameters: Option<&str>| {
        let files =
            parameters.map(|text| ("ansible/module_utils/common/parameters.py".to_owned(), text.as_bytes().into()));
        let module = DottedName::parse("ansible.modules.m");
        Payload { module, has_loader: true, files: files.into_iter().collect() }.core_args()
    };
    let (core, asked) =
        (of(Some("PASS_VARS = {'tmpdir': 1, \"version\": 2}")), "_ansible_inject_invocation".to_owned());
    assert!(core.unknown.contains(&asked) && !core.unknown.contains(&"_ansible_tmpdir".to_owned()), "{core:?}");
    assert!(!core.invocation_on_request);
    let core = of(Some("PASS_VARS = {'inject_invocation': ('_inject_invocation', False)}"));
    assert!(core.invocation_on_request && !core.unknown.contains(&asked), "{core:?}");
    assert_eq!(of(None), crate::CoreArgs::default());
}
