//! Runs the same module files in a playbook of the real ansible-core and in modbox, and compares.
//!
//! One play serves many tests, since starting Ansible takes longer than most tasks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use modbox_contract::{Dict, Release, Value as PythonValue, decode, encode};
use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, c_core, fixture, guest, module, native_c, oracle};

/// What a module does, as the end of a shell script.
const BODIES: [(&str, &str); 21] = [
    ("good", r#"echo '{"changed": true, "msg": "é", "stdout": "a\u2028b", "n": 1.50, "big": 123456789012345678901}'"#),
    ("junk_before", r#"echo 'note {x'; echo; echo '{"a": 1}'"#),
    ("junk_after", r#"echo '{"a": 1}'; echo 'done: 1'; echo; echo two"#),
    ("junk_on_the_line", r#"echo '{"a": 1} done'"#),
    ("two_documents", r#"echo '{"a": 1}'; echo '{"b": 2}'"#),
    ("cut_off", r#"echo '{"a": 1, "b": }'"#),
    ("a_list", "echo '[1]'"),
    ("not_utf8", r#"printf '{"text": "a\377\376b"}\n'"#),
    ("not_utf8_in_junk", r#"printf '{"a": 1}\njunk\377\n'"#),
    ("nan", r#"echo '{"x": NaN, "y": -Infinity}'"#),
    ("no_output", ":"),
    ("only_stderr", "echo trouble >&2"),
    ("exit_3_with_result", r#"echo '{"a": 1}'; echo trouble >&2; exit 3"#),
    ("exit_3_without_result", "echo out; echo trouble >&2; exit 3"),
    ("death_by_signal", "echo before >&2; kill -KILL $$"),
    ("death_after_result", r#"echo '{"a": 1}'; kill -TERM $$"#),
    ("failed", r#"echo '{"failed": true}'"#),
    ("failed_with_traceback", r#"echo '{"failed": "yes", "msg": "no", "exception": "Traceback (most recent …"}'"#),
    ("rc", r#"echo '{"rc": 2, "warnings": ["w", ""], "skipped": false}'"#),
    ("reserved_keys", r#"echo '{"_ansible_x": {"y": 1}, "add_host": 2, "results": "x", "a": [{"_ansible_z": 1}]}'"#),
    ("invocation", r#"echo '{"invocation": {"module_args": {"a": 1}}}'"#),
];

const KINDS: [&str; 4] = ["want_json", "old_style", "jsonargs", "binary"];

/// Makes a module of a kind that `interpreter` runs.
fn classic(kind: &str, interpreter: &str, body: &str) -> String {
    let (mark, end) = match kind {
        "want_json" => ("# WANT_JSON\n", ""),
        "jsonargs" => ("# <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>\n", ""),
        // No text holds this byte, so this is a binary, which the kernel starts.
        "binary" => ("", "exit $?\n\0"),
        _ => ("", ""),
    };
    format!("#!{interpreter}\n{mark}{body}\n{end}")
}

/// The result of a module on each side.
struct Sides {
    name: String,
    ansible: Dict,
    modbox: Dict,
}

/// The results of all classic modules, from one play and from one modbox run each.
static CLASSIC: LazyLock<Vec<Sides>> = LazyLock::new(|| {
    let dir = TestDir::new();
    let mut names = Vec::new();
    let mut write = |name: String, content: &[u8]| {
        dir.write_executable(&format!("library/{name}"), content);
        names.push(name);
    };
    for kind in KINDS {
        for (case, body) in BODIES {
            write(format!("{kind}_{case}"), classic(kind, "/bin/sh", body).as_bytes());
        }
        write(format!("{kind}_missing_interpreter"), classic(kind, "/no/such/interpreter", "").as_bytes());
        write(format!("{kind}_env"), classic(kind, "/usr/bin/env sh", "echo '{\"a\": 1}'").as_bytes());
    }
    for file in ["want_json.sh", "want_json.py", "want_json.pl", "old_style.sh", "jsonargs.py"] {
        let content = fs::read(fixture(&format!("authoring/kinds/hello_{file}"))).unwrap();
        write(format!("hello_{}", file.replace('.', "_")), &content);
    }
    write("hello_binary".into(), &fs::read(native_c("authoring/kinds/hello.c")).unwrap());
    let args = json!({"name": "it's \"ünï\"\n$HOME\\", "n": 3, "loud": true});
    let tasks: Vec<Value> = names.iter().map(|name| json!({name: args})).collect();
    let registered = dicts(&oracle::play_to_text(&dir, &tasks, &[]));
    let python = format!("python={}", oracle::python().display());
    let release = Release::of_version(oracle::version()).as_str();
    let run = |name: &String| {
        let modbox = Modbox::run_module(&dir, dir.join("library").join(name));
        let modbox = modbox.args(["--allow-all", "--interpreter", &python, "--contract", release]);
        let ran = modbox.json_args(&args).run();
        dicts(&format!("[{}]", ran.stdout_text())).remove(0)
    };
    let both = names.iter().zip(registered);
    both.map(|(name, ansible)| Sides { name: name.clone(), ansible, modbox: run(name) }).collect()
});

fn dicts(list: &str) -> Vec<Dict> {
    let list = decode(list).unwrap_or_else(|error| panic!("{error}: {list}"));
    list.as_list().unwrap().iter().map(|value| value.as_dict().unwrap().clone()).collect()
}

/// Asserts that both sides agree for the selected modules, except for the intended differences in `contract::result`.
#[track_caller]
fn check_classic(chosen: impl Fn(&str) -> bool) {
    let chosen: Vec<&Sides> = CLASSIC.iter().filter(|sides| chosen(&sides.name)).collect();
    assert!(!chosen.is_empty());
    let mut differences = String::new();
    for Sides { name, ansible, modbox } in chosen {
        let (ansible, modbox) = (comparable(ansible, ansible), comparable(modbox, ansible));
        if ansible != modbox {
            differences += &format!("{name}\n  ansible {ansible:#?}\n  modbox  {modbox:#?}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Returns a result's keys and values without the intended differences.
fn comparable(result: &Dict, ansible: &Dict) -> BTreeMap<String, String> {
    let refused = result.get("msg").and_then(PythonValue::as_str).is_some_and(|msg| msg.starts_with("Task failed"));
    let kept = |key: &str| match key {
        "invocation" => false,
        "module_stdout" | "module_stderr" | "rc" => ansible.contains_key(key) || !refused,
        _ => true,
    };
    let value = |key: &str, value: &PythonValue| match key {
        // Ansible hides the traceback.
        "exception" => "a traceback".to_owned(),
        // Each run has a different directory, which a shell may name.
        "module_stderr" => encode(value).split('/').next_back().unwrap_or_default().to_owned(),
        "warnings" => encode(&without_reserved(value)).replace("\\udcff", "\\ufffd"),
        // modbox removes reserved keys at every depth; Ansible since 2.21 only those of the result itself.
        _ => encode(value).replace(r#"{"_ansible_z": 1}"#, "{}"),
    };
    let kept = result.iter().filter(|(key, _)| kept(key.as_str()));
    kept.map(|(key, found)| (key.clone(), value(key.as_str(), found))).collect()
}

/// Returns warnings without the values of reserved keys, which Ansible shows until 2.20.
fn without_reserved(warnings: &PythonValue) -> PythonValue {
    let PythonValue::List(warnings) = warnings else { return warnings.clone() };
    let shown = |warning: &PythonValue| {
        let text = warning.as_str().filter(|text| text.starts_with("Removed unexpected internal key"));
        let key = text.and_then(|text| text.split_once(" = "));
        key.map_or_else(|| warning.clone(), |(key, _)| key.into())
    };
    PythonValue::List(warnings.iter().map(shown).collect())
}

#[test]
fn want_json_modules_give_the_result_that_ansible_registers() {
    check_classic(|name| name.starts_with("want_json_") && name != "want_json_env");
}

#[test]
fn old_style_modules_give_the_result_that_ansible_registers() {
    check_classic(|name| name.starts_with("old_style_") && name != "old_style_env");
}

#[test]
fn jsonargs_modules_give_the_result_that_ansible_registers() {
    check_classic(|name| name.starts_with("jsonargs_") && name != "jsonargs_env");
}

#[test]
fn binary_modules_give_the_result_that_ansible_registers() {
    check_classic(|name| name.starts_with("binary_"));
}

#[test]
fn arguments_reach_every_language_as_ansible_passes_them() {
    check_classic(|name| name.starts_with("hello_"));
    for sides in CLASSIC.iter().filter(|sides| sides.name.starts_with("hello_")) {
        let greeting = sides.ansible["greeting"].as_str();
        assert_eq!(greeting, Some("hello it's \"ünï\"\n$HOME\\!"), "{}", sides.name);
    }
}

/// ansible-core since 2.19 takes the whole `#!` line of a script for the name of a program; earlier releases did not.
#[test]
fn words_behind_an_interpreter_stay_words_as_before_2_19() {
    for sides in CLASSIC.iter().filter(|sides| sides.name.ends_with("_env") && !sides.name.starts_with("binary")) {
        let msg = sides.ansible["msg"].as_str();
        assert_eq!(msg, Some("The module interpreter '/usr/bin/env sh' was not found."), "{}", sides.name);
        let mut keys: Vec<(&str, String)> = sides.modbox.iter().map(|(key, value)| (&**key, encode(value))).collect();
        keys.sort_unstable();
        let (no, one) = ("false".to_owned(), "1".to_owned());
        assert_eq!(keys, [("a", one), ("changed", no.clone()), ("failed", no)], "{}", sides.name);
    }
}

/// A play of WebAssembly modules, with its registered results and the files that it left.
struct WasmPlay {
    dir: TestDir,
    library: PathBuf,
    tasks: Vec<(&'static str, Value)>,
}

impl WasmPlay {
    fn new() -> Self {
        let dir = TestDir::new();
        let library = dir.mkdir("library");
        Self { dir, library, tasks: Vec::new() }
    }

    /// Puts a module into the playbook's library, behind a `#!` line that names modbox.
    fn install(&self, name: &str, options: &str, wasm: &Path) {
        let line = format!("#!{}{options}\n", env!("CARGO_BIN_EXE_modbox"));
        let content = [line.as_bytes(), &fs::read(wasm).unwrap()].concat();
        fs::write(self.library.join(format!("{name}.wasm")), content).unwrap();
    }

    fn task(&mut self, name: &'static str, task: Value) {
        self.tasks.push((name, task));
    }

    fn play(&self) -> BTreeMap<&'static str, Value> {
        let tasks: Vec<Value> = self.tasks.iter().map(|(_, task)| task.clone()).collect();
        let names = self.tasks.iter().map(|(name, _)| *name);
        names.zip(oracle::play(&self.dir, &tasks, &[])).collect()
    }
}

#[test]
fn ansible_runs_components_and_core_modules_from_a_library() {
    let mut play = WasmPlay::new();
    play.install("wasm_hello", "", &guest("hello"));
    play.install("core_hello", "", &c_core("authoring/kinds/hello.c"));
    play.install("wasm_echo", "", &guest("echo"));
    play.install("wasm_output", "", &guest("output"));
    play.install("wasm_options", " --allow-all", &guest("hello"));
    let args = json!({"name": "it's \"ünï\"\n\\", "n": 3, "loud": true});
    play.task("normal", json!({"wasm_hello": args}));
    play.task("core", json!({"core_hello": args}));
    play.task("check", json!({"wasm_hello": args, "check_mode": true}));
    play.task("async", json!({"wasm_hello": args, "async": 20, "poll": 1}));
    play.task("echo", json!({"wasm_echo": {"a": null, "b": [1.5]}, "diff": true, "environment": {"STAGE": "test"}}));
    play.task("no_result", json!({"wasm_output": {"stdout": "", "code": 3}}));
    play.task("options", json!({"wasm_options": args}));
    let registered = play.play();

    let greeted = json!({"changed": false, "failed": false, "greeting": "hello it's \"ünï\"\n\\!", "n": 3});
    assert_eq!(registered["normal"], greeted);
    assert_eq!(registered["core"], greeted);
    assert_eq!(registered["check"]["check"], true);
    let from_async = &registered["async"];
    assert_eq!(
        (&from_async["greeting"], &from_async["finished"]),
        (&greeted["greeting"], &json!(true)),
        "{from_async}"
    );

    let echo = &registered["echo"];
    assert_eq!(echo["argv"], json!(["wasm_echo", "/args/args.json"]));
    assert_eq!(echo["env"], json!({}));
    // Ansible made another one, which the guest cannot see.
    assert_eq!(echo["tmpdir"], "/tmp/");
    let args: Value = serde_json::from_str(echo["args"].as_str().unwrap()).unwrap();
    assert_eq!((&args["a"], &args["b"]), (&Value::Null, &json!([1.5])));

    let no_result = &registered["no_result"];
    assert_eq!(no_result["failed"], true);
    assert_eq!(no_result["msg"], "Module result deserialization failed: No start of json char found");

    let options = &registered["options"];
    assert_eq!(options["failed"], true);
    let msg = options["msg"].as_str().unwrap();
    assert!(msg.contains("has the option `--allow-all`, which a module must not set"), "{msg}");
    assert!(options.get("greeting").is_none(), "{options}");
    play.dir.assert_nothing_left();
}

#[test]
fn ansible_changes_files_where_a_policy_grants_it_and_nowhere_else() {
    let mut play = WasmPlay::new();
    play.install("wasm_line", "", &module("lineinfile"));
    play.install("wasm_copy", "", &module("copy"));
    let (granted, closed) = (play.dir.mkdir("granted"), play.dir.mkdir("closed"));
    play.dir.write(
        "home/.config/modbox/policy.yaml",
        format!("designated: none\nallow:\n  write: [{}]\n", granted.display()),
    );
    for folder in [&granted, &closed] {
        fs::write(folder.join("lines"), "one\n").unwrap();
        fs::write(folder.join("watched"), "one\n").unwrap();
    }
    let line = |folder: &Path, file: &str| json!({"path": folder.join(file), "line": "two"});
    play.task("line", json!({"wasm_line": line(&granted, "lines"), "diff": true}));
    play.task("again", json!({"wasm_line": line(&granted, "lines"), "diff": true}));
    play.task("check", json!({"wasm_line": line(&granted, "watched"), "check_mode": true, "diff": true}));
    play.task("copy", json!({"wasm_copy": {"content": "ünï\n", "dest": granted.join("new")}, "async": 20, "poll": 1}));
    play.task("denied", json!({"wasm_line": line(&closed, "lines")}));
    play.task("outside", json!({"wasm_line": line(&granted.join(".."), "closed/lines")}));
    let registered = play.play();

    let line = &registered["line"];
    assert_eq!((&line["changed"], &line["msg"]), (&json!(true), &json!("line added")), "{line}");
    assert_eq!(
        (&line["diff"][0]["before"], &line["diff"][0]["after"]),
        (&json!("one\n"), &json!("one\ntwo\n")),
        "{line}"
    );
    assert_eq!(registered["again"]["changed"], false);
    assert_eq!(fs::read_to_string(granted.join("lines")).unwrap(), "one\ntwo\n");

    let check = &registered["check"];
    assert_eq!((&check["changed"], &check["diff"][0]["after"]), (&json!(true), &json!("one\ntwo\n")), "{check}");
    assert_eq!(fs::read_to_string(granted.join("watched")).unwrap(), "one\n");

    assert_eq!(registered["copy"]["changed"], true, "{}", registered["copy"]);
    assert_eq!(fs::read_to_string(granted.join("new")).unwrap(), "ünï\n");

    let denied = &registered["denied"];
    assert_eq!((&denied["failed"], &denied["changed"]), (&json!(true), &json!(false)));
    let msg = denied["msg"].as_str().unwrap();
    assert!(msg.contains(&format!("names `{}` to write", closed.join("lines").display())), "{msg}");
    assert!(msg.contains(&format!("--allow-write {}", closed.display())), "{msg}");
    assert_eq!(registered["outside"]["failed"], true, "{}", registered["outside"]);
    assert_eq!(fs::read_to_string(closed.join("lines")).unwrap(), "one\n");
    play.dir.assert_nothing_left();
}
