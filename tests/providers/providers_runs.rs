//! Providers of libral in bash, Python and Rust: values survive, grants bound them, and `modbox resource` shows what they
//! do. `providers_check` has check mode, `providers_failures` what goes wrong.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, example_provider, repository};

/// Values that a reader could take for something else.
const HOSTILE: [&str; 24] = [
    "a b",
    "it's",
    "'",
    "''",
    "'; touch /tmp/x; '",
    "\"",
    "\"\"",
    "\\",
    "a\\",
    "\\'",
    "$(id)",
    "`id`",
    "$HOME",
    "*",
    "a\nb",
    "a\tb",
    "#x",
    "~",
    "a;b|c&d",
    "a=b=c",
    "--x",
    "\u{e9}\u{1f600}",
    "# simple",
    "ral_error: x",
];

/// Metadata of a provider with a sidecar; `%` stands for the key that a test adds.
const METADATA: &str = "provider:\n  type: thing\n  invoke: simple\n  suitable: true\n%  attributes:\n    name:\n    a:\n    b:\n      \
    type: boolean\n    list:\n      type: array[string]\n    file:\n      access: write\n    fixed:\n      kind: r\n    \
    ensure:\n      type: enum[present, absent]\n";

/// Writes a provider in bash with metadata beside it. Its body sees the arguments as variables.
pub(crate) fn provider(dir: &TestDir, name: &str, key: &str, body: &str) -> PathBuf {
    dir.write(&format!("data/providers/{name}.yaml"), METADATA.replace('%', key));
    let prelude = "#! /bin/bash\neval \"$@\"\necho '# simple'\n";
    dir.write_executable(&format!("data/providers/{name}.prov"), format!("{prelude}{body}\n"))
}

/// Prepares `modbox resource` with the providers of the test.
pub(crate) fn resource(dir: &TestDir, words: &[&str]) -> Modbox {
    Modbox::new(dir).args(["resource", "--data-dir"]).arg(dir.join("data")).args(words)
}

