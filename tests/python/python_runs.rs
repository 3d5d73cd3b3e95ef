//! Runs of Python modules: how modules are passed to the interpreter, which interpreter is used, what is cached between
//! runs, and how broken modules fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::python::python_closure::package;
use crate::support::{Modbox, RunOutput, TestDir, oracle};

/// A module with the given body.
pub(super) fn module(body: &str) -> String {
    let indented: String = body.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "#!/usr/bin/python\nimport os\nimport sys\nfrom ansible.module_utils.basic import AnsibleModule\n\n\ndef main():\n    \
         module = AnsibleModule(argument_spec=dict(a=dict()))\n{indented}\n\nif __name__ == '__main__':\n    main()\n"
    )
}

fn run(dir: &TestDir, path: &Path) -> Modbox {
    Modbox::run_module(dir, path).arg("--allow-all").arg("--interpreter").arg(oracle::python()).own_cache(dir)
}

fn trees(dir: &TestDir) -> Vec<String> {
    let entries = fs::read_dir(dir.join("home/.cache/modbox/python")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".tree")).collect()
}

#[test]
fn arguments_come_on_standard_input_alone() {
    let body = "found = []\nfor name in os.listdir('/proc'):\n    for file in ('cmdline', 'environ'):\n        try:\n            \
                with open('/proc/%s/%s' % (name, file)) as text:\n                if 'sesame-open' in text.read():\n                    \
                found.append(name + file)\n        except (OSError, UnicodeDecodeError):\n            pass\n\
                files = [os.path.join(folder, name) for folder, _, names in os.walk(module.tmpdir) for name in names]\n\
                module.exit_json(a=module.params['a'][::-1], found=found, files=files, argv=sys.argv[1:], stdin=sys.stdin.read())";
    for form in ["cached", "zip"] {
        let dir = TestDir::new();
        let path = dir.write("m.py", module(body));
        let ran = run(&dir, &path).args(["--ansiballz", form, "--args", "-"]).stdin(r#"{"a": "sesame-open"}"#).run();
        let result = ran.exits_with(0).json();
        assert_eq!(result["a"], "nepo-emases", "{form}");
        for (key, nothing) in [("found", json!([])), ("files", json!([])), ("argv", json!([])), ("stdin", json!(""))] {
            assert_eq!(result[key], nothing, "{form}: {key}");
        }
        dir.assert_nothing_left();
    }
}

#[test]
fn a_missing_import_is_named_with_where_it_was_looked_for() {
    let dir = TestDir::new();
    let utils = dir.mkdir("given");
    let path = dir.write("library/m.py", "from ansible.module_utils.no_such_thing import x\n");
    let ran = run(&dir, &path).arg("--module-utils").arg(&utils).run().exits_with(3);
    let msg = ran.json()["msg"].as_str().unwrap().to_owned();
    assert!(msg.contains("the module imports `ansible.module_utils.no_such_thing.x`, which was not found in"), "{msg}");
    for folder in [utils, dir.join("library/module_utils"), dir.join("module_utils")] {
        assert!(msg.contains(&format!("`{}`", folder.display())), "{msg}");
    }
    assert!(msg.contains("site-packages/ansible/module_utils`") && msg.contains("--module-utils"), "{msg}");
    // The twin can do without.
    let body = "try:\n    from ansible.module_utils.no_such_thing import x\nexcept ImportError:\n    x = 'without'\nmodule.exit_json(x=x)";
    let path = dir.write("library/m.py", module(body));
    assert_eq!(run(&dir, &path).run().exits_with(0).json()["x"], "without");
    let ran = run(&dir, &path).args(["--module-utils", "nowhere"]).run().exits_with(2);
    assert!(ran.stderr_text().contains("is not a folder"), "{ran}");
}

#[test]
fn what_is_beside_a_module_goes_before_ansibles_own_and_what_is_named_before_that() {
    let dir = TestDir::new();
    let text = module("from ansible.module_utils.where import here\nmodule.exit_json(here=here)");
    let path = dir.write("library/m.py", text);
    for (folder, options) in
        [("module_utils", &[][..]), ("library/module_utils", &[]), ("named", &["--module-utils", "named"])]
    {
        dir.write(&format!("{folder}/where.py"), format!("here = '{folder}'\n"));
        let result = run(&dir, &path).args(options).run().exits_with(0).json();
        assert_eq!(result["here"], folder);
    }
}

#[test]
fn a_module_is_laid_out_once_and_again_when_something_changes() {
    let dir = TestDir::new();
    let path = dir.write("m.py", module("from ansible.module_utils.u import v\nmodule.exit_json(v=v, file=__file__)"));
    dir.write("module_utils/u.py", "v = 1\n");
    let result = || run(&dir, &path).run().exits_with(0).json();
    let first = result();
    assert_eq!((&first["v"], trees(&dir).len()), (&json!(1), 1));
    assert!(first["file"].as_str().unwrap().contains(&trees(&dir)[0]), "{first}");
    assert_eq!((result(), trees(&dir).len()), (first, 1));
    dir.write("module_utils/u.py", "v = 2\n");
    assert_eq!((&result()["v"], trees(&dir).len()), (&json!(2), 2));
    // A package goes before a module of the same name, also when it comes later.
    dir.write("module_utils/u/__init__.py", "v = 3\n");
    assert_eq!(result()["v"], 3);
    let compiled = dir.join("home/.cache/modbox/python").join(&trees(&dir)[0]).join("ansible/module_utils/__pycache__");
    assert!(fs::read_dir(compiled).unwrap().count() >= 2);
    Modbox::new(&dir).own_cache(&dir).args(["cache", "clear"]).run().exits_with(0);
    assert!(trees(&dir).is_empty());
}

#[test]
fn a_tree_that_was_changed_does_not_run() {
    let dir = TestDir::new();
    let path = dir.write("m.py", module("module.exit_json(a='as written')"));
    let said = || run(&dir, &path).run().exits_with(0).json()["a"].clone();
    assert_eq!(said(), "as written");
    let [tree] = &trees(&dir)[..] else { panic!("one tree") };
    let tree = dir.join("home/.cache/modbox/python").join(tree);
    let mut folders = vec![tree.clone()];
    let mut changed = 0;
    // Both the sources and what was compiled of them, with the times that they had.
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let bytes = if entry.is_dir() { Vec::new() } else { fs::read(&entry).unwrap() };
            let place = bytes.windows(10).position(|part| part == b"as written");
            if let Some(at) = place {
                let modified = fs::metadata(&entry).unwrap().modified().unwrap();
                fs::write(&entry, [&bytes[..at], b"otherwise!", &bytes[at + 10..]].concat()).unwrap();
                fs::File::options().write(true).open(&entry).unwrap().set_modified(modified).unwrap();
                changed += 1;
            }
            if entry.is_dir() {
                folders.push(entry);
            }
        }
    }
    assert!(changed > 0, "the module is in its tree");
    assert_eq!(said(), "as written");
    assert_eq!(trees(&dir).len(), 1);
}

