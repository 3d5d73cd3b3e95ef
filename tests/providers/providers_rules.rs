//! The rules of libral's conventions, one by one, by real providers: what a provider gets, what it may print, and what
//! modbox makes of it. Where libral's own program differs from its documents, the recommended way is tested.

use std::fs;

use serde_json::{Value, json};

use crate::providers::providers_runs::{provider, resource};
use crate::support::{Modbox, TestDir};

/// Runs one action of a provider in bash that prints a text after the header, and returns its result.
fn answer(text: &str, words: &[&str]) -> Value {
    let dir = TestDir::new();
    dir.write("output", text);
    let module = provider(&dir, "p", "", "cat output");
    let ran = Modbox::run_module(&dir, module).args(words).args(["--allow-read", "."]).run();
    ran.json()
}

fn found(text: &str) -> Value {
    answer(text, &["ral_action=find", "name=n"])
}

fn listed(text: &str) -> Value {
    answer(text, &["ral_action=list"])
}

fn updated(text: &str) -> Value {
    answer(text, &["ral_action=update", "name=n", "a=1"])
}

#[track_caller]
fn fails(result: &Value, expect: &str) {
    assert_eq!(result["failed"], true, "{result}");
    let message = result["msg"].as_str().unwrap();
    assert!(message.contains(expect), "{message}");
}

#[test]
fn lines_are_trimmed_and_split_once() {
    for (text, expect) in [
        // Carriage returns, blank lines, blanks around keys and values, and no line break at the end.
        ("name: n\r\n\r\n  a :  1 \r\n", json!({"name": "n", "a": "1"})),
        ("name:n\n\n \t\nb: TRUE", json!({"name": "n", "b": true})),
        // A value may have colons and quotes, and may be empty.
        ("name: n\na: x: 'y' \"z\\\"\n", json!({"name": "n", "a": "x: 'y' \"z\\\""})),
        ("name: n\na:\n", json!({"name": "n", "a": ""})),
        // The last of several counts.
        ("name: n\na: 1\na: 2\n", json!({"name": "n", "a": "2"})),
        // An array has commas.
        ("name: n\nlist: a, b\n", json!({"name": "n", "list": ["a", "b"]})),
        ("name: n\nlist:\n", json!({"name": "n", "list": []})),
        // Other resources do not count.
        ("name: m\na: 1\nname: n\na: 2\nname: o\na: 3\n", json!({"name": "n", "a": "2"})),
        // A resource that could be made is there.
        ("name: n\nensure: absent\n", json!({"name": "n", "ensure": "absent"})),
    ] {
        let result = found(text);
        assert_eq!((&result["resource"], &result["warnings"]), (&expect, &Value::Null), "{text:?}: {result}");
    }
    for (text, expect) in [
        ("junk\n", "the line `junk` has no `:`"),
        ("# a comment\nname: n\n", "the line `# a comment` has no `:`"),
        (": 1\n", "an invalid key"),
        ("a: 1\nname: n\n", "`a` comes before the first `name`"),
        ("Name: n\n", "`Name` comes before the first `name`"),
        ("name: n\nname: n\n", "more than one resource"),
    ] {
        fails(&found(text), expect);
    }
}

#[test]
fn what_is_not_in_the_metadata_is_a_doubt() {
    for (text, expect) in [
        ("name: n\nother: 1\n", "`other`"),
        ("name: n\nensure: running\n", "`ensure`"),
        ("name: n\nb: perhaps\n", "`b`"),
        ("name: n\n# x: y\n", "`# x`"),
        ("name:\nname: n\n", "name"),
    ] {
        let result = found(text);
        let warnings = result["warnings"].as_array().unwrap_or_else(|| panic!("{text}: {result}"));
        assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().contains(expect), "{text}: {result}");
    }
}

#[test]
fn lists_keep_their_order_and_only_attributes() {
    let result = listed("name: b\na: 1\nral_unknown: x\nral_new: y\nname: a\nname: b\na: 2\n");
    let expect = json!([{"name": "b", "a": "1"}, {"name": "a"}, {"name": "b", "a": "2"}]);
    assert_eq!(result["resources"], expect, "{result}");
    assert_eq!(listed("")["resources"], json!([]));
    assert_eq!(found("")["resource"], Value::Null);
    assert_eq!(found("name: n\nral_unknown: false\n")["resource"], Value::Null, "any value counts");
}