/// Copies the three examples, and returns their qualified names.
fn examples(dir: &TestDir) -> [&'static str; 3] {
    let folder = dir.mkdir("data/providers");
    let from = repository().join("guest-sdk/examples/providers");
    for name in ["line.prov", "line.yaml", "line_python.prov"] {
        fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    fs::copy(example_provider(), folder.join("line_rust.prov")).unwrap();
    ["line::bash", "line::python", "line::rust"]
}

#[test]
fn hostile_values_reach_every_provider_unchanged() {
    let dir = TestDir::new();
    let file = dir.write("work/it's a file", "");
    for name in examples(&dir) {
        for value in HOSTILE {
            let text = format!("text={value}");
            resource(&dir, &[name]).arg(&file).arg(&text).run().exits_with(0);
            assert_eq!(fs::read(&file).unwrap(), format!("{value}\n").as_bytes(), "{name} {value:?}");
        }
        let found = resource(&dir, &[name, "--output", "json"]).arg(&file).run().exits_with(0).json();
        assert_eq!(found["resource"]["text"], HOSTILE[23], "{name}");
    }
    dir.assert_nothing_left();
}

#[test]
fn bytes_that_are_not_text_survive_in_native_providers() {
    let dir = TestDir::new();
    let [bash, python, rust] = examples(&dir);
    let mut word = b"text=".to_vec();
    word.extend((1..=255_u8).filter(|byte| *byte != b'\n'));
    let word = OsString::from_vec(word);
    let file = dir.write("work/file", "");
    for name in [bash, python] {
        fs::write(&file, "").unwrap();
        resource(&dir, &[name]).arg(&file).arg(&word).run().exits_with(0);
        assert_eq!(fs::read(&file).unwrap(), [&word.as_bytes()[5..], b"\n"].concat(), "{name}");
    }
    fs::write(&file, "").unwrap();
    let refused = resource(&dir, &[rust]).arg(&file).arg(&word).run().exits_with(3);
    let _refused = refused.says("takes only arguments that are UTF-8");
    assert_eq!(fs::read(&file).unwrap(), b"");
}

#[test]
fn the_three_examples_do_the_same() {
    let dir = TestDir::new();
    let names = examples(&dir);
    let file = dir.mkdir("work").join("file");
    let session: [&[&str]; 8] = [
        &[],
        &["text=new"],
        &["ensure=present", "text=new"],
        &["text=new"],
        &["text=other"],
        &["--check", "ensure=absent"],
        &["ensure=absent"],
        &["ensure=absent"],
    ];
    let shown = |name: &str| -> Vec<(Option<i32>, String)> {
        let run = |words: &&[&str]| {
            let ran = resource(&dir, &["--compat", "ralsh", name]).arg(&file).args(*words).run();
            (
                ran.status.code(),
                ran.stdout_text().replace(name, "line::x").replace("FileNotFoundError: ", "").replace('`', ""),
            )
        };
        session.iter().map(run).collect()
    };
    let bash = shown(names[0]);
    let path = file.display();
    let absent = format!("line::x {{ '{path}':\n  ensure => 'absent',\n}}\n");
    assert_eq!(bash[0], (Some(0), absent.clone()));
    assert_eq!(bash[1], (Some(2), format!("failed: {path} does not exist; set ensure=present, too\n")));
    let present = |text: &str| format!("line::x {{ '{path}':\n  ensure => 'present',\n  text   => '{text}',\n}}\n");
    let changes = "ensure(absent->present)\ntext((none)->new)\n\n";
    assert_eq!(bash[2], (Some(0), present("new") + changes));
    assert_eq!(bash[3], (Some(0), present("new") + "\n"));
    assert_eq!(bash[4], (Some(0), present("other") + "text(new->other)\n\n"));
    assert_eq!(bash[5], (Some(0), absent.clone() + "ensure(present->absent)\n\n"));
    assert_eq!(bash[6], bash[5]);
    assert_eq!(bash[7], (Some(0), absent + "\n"));
    for name in &names[1..] {
        assert_eq!(shown(name), bash, "{name}");
    }
    dir.assert_nothing_left();
}

#[test]
fn a_component_is_a_provider_by_its_section() {
    let dir = TestDir::new();
    let module = dir.join("line.wasm");
    fs::copy(example_provider(), &module).unwrap();
    let file = dir.write("file", "text\n");
    let run = |words: &[&str]| Modbox::run_module(&dir, &module).args(words).report().run();
    let name = format!("name={}", file.display());
    // The second run takes what is known of the file from the cache.
    for _ in 0..2 {
        let report = run(&["ral_action=find", &name]).exits_with(0).json();
        assert_eq!(
            (&report["module"]["kind"], &report["result"]["resource"]["text"]),
            (&json!("provider"), &json!("text"))
        );
        assert_eq!(report["grants"][0]["source"], "argument name");
    }
    let described = run(&["ral_action=describe"]).exits_with(0).json();
    assert_eq!(described["result"]["provider"]["type"], "line");
    // Taken for a module, it gets a path as its argument.
    let module_run = Modbox::run_module(&dir, &module).args(["--kind", "component", &name]).run().exits_with(1);
    assert!(module_run.json()["module_stdout"].as_str().unwrap().contains("ral_error"), "{module_run}");
}

/// Returns the words and the variables that a provider gets, which it reports as an error.
fn told(dir: &TestDir, body: &str, words: &[&str]) -> String {
    let module = provider(dir, "told", "", body);
    let ran =
        Modbox::run_module(dir, module).args(words).env("ensure", "absent").env("ral_noop", "1").run().exits_with(1);
    ran.json()["msg"].as_str().unwrap().to_owned()
}

#[test]
fn words_are_in_libral_s_order() {
    let dir = TestDir::new();
    let body = "printf 'ral_error: '; printf '%s|' \"$@\"; echo; echo ral_eom";
    let words = ["ral_action=update", "name=n", "list=x", "--args", "{\"b\": true, \"a\": \"it's\"}"];
    let expect = r"the provider reported: name='n'|a='it'\''s'|b='true'|list='x'|ral_action=update|";
    assert_eq!(told(&dir, body, &words), expect);
    assert_eq!(told(&dir, body, &["ral_action=list"]), "the provider reported: ral_action=list|");
}

#[test]
fn variables_of_the_caller_are_not_arguments() {
    let dir = TestDir::new();
    let body =
        "echo \"ral_error: $ensure$ral_noop $LANG $LC_ALL $(env | cut -d= -f1 | sort | tr '\\n' ' ')\"; echo ral_eom";
    let own = ["_", "PWD", "SHLVL", "OLDPWD"];
    for (switches, expect) in [
        (&["ral_action=list"][..], vec!["C", "C", "HOME", "LANG", "LC_ALL", "PATH"]),
        (&["ral_action=list", "--allow-all"], vec!["C", "C", "HOME", "LANG", "LC_ALL", "PATH"]),
        (&["ral_action=list", "--allow-env", "EXTRA=1"], vec!["C", "C", "EXTRA", "HOME", "LANG", "LC_ALL", "PATH"]),
    ] {
        let told = told(&dir, body, switches);
        let seen: Vec<&str> = told
            .trim_start_matches("the provider reported:")
            .split_whitespace()
            .filter(|word| !own.contains(word))
            .collect();
        assert_eq!(seen, expect, "{switches:?}");
    }
}

#[test]
fn only_attributes_with_an_access_designate() {
    let dir = TestDir::new();
    let file = dir.write("work/file", "old");
    let body = "if [ $ral_action = update ]; then echo new > \"$file$a\" || { echo 'ral_error: refused'; echo ral_eom; }; echo ral_derive: true; \
        else echo name: $name; fi";
    provider(&dir, "p", "", body);
    let path = file.display().to_string();
    let run = |words: &[&str]| resource(&dir, &["thing", "n"]).args(words).run();
    let refused = run(&[&format!("a={path}"), "--output", "report"]).exits_with(1).json();
    assert_eq!(refused["msg"], "the provider reported: refused");
    assert_eq!(refused["runs"][1]["denials"][0]["allow"], "--designate a:write", "{refused:#}");
    run(&[&format!("file={path}"), "--designated", "read"]).exits_with(4).says("nothing grants that");
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    // The same by the operator, by a rule for the provider, and by the attribute.
    for words in [
        vec![format!("a={path}"), "--designate=a:write".to_owned()],
        vec![format!("a={path}"), format!("--policy={}", policy(&dir, &path).display())],
        vec![format!("file={path}")],
    ] {
        fs::write(&file, "old").unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run(&words).exits_with(0);
        assert_eq!(fs::read_to_string(&file).unwrap(), "new\n", "{words:?}");
    }
    dir.assert_nothing_left();
}

fn policy(dir: &TestDir, path: &str) -> PathBuf {
    dir.write("policy.yaml", format!("modules: {{\"thing::p\": {{allow: {{write: [\"{path}\"]}}}}}}\n"))
}

#[test]
fn looking_does_not_write_what_an_update_may() {
    let dir = TestDir::new();
    let [bash, ..] = examples(&dir);
    let file = dir.write("file", "text\n");
    let runs = resource(&dir, &[bash, "--output", "report"]).arg(&file).arg("text=new").run().exits_with(0).json();
    let access = |run: usize| runs["runs"][run]["grants"][0]["capability"].clone();
    assert_eq!((access(0), access(1)), (json!("read"), json!("write")));
    assert_eq!(runs["changes"], json!([{"attr": "text", "is": "new", "was": "text"}]));
}

#[test]
fn providers_are_chosen_by_name_or_type() {
    let dir = TestDir::new();
    for (folder, name, key) in
        [("a", "x", "  name: one\n"), ("a", "y", ""), ("b", "y", "  name: hidden\n  noop_safe: true\n"), ("b", "z", "")]
    {
        let metadata = METADATA.replace('%', key);
        let metadata = if name == "z" {
            metadata.replace("suitable: true", "suitable: {commands: [no-such-program]}")
        } else {
            metadata
        };
        dir.write(
            &format!("{folder}/providers/{name}.yaml"),
            metadata.replace("type: thing", &format!("type: t{name}")),
        );
        dir.write_executable(&format!("{folder}/providers/{name}.prov"), "#!/bin/sh\necho '# simple'\necho name: $0\n");
    }
    dir.write("a/providers/off.prov", "#!/bin/sh\n");
    let run = |words: &[&str]| {
        let both = std::env::join_paths([dir.join("a"), dir.join("b")]).unwrap();
        Modbox::new(&dir).arg("resource").args(words).env("RALSH_DATA_DIR", both).run()
    };
    let all = run(&[]).exits_with(0).says("off.prov`: it looks like a provider").says("chmod +x");
    let expect = "tx::one  suitable\nty::hidden  suitable\nty::y  suitable\ntz::z  not suitable: the command `no-such-program` is missing\n";
    assert_eq!(all.stdout_text(), expect);
    let ralsh = run(&["--compat", "ralsh"]).exits_with(0);
    assert_eq!(ralsh.stdout_text(), "tx::one\nty::hidden\nty::y\n");
    run(&["tx"]).exits_with(0);
    run(&["ty::y"]).exits_with(0);
    run(&["ty"]).exits_with(3).says("several have this type; choose one of ty::hidden, ty::y");
    run(&["tz"]).exits_with(3).says("there is none; expected one of tx::one, ty::hidden, ty::y");
    let unsuitable = "failed to use `tz::z` on this machine: the command `no-such-program` is missing";
    run(&["tz::z"]).exits_with(3).says(unsuitable);
    let explained = run(&["--explain", "ty::y"]).exits_with(0).stdout_text();
    assert!(explained.starts_with("Provider ty::y\n") && explained.contains(". kind = r\n"), "{explained}");
    // Those that are named on the command line come first.
    let included = run(&["-I", "b", "--output", "json"]).exits_with(0).json();
    let names: Vec<&Value> = included["providers"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["tx::one", "ty::hidden", "ty::hidden", "ty::y", "tz::z", "tz::z"]);
}

#[test]
fn values_have_the_types_of_the_metadata() {
    let dir = TestDir::new();
    let body = "if [ $ral_action = update ]; then echo 'ral_error: called'; echo ral_eom; \
        else echo name: $name; echo b: TRUE; echo list: x, y; echo fixed: 1; fi";
    provider(&dir, "p", "", body);
    let run = |words: &[&str]| -> RunOutput { resource(&dir, &["thing", "n", "--output", "json"]).args(words).run() };
    let found = run(&[]).exits_with(0).json();
    let about = json!({"type": "thing", "provider": "thing::p"});
    assert_eq!(found, json!({"resource": {"name": "n", "b": true, "list": ["x", "y"], "fixed": "1", "ral": about}}));
    // Nothing differs, so the update is not called.
    let same = run(&["b=true", "list=x,y"]).exits_with(0).json();
    assert_eq!(same["result"][0]["changes"], json!([]));
    assert_eq!(run(&["b=false"]).exits_with(1).json()["error"]["message"], "failed: the provider reported: called");
    for (words, expect) in [
        (&["b=yes"][..], "`yes` is not a boolean"),
        (&["list=a,,b"], "has an empty entry"),
        (&["fixed=2"], "it can only be read"),
        (&["name=m"], "it chooses the resource"),
        (&["b"], "it has no `=`"),
        (&["a=1", "a=2"], "given more than once"),
        (
            &["nothing=1"],
            "has no such attribute; expected one of ensure, a, b, file, list; `modbox resource --explain thing::p`",
        ),
    ] {
        run(words).exits_with(2).says(expect);
    }
}

#[test]
fn runs_are_audited_and_batched() {
    let dir = TestDir::new();
    let [bash, ..] = examples(&dir);
    let file = dir.write("file", "text\n");
    let log = dir.join("audit.jsonl");
    resource(&dir, &[bash, "--audit"]).arg(&log).arg(&file).arg("text=new").run().exits_with(0);
    let lines = fs::read_to_string(&log).unwrap();
    assert_eq!(lines.matches("\"module\"").count(), 2, "{lines}");
    let job = |module: &OsStr| {
        json!({"id": 1, "module": module.to_str(), "args": {"ral_action": "find", "name": file.to_str()}}).to_string()
            + "\n"
    };
    for name in ["line.prov", "line_rust.prov"] {
        let jobs = job(dir.join("data/providers").join(name).as_os_str()).repeat(2);
        let answers = Modbox::new(&dir).args(["batch", "--jobs", "1"]).stdin(jobs).run().exits_with(0).stdout_text();
        assert_eq!(answers.matches("\"text\": \"new\"").count(), 2, "{name}: {answers}");
    }
}