#[test]
fn runs_at_the_same_time_make_one_tree() {
    let dir = TestDir::new();
    let path = dir.write("m.py", module("module.exit_json(a=module.params['a'])"));
    let running: Vec<_> = (0..6).map(|n| run(&dir, &path).arg(format!("a={n}")).spawn()).collect();
    for (n, running) in running.into_iter().enumerate() {
        assert_eq!(running.wait().exits_with(0).json()["a"], n.to_string());
    }
    assert_eq!(trees(&dir).len(), 1, "{:?}", trees(&dir));
    dir.assert_nothing_left();
}

#[test]
fn without_a_cache_a_module_runs_all_the_same() {
    let dir = TestDir::new();
    let path = dir.write("m.py", module("module.exit_json(file=__file__)"));
    let not_a_folder = dir.write("file", "");
    let open = dir.mkdir("open");
    fs::create_dir_all(open.join("modbox/python")).unwrap();
    fs::set_permissions(open.join("modbox/python"), fs::Permissions::from_mode(0o777)).unwrap();
    for cache in [not_a_folder, open.clone()] {
        let ran = run(&dir, &path).env("XDG_CACHE_HOME", &cache).arg("-v").run().exits_with(0);
        assert!(ran.json()["file"].as_str().unwrap().contains("_payload.zip/"), "{ran}");
        assert!(ran.stderr_text().contains("cannot be used"), "{ran}");
    }
    assert_eq!(fs::read_dir(open.join("modbox/python")).unwrap().count(), 0);
    dir.assert_nothing_left();
}