#[test]
fn updates_name_their_changes() {
    let change = |attr: &str, is: Value, was: Value| json!({"attr": attr, "is": is, "was": was});
    for (text, changes, derive) in [
        ("", json!([]), false),
        ("ral_derive: true\n", json!([]), true),
        ("ral_derive: yes\n", json!([]), false),
        ("a: 2\n", json!([change("a", json!("2"), Value::Null)]), false),
        ("a: 2\nral_was: 1\nral_was: 0\nname: n\n", json!([change("a", json!("2"), json!("0"))]), false),
        ("b: true\nral_was: false\nral_derive: true\n", json!([change("b", json!(true), json!(false))]), true),
        (
            "list: a\nral_was: a,b\na: x\n",
            json!([change("list", json!(["a"]), json!(["a", "b"])), change("a", json!("x"), Value::Null)]),
            false,
        ),
    ] {
        let result = updated(text);
        assert_eq!((&result["changes"], &result["derive"]), (&changes, &json!(derive)), "{text}: {result}");
        assert_eq!(result["changed"], json!(derive || changes != json!([])), "{text}");
    }
    for (text, expect) in [
        ("ral_was: 1\na: 2\n", "comes before the first change"),
        ("name: m\na: 2\n", "changed `m` instead of `n`"),
        ("ral_unknown: x\na: 2\n", "does not exist"),
        ("ral_derive true\n", "has no `:`"),
    ] {
        fails(&updated(text), expect);
    }
}

#[test]
fn errors_void_everything_and_need_no_end() {
    for (text, expect) in [
        (
            "name: n\nral_error: boom\n  line two\n\nral_error: three\nral_eom\njunk\n",
            "reported: boom\nline two\nral_error: three",
        ),
        ("name: n\nral_error: boom\nmore", "reported: boom\nmore"),
        ("ral_error:\nonly text\nral_eom\n", "reported: only text"),
    ] {
        for result in [found(text), listed(text), updated(text)] {
            fails(&result, expect);
        }
    }
    // Before the header, and no output at all.
    let dir = TestDir::new();
    let run = |script: &str| {
        let module = provider(&dir, "p", "", "");
        fs::write(&module, format!("#!/bin/sh\n{script}\n")).unwrap();
        Modbox::run_module(&dir, module).arg("ral_action=list").run().json()
    };
    fails(&run("echo 'ral_error: Unknown action'; echo ral_eom"), "reported: Unknown action");
    fails(&run("true"), "there is none");
    fails(&run("echo 'name: n'"), "the first line is `name: n`; expected `# simple`");
    assert_eq!(run("printf '\\n \\n  # simple \\r\\nname: n'")["resources"], json!([{"name": "n"}]));
}

#[test]
fn an_update_is_called_with_what_differs_and_only_then() {
    let dir = TestDir::new();
    // The words of each call are kept, and `is` has what `find` prints.
    let work = dir.mkdir("work");
    let body = "cd WORK; echo \"$@\" >> calls; if [ $ral_action = find ]; then cat is; else cat answer; fi";
    provider(&dir, "p", "", &body.replace("WORK", &work.display().to_string()));
    let update = |is: &str, answer: &str, words: &[&str]| {
        dir.write("work/is", is);
        dir.write("work/answer", answer);
        dir.write("work/calls", "");
        let switches = ["thing", "n", "--output", "json", "--allow-write", "work"];
        let ran = resource(&dir, &switches).args(words).run().exits_with(0).json();
        let calls = fs::read_to_string(dir.join("work/calls")).unwrap();
        let mut entry = ran["result"][0].clone();
        entry["resource"].as_object_mut().unwrap().remove("ral");
        (calls.lines().nth(1).unwrap_or_default().to_owned(), entry["resource"].clone(), entry["changes"].clone())
    };
    let change = |attr: &str, is: &str, was: Value| json!({"attr": attr, "is": is, "was": was});
    let derive = "ral_derive: true\n";
    for (is, answer, words, call, resource, changes) in [
        ("name: n\na: 1\n", derive, &["a=1"][..], "", json!({"name": "n", "a": "1"}), json!([])),
        (
            "name: n\na: 1\nensure: present\n",
            derive,
            &["ensure=present", "a=2"],
            "name='n' a='2' ral_action=update",
            json!({"name": "n", "a": "2", "ensure": "present"}),
            json!([change("a", "2", json!("1"))]),
        ),
        // Also where the resource is unknown, or absent.
        (
            "ral_unknown: 1\n",
            derive,
            &["a=2"],
            "name='n' a='2' ral_action=update",
            json!({"name": "n", "a": "2"}),
            json!([change("a", "2", Value::Null)]),
        ),
        (
            "name: n\nensure: absent\n",
            derive,
            &["ensure=absent", "a=2"],
            "name='n' a='2' ral_action=update",
            json!({"name": "n", "ensure": "absent"}),
            json!([]),
        ),
        // Nothing is derived unless the provider says so.
        (
            "name: n\na: 1\n",
            "",
            &["a=2"],
            "name='n' a='2' ral_action=update",
            json!({"name": "n", "a": "1"}),
            json!([]),
        ),
        // Named changes come first, then derived ones by their names.
        (
            "name: n\na: 1\nfile: f\nfixed: x\n",
            "file: h\nral_was: f\nral_derive: true\n",
            &["file=g", "ensure=present", "a=2"],
            "name='n' a='2' ensure='present' file='g' ral_action=update",
            json!({"name": "n", "a": "2", "ensure": "present", "file": "h", "fixed": "x"}),
            json!([
                change("file", "h", json!("f")),
                change("a", "2", json!("1")),
                change("ensure", "present", Value::Null)
            ]),
        ),
        // A resource that is made absent has nothing else.
        (
            "name: n\na: 1\nensure: present\n",
            derive,
            &["ensure=absent", "a=2"],
            "name='n' a='2' ensure='absent' ral_action=update",
            json!({"name": "n", "ensure": "absent"}),
            json!([change("ensure", "absent", json!("present"))]),
        ),
    ] {
        let words: Vec<&str> = words.to_vec();
        let got = update(is, answer, &words);
        let path = dir.join("").display().to_string();
        let shorten = |value: &Value| value.to_string().replace(&path, "");
        assert_eq!(got.0.replace(&path, ""), call, "{is:?} {words:?}");
        assert_eq!((shorten(&got.1), shorten(&got.2)), (resource.to_string(), changes.to_string()), "{is:?} {words:?}");
    }
    // A failed look ends it.
    dir.write("work/is", "ral_error: no\n");
    resource(&dir, &["thing", "n", "a=1", "--allow-write", "work"])
        .run()
        .exits_with(1)
        .says("the provider reported: no");
    let calls = fs::read_to_string(dir.join("work/calls")).unwrap();
    assert!(!calls.ends_with("ral_action=update\n"), "{calls}");
}

