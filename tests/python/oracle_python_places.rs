//! Python modules do the same in the sandbox for WebAssembly as natively, in an interpreter that is built as a user
//! builds it.
//!
//! `oracle/python_places/compare.py` says how that is compared, and `cases.py` there what is run. Hostile modules find no
//! more there than any component.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};

use crate::python::python_closure::package;
use crate::support::server::{Server, response};
use crate::support::{Modbox, RunOutput, TestDir, fixture, oracle, sample};

/// Time limit of a comparison, on two busy cores.
const COMPARISON: Duration = Duration::from_mins(15);

/// Parts of what is compared, of which an ordinary run takes one; those of the collections' modules are smaller.
const PARTS: usize = 12;
const PARTS_OF_COLLECTIONS: usize = 180;

/// Least numbers in all parts together.
const CASES: u64 = 80;
const STARTED: u64 = 45;
const STARTED_OF_COLLECTIONS: u64 = 500;

/// A user's cache with an interpreter.
pub(crate) struct Installed {
    pub(crate) dir: TestDir,
    pub(crate) python: PathBuf,
}

pub(crate) static INSTALLED: LazyLock<Installed> =
    LazyLock::new(|| Installed::new(oracle::python_of(oracle::version()), oracle::version()));

/// The same with a release that is still proven.
pub(crate) static SETTLED: LazyLock<Installed> =
    LazyLock::new(|| Installed::new(oracle::python_of(oracle::SETTLED), oracle::SETTLED));

/// The same with the release that comes next; `None` on machines without a Python for it.
pub(crate) static NEXT: LazyLock<Option<Installed>> = LazyLock::new(|| {
    let version = oracle::next()?;
    Some(Installed::new(oracle::python_of(version), version))
});

impl Installed {
    /// Builds an interpreter with the ansible-core of a Python.
    fn new(python: PathBuf, version: &str) -> Self {
        let dir = TestDir::new();
        let install = modbox(&python, &dir).args(["python", "install", "--with-pip", "--interpreter"]).arg(&python);
        let text = install.patience(COMPARISON).run().exits_with(0).stdout_text();
        assert!(text.contains(&format!("ansible-core {version}")), "{text}");
        Self { dir, python }
    }
}

/// Prepares a command with the cache of a folder and the programs of the oracle.
pub(crate) fn modbox(python: &Path, dir: &TestDir) -> Modbox {
    let programs = python.parent().unwrap().display();
    Modbox::new(dir).own_cache(dir).env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"))
}

/// Runs a module's text in the sandbox.
pub(crate) fn run(name: &str, text: &str, words: &[&str]) -> RunOutput {
    let module = INSTALLED.dir.write(&format!("{name}.py"), text);
    let run = modbox(&INSTALLED.python, &INSTALLED.dir).arg("run").arg(module).report();
    run.args(words).run()
}

/// Returns the text of a module that runs statements with `module`, and returns what they store in `found`.
pub(crate) fn module(statements: &str) -> String {
    format!(
        "#!/usr/bin/python\nimport os, sys\nfrom ansible.module_utils.basic import AnsibleModule\n\n\
         def main():\n    module = AnsibleModule(argument_spec=dict(path=dict(type='str')))\n    found = {{}}\n{statements}\n    \
         module.exit_json(found=found)\n\n\nif __name__ == '__main__':\n    main()\n"
    )
}

/// Compares a part of the cases and modules in both places. Returns the summary, and what else was printed.
fn compare(python: &Path, dir: &TestDir, parts: usize, collections: Option<usize>) -> (Value, String) {
    let mut comparison = Modbox::of(python, dir)
        .own_cache(dir)
        .args(["-B"])
        .arg(fixture("oracle/python_places/compare.py"))
        .args(["--modbox", env!("CARGO_BIN_EXE_modbox"), "--python"])
        .arg(python)
        .arg("--modules")
        .arg(package(python).join("modules"))
        .arg("--work")
        .arg(dir.mkdir("work"))
        .args(["--parts", &parts.to_string(), "--part", &(sample::seed() % parts as u64).to_string()]);
    if let Some(parts) = collections {
        comparison = comparison.arg("--collections").arg(oracle::collections());
        comparison = comparison.args(["--collections-parts", &parts.to_string()]);
    }
    let compared = comparison.patience(COMPARISON).run().exits_with(0).stdout_text();
    let summary: Value = serde_json::from_str(compared.lines().last().unwrap()).unwrap();
    assert_eq!(summary["different"], 0, "{compared}");
    (summary, compared)
}