#[test]
fn files_that_are_kept_run_again() {
    let dir = TestDir::new();
    let path = dir.write("m.py", module("module.exit_json(a=module.params['a'])"));
    let report = run(&dir, &path).args(["--keep-files", "a=again", "--output", "report"]).run().exits_with(0).json();
    let kept = PathBuf::from(report["kept_files"].as_str().unwrap()).join("AnsiballZ_m.py");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let output = Command::new(oracle::python()).arg(kept).stdin(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains(r#""a": "again""#), "{output:?}");
}

/// Runs an assembled file with Python alone.
fn plain(file: &Path, python: &str, arguments: &[&Path], stdin: &str) -> Value {
    use std::io::Write as _;
    let mut command = Command::new(python);
    command.arg(file).args(arguments).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn an_assembled_file_runs_with_plain_python() {
    let dir = TestDir::new();
    let file = dir.join("whole file.py");
    let ping = package(&oracle::python()).join("modules/ping.py");
    let assemble = |output: &Path| {
        Modbox::new(&dir).args(["assemble", "--interpreter"]).arg(oracle::python()).arg(&ping).arg("-o").arg(output)
    };
    assemble(&file).run().exits_with(0);
    let args = dir.write("args.json", r#"{"ANSIBLE_MODULE_ARGS": {"data": "ünï", "_ansible_check_mode": true}}"#);
    assert_eq!(plain(&file, "python3", &[], r#"{"data": "x"}"#)["ping"], "x");
    assert_eq!(plain(&file, "python3", &[], "")["ping"], "pong");
    assert_eq!(plain(&file, "python3", &[&args], "")["ping"], "ünï");
    assert_eq!(plain(&file, "python3", &[], r#"{"data": "crash"}"#)["failed"], true);
    let printed = assemble(Path::new("-")).run().exits_with(0).stdout.clone();
    assert_eq!(printed, fs::read(&file).unwrap());
    // Nothing is written over by half, and only what is a Python module is assembled.
    assemble(Path::new("/nowhere/file")).run().exits_with(2);
    let wasm = dir.write("m.wasm", b"\0asm\x01\0\0\0");
    Modbox::new(&dir).arg("assemble").arg(wasm).args(["-o", "-"]).run().exits_with(3);
    dir.assert_nothing_left();
}

#[test]
fn an_interpreter_is_asked_what_it_is() {
    let dir = TestDir::new();
    let path = dir.write("m.py", module("module.exit_json(python=sys.executable)"));
    let python = oracle::python();
    let with = |interpreter: &Path| {
        Modbox::run_module(&dir, &path).arg("--allow-all").arg("--interpreter").arg(interpreter).run()
    };
    assert_eq!(with(&python).exits_with(0).json()["python"], python.to_str().unwrap());
    let answer = json!({"version": [3, 5, 2], "executable": "/x", "prefixes": [], "users_folder": null,
        "folders": [package(&python).parent()]});
    let old = dir.write_executable("old/python", format!("#!/bin/sh\necho '{answer}'\n"));
    let oldest = if oracle::version() == oracle::SETTLED { "3.8" } else { "3.9" };
    let none = dir.write_executable("none/python", "#!/bin/sh\necho hello\n");
    let broken = dir.write_executable("broken/python", "#!/bin/sh\necho broken >&2\nexit 1\n");
    for (interpreter, expect) in [
        (
            old.as_path(),
            &*format!("it is Python 3.5.2, and ansible-core {} needs {oldest} or newer", oracle::version()),
        ),
        (&none, "it is not Python"),
        (&broken, "broken"),
        (Path::new("/nowhere/python"), "not found"),
    ] {
        let msg = with(interpreter).exits_with(3).json()["msg"].as_str().unwrap().to_owned();
        assert!(msg.contains(&format!("`{}` cannot be used: {expect}", interpreter.display())), "{msg}");
    }
}

/// A folder of programs, for `PATH`.
fn programs(dir: &TestDir, name: &str, scripts: &[(&str, String)]) -> String {
    for (program, script) in scripts {
        dir.write_executable(&format!("{name}/{program}"), script);
    }
    format!("{}:/usr/bin:/bin", dir.join(name).display())
}

#[test]
fn plain_python_is_the_one_that_runs_ansible_or_the_first_that_is_new_enough() {
    let dir = TestDir::new();
    let text = module("module.exit_json(python=sys.executable, set=os.environ.get('CHOSEN'))");
    let path = dir.write("m.py", &text);
    let python = oracle::python();
    let python = python.display();
    let start = |chosen: &str| format!("#!/bin/sh\nCHOSEN={chosen} exec '{python}' \"$@\"\n");
    let result = |search: &str, path: &Path| -> RunOutput {
        Modbox::run_module(&dir, path).arg("--allow-all").env("PATH", search).run()
    };
    let ansibles = programs(&dir, "one", &[("ansible", format!("#!{python}\n")), ("python3.13", start("newest"))]);
    let ran = result(&ansibles, &path).exits_with(0).json();
    assert_eq!((&ran["python"], &ran["set"]), (&json!(python.to_string()), &Value::Null));
    let broken = "#!/bin/sh\nexit 127\n".to_owned();
    let listed =
        programs(&dir, "two", &[("python3.13", broken), ("python3.12", start("second")), ("python3", start("last"))]);
    assert_eq!(result(&listed, &path).exits_with(0).json()["set"], "second");
    // Any other line is taken at its word.
    let path = dir.write("n.py", text.replace("#!/usr/bin/python", "#!/usr/bin/env python3"));
    assert_eq!(result(&listed, &path).exits_with(0).json()["set"], "last");
}

#[test]
fn a_source_that_is_nothing_but_levels_ends_in_an_error() {
    let dir = TestDir::new();
    let size = 4_000_000;
    let import = "from ansible.module_utils.basic import AnsibleModule\n";
    for (name, unit) in [
        ("minus", "-"),
        ("round", "("),
        ("square", "["),
        ("brace", "{"),
        ("dots", "a."),
        ("not", "not "),
        ("lambda", "lambda:"),
        ("calls", "f("),
        ("power", "1**"),
        ("plus", "1+"),
        ("else", "a if b else "),
        ("string", "f'{"),
        ("await", "await "),
    ] {
        let path = dir.write(&format!("{name}.py"), format!("{import}x = {}1\n", unit.repeat(size / unit.len())));
        let assemble =
            Modbox::new(&dir).args(["assemble", "-o", "-", "--interpreter"]).arg(oracle::python()).arg(&path);
        let ran = assemble.run();
        assert!(matches!(ran.status.code(), Some(0 | 3)), "{name}: {:?} {}", ran.status, ran.stderr_text());
    }
    let long = dir.write("long.py", format!("{import}#{}", "x".repeat(4 << 20)));
    let ran = run(&dir, &long).run().exits_with(3);
    assert!(ran.json()["msg"].as_str().unwrap().contains("longer than the limit of 4194304 bytes"), "{ran}");
    let wrong = dir.write("wrong.py", format!("{import}\nprint 'x'\n"));
    let ran = run(&dir, &wrong).run().exits_with(3);
    assert!(
        ran.json()["msg"].as_str().unwrap().contains("failed to parse `ansible.legacy.wrong` as Python: line 3"),
        "{ran}"
    );
    dir.assert_nothing_left();
}

#[test]
fn modules_of_earlier_releases_run() {
    let python = oracle::python_of(oracle::EARLIER);
    let earlier = package(&python);
    let legacy = oracle::legacy().join("ansible");
    let ping = |path: PathBuf| {
        let dir = TestDir::new();
        let run = |form: &str, data: &str| {
            let modbox = Modbox::run_module(&dir, &path).args(["--allow-all", "--ansiballz", form]);
            modbox.arg("--interpreter").arg(&python).arg(format!("data={data}")).own_cache(&dir).run()
        };
        for form in ["cached", "zip"] {
            assert_eq!(run(form, "x").exits_with(0).json()["ping"], "x");
            // Before 2.19 an exception ends as a traceback.
            let ran = run(form, "crash").exits_with(1);
            assert!(ran.json()["module_stderr"].as_str().unwrap().ends_with("Exception: boom\n"), "{ran}");
        }
        dir.assert_nothing_left();
    };
    ping(earlier.join("modules/ping.py"));
    // What 2.9 brings of six is nothing for Python 3.12 and newer.
    let version = Command::new(&python).args(["-c", "import sys; print(sys.version_info < (3, 12))"]).output().unwrap();
    if version.stdout.starts_with(b"True") {
        ping(legacy.join("modules/system/ping.py"));
    }
    let dir = TestDir::new();
    let silent = dir.write("m.py", module("print('not a result')"));
    let modbox = Modbox::run_module(&dir, &silent).arg("--allow-all").arg("--interpreter").arg(&python);
    let result = modbox.run().exits_with(1).json();
    assert_eq!(result["msg"], "New-style module did not handle its own exit");
}

#[test]
fn the_form_of_a_first_line_takes_variables_for_switches() {
    let dir = TestDir::new();
    let text = module("module.exit_json(a=module.params['a'], python=sys.executable)");
    let text = text.replace("#!/usr/bin/python\n", "#!/usr/local/bin/modbox\n");
    let path = dir.write("m.py", text);
    let args = dir.write("args.json", r#"{"a": "given"}"#);
    let file = || Modbox::new(&dir).own_cache(&dir).arg(&path).arg(&args).env("PATH", "/usr/bin:/bin");
    let result = file().env("MODBOX_INTERPRETER", oracle::python()).run().exits_with(0).json();
    assert_eq!((&result["a"], &result["python"]), (&json!("given"), &json!(oracle::python())), "{result}");
    // ansible-core is found by the `ansible` of PATH, too.
    let beside = oracle::python().parent().unwrap().display().to_string();
    let result = file().env("PATH", format!("{beside}:/usr/bin:/bin")).run().exits_with(0).json();
    assert_eq!(result["a"], "given");
    let utils = package(&oracle::python()).join("module_utils");
    let result = file().env("MODBOX_MODULE_UTILS", utils).run().exits_with(0).json();
    assert_eq!(result["a"], "given");
    for (name, value) in [("MODBOX_MODULE_UTILS", "/nowhere"), ("MODBOX_INTERPRETER", "python")] {
        let ran = file().env(name, value).run().exits_with(2);
        assert!(ran.json()["msg"].as_str().unwrap().contains(&format!("`{name}={value}`")), "{ran}");
    }
    let ran = file().env("MODBOX_INTERPRETER", "/nowhere/python").run().exits_with(3);
    assert!(ran.json()["msg"].as_str().unwrap().contains("in `MODBOX_INTERPRETER`"), "{ran}");
}

#[test]
fn every_contract_fits_every_ansible_core() {
    for python in [oracle::python(), oracle::python_of(oracle::EARLIER)] {
        let dir = TestDir::new();
        let path = dir.write("m.py", module("module.exit_json(version=module.ansible_version)"));
        for (contract, version) in [("2.9", "2.9.27"), ("2.14", "2.14.18"), ("2.19", "2.19.14")] {
            let modbox = Modbox::run_module(&dir, &path).args(["--allow-all", "--contract", contract]).own_cache(&dir);
            let ran = modbox.arg("--interpreter").arg(&python).run().exits_with(0);
            assert_eq!(ran.json()["version"], version, "{ran}");
        }
    }
}