#[test]
fn what_no_argument_can_hold_is_an_error_before_anything_runs() {
    let dir = TestDir::new();
    let module = provider(&dir, "p", "", "touch ran; echo ral_derive: true");
    for (args, expect) in [
        (json!({"a": "x\u{0}y"}), "NUL byte"),
        (json!({"name": "x\u{0}y"}), "NUL byte"),
        (json!({"list": ["a,b"]}), "has a comma or is empty"),
        (json!({"list": ["a", ""]}), "has a comma or is empty"),
        (json!({"a": "x".repeat(200_000)}), "200004 bytes, where the system takes at most 131071"),
        (json!({"a": 1.5}), "must be a string, a boolean, an integer or a list of strings"),
    ] {
        let mut all = json!({"ral_action": "update", "name": "n"});
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        dir.write("args.json", all.to_string());
        let words = ["--args", "@args.json", "--allow-write", "."];
        let ran = Modbox::run_module(&dir, &module).args(words).run().exits_with(1);
        fails(&ran.json(), expect);
        assert!(!dir.join("ran").exists(), "{expect}");
    }
}

#[test]
fn a_provider_gets_no_input_and_no_descriptors() {
    let dir = TestDir::new();
    let body = "printf 'ral_error: %s|' \"$(cat | wc -c)\"; for fd in /proc/self/fd/*; do case $fd in */[0-2]) ;; *) \
        [ -e $fd ] && readlink $fd ;; esac; done | grep -v /proc/ | tr '\\n' ' '; pwd; echo ral_eom";
    let module = provider(&dir, "p", "", body);
    let ran = Modbox::run_module(&dir, module).arg("ral_action=list").stdin("text for another").run().json();
    let message = ran["msg"].as_str().unwrap();
    let told = message.strip_prefix("the provider reported: 0|").unwrap_or_else(|| panic!("{message}"));
    let descriptors = told.split_whitespace().filter(|word| word.starts_with("pipe:") || word.starts_with("socket:"));
    assert_eq!(descriptors.count(), 0, "{told}");
}