#[test]
fn modules_do_the_same_in_both_places() {
    let Installed { dir, python } = &*INSTALLED;
    let (parts, parts_of_collections) = (sample::cases(PARTS, 1), sample::cases(PARTS_OF_COLLECTIONS, 1));
    let (summary, compared) = compare(python, dir, parts, Some(parts_of_collections));
    let least = |key: &str, all: u64, parts: usize| {
        assert!(summary[key].as_u64() >= Some(all / parts as u64 / 2), "{key}: {compared}");
    };
    least("cases", CASES, parts);
    least("started", STARTED, parts);
    least("started_of_collections", STARTED_OF_COLLECTIONS, parts_of_collections);
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn modules_of_the_next_release_do_the_same_in_both_places() {
    let Some(Installed { dir, python }) = &*NEXT else { return };
    let parts = sample::cases(PARTS, 1);
    let (summary, compared) = compare(python, dir, parts, None);
    assert!(summary["cases"].as_u64() >= Some(CASES / parts as u64 / 2), "{compared}");
    assert!(summary["started"].as_u64() >= Some(STARTED / parts as u64 / 2), "{compared}");
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn modules_of_earlier_releases_do_the_same_in_both_places() {
    for version in ["2.16.19", "2.17.14", "2.18.19"] {
        let installed = Installed::new(oracle::python_of(version), version);
        let (summary, compared) = compare(&installed.python, &installed.dir, 1, None);
        assert!(summary["cases"].as_u64() >= Some(CASES), "{compared}");
        assert!(summary["started"].as_u64() >= Some(STARTED), "{compared}");
    }
}

#[test]
fn a_place_is_chosen_before_the_start_and_the_reason_is_told() {
    let Installed { dir, python } = &*INSTALLED;
    let line = package(python).join("modules/lineinfile.py");
    let file = dir.write("lines", "one\n");
    let path = format!("path={}", file.display());
    let run = |words: &[&str]| {
        let run = modbox(python, dir).arg("run").arg(&line).report().args(["--check", &path, "line=two"]);
        run.args(words).run().exits_with(0).json()
    };
    let reason = |report: &Value| report["python"]["reason"].as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    let report = run(&[]);
    assert_eq!((&report["python"]["place"], &report["denials"]), (&"wasm".into(), &json!([])), "{report}");
    assert_eq!(run(&["--python", "native"])["python"]["place"], "native");
    // Commands need a grant, and see temporary files only where nothing below /tmp is granted.
    let validated = ["validate=cat %s", "--allow-run", "cat *"];
    let report = run(&validated[..1]);
    assert_eq!(report["python"]["place"], "native", "{report}");
    assert!(reason(&report).contains("`run_command`"), "{report}");
    for (temporary, place) in
        [(tempfile::tempdir_in("/var/tmp").unwrap(), "wasm"), (tempfile::tempdir_in("/tmp").unwrap(), "native")]
    {
        let grant = temporary.path().display().to_string();
        let words =
            [&validated[..], &["--allow-read", &grant, "--designated", "none", "--allow-write", &grant]].concat();
        let own = temporary.path().join("file");
        std::fs::write(&own, "one\n").unwrap();
        let path = format!("path={}", own.display());
        let report = modbox(python, dir)
            .arg("run")
            .arg(&line)
            .report()
            .args([&path, "line=two"])
            .args(words)
            .run()
            .exits_with(0)
            .json();
        assert_eq!(report["python"]["place"], place, "{report}");
        assert!(place == "wasm" || reason(&report).contains("temporary files, which they do not see"), "{report}");
    }
    for (words, expect) in [
        (["--min-confinement", "3"], "level 3"),
        (["--max-memory", "32MiB"], "the interpreter needs 48.0 MiB"),
        (["--interpreter", python.to_str().unwrap()], "was given the interpreter"),
    ] {
        let report = run(&words);
        assert!(reason(&report).contains(expect), "{report}");
        assert_eq!(report["python"]["place"], "native", "{report}");
    }
    let library = module("    found['place'] = 1").replace("import os, sys", "import os, sys, apt");
    let denied = self::run("library", &library, &["--python", "wasm"]).exits_with(4);
    let message = denied.json()["result"]["msg"].as_str().unwrap().to_owned();
    assert!(message.contains("imports `apt` which the sandbox does not have"), "{message}");
}

#[test]
fn the_ansible_core_of_an_interpreter_is_the_one_where_no_other_is_found() {
    let module = INSTALLED.dir.write("lonely.py", module("    found['utilities'] = AnsibleModule.__module__"));
    let other = TestDir::new();
    let ran = Modbox::run_module(&other, &module).own_cache(&other).run();
    if ran.status.code() == Some(0) {
        // This machine has an ansible-core outside of PATH.
        return;
    }
    let failed = ran.exits_with(3).json();
    let message = failed["msg"].as_str().unwrap();
    assert!(
        message.contains("failed to find ansible-core")
            && message.contains("give its Python with `--interpreter PATH`"),
        "{message}"
    );
    let own: &OsStr = module.as_ref();
    for (module, word, place) in [
        (own, "wasm", "wasm"),
        (own, "native", "native"),
        (own, "auto", "native"),
        ("ansible.builtin.ping".as_ref(), "auto", "wasm"),
    ] {
        let ran =
            Modbox::run_module(&INSTALLED.dir, module).own_cache(&INSTALLED.dir).args(["--python", word]).report();
        let report = ran.run().exits_with(0).json();
        assert_eq!((&report["status"], &report["python"]["place"]), (&json!("ok"), &json!(place)), "{report:#}");
    }
    let doctor = Modbox::new(&INSTALLED.dir).own_cache(&INSTALLED.dir).arg("doctor").run().exits_with(0).stdout_text();
    let line = format!("with ansible-core {}", oracle::version());
    let is_line = |found: &str| found.starts_with("ok       Python in the sandbox: ") && found.ends_with(&line);
    assert!(doctor.lines().any(is_line), "{doctor}");
}

#[test]
fn what_only_a_run_shows_fails_and_is_told() {
    let hidden = module("    getattr(os, 'set' + 'sid')()");
    let failed = run("hidden", &hidden, &["--python", "wasm"]).exits_with(1).json();
    assert_eq!(
        (&failed["python"]["place"], &failed["python"]["needs"]),
        (&"wasm".into(), &"os.setsid".into()),
        "{failed}"
    );
    assert!(failed["result"]["msg"].as_str().unwrap().contains("this module needs os.setsid"), "{failed}");
    assert!(!failed.to_string().contains("modbox-python:"), "{failed}");
}

#[test]
fn each_run_begins_anew() {
    let statements = "    import random, tempfile, uuid\n    \
         found['chance'] = [str(uuid.uuid4()), random.random(), os.urandom(4).hex(), tempfile.mktemp()]\n    \
         found['environment'] = os.environ.get('OWN')\n    found['files'] = os.listdir(module.tmpdir)\n    \
         open(os.path.join(module.tmpdir, 'left'), 'w').close()\n    found['path'] = module.params['path']\n    \
         found['large'] = 'x' * 300000";
    let text = module(statements);
    let found = |value: &str| {
        let ran =
            run("anew", &text, &["--python", "wasm", "--allow-env", &format!("OWN={value}"), &format!("path={value}")]);
        ran.json()["result"]["found"].clone()
    };
    let (first, second) = (found("1"), found("2"));
    for number in 0..4 {
        assert_ne!(first["chance"][number], second["chance"][number]);
    }
    for (run, value) in [(&first, "1"), (&second, "2")] {
        assert_eq!((&run["environment"], &run["path"]), (&value.into(), &value.into()));
        assert_eq!(run["files"], Value::Array(Vec::new()), "of the run before");
        assert_eq!(run["large"].as_str().unwrap().len(), 300_000, "all of the output");
    }
}

#[test]
fn a_hostile_module_finds_nothing_and_ends_at_its_limits() {
    let dir = &INSTALLED.dir;
    let secret = dir.write("secret", "canary");
    let path = format!("path={}", secret.display());
    // The module's own text must not be found, so it joins what it looks for. Its argument shows that it would be found.
    let statements = "    import gc, ctypes, socket\n    reached = gc.get_referents(*gc.get_objects())\n    \
         texts = [str(item) for item in reached if isinstance(item, (str, bytes))]\n    \
         found['argument'] = any(''.join(['/sec', 'ret']) in text for text in texts)\n    \
         found['variable'] = any(''.join(['host-', 'canary']) in text for text in texts)\n    found['errors'] = []\n    \
         for call in (lambda: open(module.params['path']).read(), lambda: open(module.params['path'], 'w'),\n                 \
         lambda: os.symlink(module.params['path'], '/tmp/l') or open('/tmp/l').read(),\n                 \
         lambda: os.listdir('/root'), lambda: open('/etc/shadow').read(), lambda: ctypes.CDLL('libc.so.6'),\n                 \
         lambda: os.unlink('/etc/passwd'), lambda: open('/proc/self/environ').read(),\n                 \
         lambda: socket.create_connection(('127.0.0.1', PORT), 1)):\n        try:\n            call()\n            \
         found['errors'].append('none')\n        except OSError as error:\n            found['errors'].append(type(error).__name__)\n    \
         found['descriptors'] = [number for number in range(3, 200) if _is_open(number)]\n    found['environment'] = sorted(os.environ)";
    let helper = "def _is_open(number):\n    try:\n        os.read(number, 1)\n        return True\n    except OSError:\n        return False\n\n\n";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let text = module(statements).replace("def main", &format!("{helper}def main")).replace("PORT", &port);
    let module_file = dir.write("hostile.py", &text);
    let hostile = modbox(&INSTALLED.python, dir).env("CANARY", "host-canary").arg("run").arg(module_file);
    let report = hostile.report().args(["--python", "wasm", &path]).run().json();
    let found = &report["result"]["found"];
    assert_eq!((&found["argument"], &found["variable"]), (&true.into(), &false.into()), "{report}");
    let errors = found["errors"].as_array().unwrap_or_else(|| panic!("{report}"));
    assert!(errors.len() == 9 && errors.iter().all(|error| error != "none"), "{report}");
    assert_eq!(found["descriptors"], Value::Array(Vec::new()), "{report}");
    assert!(!found["environment"].to_string().contains("CARGO"), "{report}");
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "canary");
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    for (statements, limits, status, ends) in [
        ("    while True: pass", &["--cpu-time", "2s"][..], "limit", 5),
        ("    found['x'] = bytearray(1 << 30)", &[], "limit", 5),
        (
            "    for number in range(10 ** 6): open('/tmp/%d' % number, 'w').close()",
            &["--max-files", "100"],
            "limit",
            5,
        ),
        ("    sys.setrecursionlimit(10 ** 7)\n    def f(): f()\n    f()", &[], "limit", 5),
        ("    for _ in range(10 ** 7): sys.stdout.write('x' * 100)", &[], "limit", 5),
    ] {
        let ran = run("limits", &module(statements), &[&["--python", "wasm"], limits].concat());
        assert_eq!(ran.exits_with(ends).json()["status"], status, "{statements}");
    }
}

#[test]
fn requests_need_rules_and_certificates_are_checked() {
    let Installed { dir, python } = &*INSTALLED;
    let page = Server::http(|_, body| response("200 OK", "", &format!("page {body}")));
    let other = Server::greeting("127.0.0.1:0");
    let (port, rule) = (page.port(), page.address.to_string());
    let uri = package(python).join("modules/uri.py");
    let run = |words: &[&str], more: &Value| {
        let mut args = json!({"url": format!("http://127.0.0.1:{port}/")});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let run = modbox(python, dir).arg("run").arg(&uri).report().json_args(&args).args(["--python", "wasm"]);
        let mut report = run.args(words).run().json();
        // As natively, the module looks for the user's passwords for hosts, which are not granted.
        let netrc = json!(dir.join("home/.netrc"));
        report["denials"].as_array_mut().unwrap().retain(|denial| denial["subject"] != netrc);
        report
    };
    let report = run(&["--allow-net", &rule], &json!({"return_content": true}));
    let seen = (&report["python"]["place"], &report["result"]["content"], &report["denials"]);
    assert_eq!(seen, (&"wasm".into(), &"page ".into(), &json!([])), "{report}");
    let secure = json!({"url": format!("https://{}/", other.address), "validate_certs": false});
    let rule = other.address.to_string();
    let report = run(&["--allow-net", &rule], &secure);
    let allow = format!("--allow-net {rule}+unverified");
    assert!(report["result"]["msg"].as_str().unwrap().contains(&allow), "{report}");
    let denial = json!({"capability": "net", "subject": rule, "operation": "accept-any-certificate", "allow": allow});
    assert_eq!(report["denials"], json!([denial]), "{report}");
    // With the word, the server is asked, and does not speak TLS.
    let report = run(&["--allow-net", &format!("{rule}+unverified")], &secure);
    assert_eq!((&report["python"]["place"], &report["denials"]), (&"wasm".into(), &json!([])), "{report}");
    assert!(report["result"]["msg"].as_str().unwrap().contains("wrong version number"), "{report}");
    // Without a rule, nothing is sent.
    let (before, report) = (page.connections(), run(&[], &json!({})));
    assert_eq!(report["denials"][0]["capability"], "net", "{report}");
    assert_eq!(page.connections(), before);
}