#[test]
fn programs_that_metadata_needs_are_looked_for() {
    let dir = TestDir::new();
    for (name, suitable, works) in [
        ("a", "true", true),
        ("b", "\"true\"", true),
        ("c", "false", false),
        ("d", "{commands: [sh]}", true),
        ("e", "{commands: [sh, not no-such-program]}", true),
        ("f", "{commands: [not sh]}", false),
        ("g", "{commands: [no-such-program]}", false),
    ] {
        dir.write_executable(&format!("data/providers/{name}.prov"), "#!/bin/sh\n");
        let metadata = format!("provider: {{type: t, invoke: simple, suitable: {suitable}, attributes: {{name: }}}}\n");
        dir.write(&format!("data/providers/{name}.yaml"), metadata);
        let all = resource(&dir, &[]).run().exits_with(0).stdout_text();
        let word = if works { "suitable" } else { "not suitable: " };
        let line = all.lines().find(|line| line.starts_with(&format!("t::{name} "))).unwrap();
        assert!(line.starts_with(&format!("t::{name}  {word}")), "{all}");
    }
}

#[test]
fn the_answers_of_json_are_one_object() {
    let dir = TestDir::new();
    let script = "#!/bin/sh\ncat input > /dev/null 2>&1; cat output; cat error >&2; exit $(cat status)\n";
    let module = dir.write_executable("data/providers/j.prov", script);
    let metadata = "provider: {type: j, invoke: json, suitable: true, attributes: {name: , s: , b: {type: boolean}}}";
    dir.write("data/providers/j.yaml", metadata);
    let run = |args: &Value, output: &str, error: &str, status: &str| {
        dir.write("output", output);
        dir.write("error", error);
        dir.write("status", status);
        Modbox::run_module(&dir, &module).json_args(args).args(["--allow-read", "."]).run().json()
    };
    let get = json!({"ral_action": "get", "names": ["n"]});
    let all = json!({"ral_action": "get", "names": []});
    let set = json!({"ral_action": "set", "updates": [{"name": "n", "should": {"s": "1"}}]});
    let resource = |args: &Value, output: &str| run(args, output, "", "0");
    assert_eq!(
        resource(&get, r#"{"resources": [{"name": "m"}, {"name": "n", "s": 7, "b": "true"}]}"#)["resource"],
        json!({"name": "n", "b": true, "s": "7"})
    );
    assert_eq!(resource(&get, r#"{"resources": []}"#)["resource"], Value::Null);
    assert_eq!(
        resource(&all, r#"{"resources": [{"name": "b"}, {"name": "a", "s": null}]}"#)["resources"],
        json!([{"name": "b"}, {"name": "a", "s": null}])
    );
    assert_eq!(
        resource(&set, r#"{"changes": [{"name": "n", "s": {"is": "1", "was": null}}]}"#)["changes"],
        json!([{"attr": "s", "is": "1", "was": null}])
    );
    // Derived changes are only for a resource without any of its own.
    assert_eq!(
        resource(&set, r#"{"changes": [{"name": "n", "s": {"is": "1", "was": "0"}}], "derive": true}"#)["derive"],
        false
    );
    for (args, output, expect) in [
        (&get, "", "there is no output"),
        (&get, r#"{"resources": []} {}"#, "not one JSON value"),
        (&get, "[]", "must be an object"),
        (&get, "{}", "`resources` is missing"),
        (&get, r#"{"resources": {}}"#, "`resources` must be a list"),
        (&get, r#"{"resources": [{"s": "1"}]}"#, "has no `name`"),
        (&get, r#"{"resources": [{"name": "n", "s": 1.5}]}"#, "invalid type: float"),
        (&get, r#"{"resources": [{"name": "n", "s": {}}]}"#, "invalid type: dict"),
        (&get, r#"{"resources": [{"name": "n"}, {"name": "n"}]}"#, "more than one"),
        (
            &get,
            r#"{"resources": [{"name": "n", "error": {"message": "locked", "kind": "forbidden"}}]}"#,
            "reported: locked",
        ),
        (&all, r#"{"resources": [{"name": "x", "error": {"message": "locked"}}]}"#, "`x`: locked"),
        (&get, r#"{"error": {"message": "broken", "kind": "failed"}}"#, "reported: broken"),
        (&get, r#"{"error": {"kind": "failed"}}"#, "reported"),
        (&set, r#"{"changes": [{"name": "n", "s": {"is": "1"}}]}"#, "has no `was`"),
        (&set, r#"{"changes": [{"name": "n", "z": {"is": "1", "was": "0"}}]}"#, "not in the metadata"),
        (&set, r#"{"changes": [{"name": "n", "error": {"message": "gone", "kind": "unknown"}}]}"#, "does not exist"),
        (&set, r#"{"derive": "yes"}"#, "`derive` must be a boolean"),
    ] {
        fails(&resource(args, output), expect);
    }
    // A wrong exit status is an error, also beside a perfect answer and text on standard error.
    for error in ["", "info: text\n"] {
        fails(&run(&get, r#"{"resources": []}"#, error, "3"), "exited with status 3");
    }
}
