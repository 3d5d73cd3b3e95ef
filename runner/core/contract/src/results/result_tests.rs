//! Outputs and their results under the contract of 2.19. Every expected result is what ansible-core 2.19.14 registered, unless it is
//! marked as ours.

use modbox_python_json::encode;

use super::*;
use crate::results::typed::NO_TRACEBACK;

/// Reads an output as ansible-core 2.19 does.
fn parse(raw: &RawOutput<'_>) -> ModuleResult {
    ModuleResult::parse_as(raw, ResultLines::Ansible, Release::V2_19)
}

/// Compares the result without the streams, which every failure repeats.
#[track_caller]
fn check(stdout: &[u8], expect: &str) {
    let raw = RawOutput { stdout, stderr: b"", rc: 0, shebang: Some("/bin/sh") };
    let mut dict = parse(&raw).into_dict();
    for key in ["module_stdout", "module_stderr", "exception"] {
        dict.shift_remove(key);
    }
    assert_eq!(encode(&Value::Dict(dict)), expect, "for {:?}", String::from_utf8_lossy(stdout));
}

#[track_caller]
fn check_failure(stdout: &[u8], msg: &str) {
    let raw = RawOutput { stdout, stderr: b"err\xff", rc: 3, shebang: Some("/bin/sh") };
    let result = parse(&raw);
    assert_eq!(result.msg().as_deref(), Some(msg), "for {:?}", String::from_utf8_lossy(stdout));
    assert!(result.failed() && !result.changed() && !result.parsed());
    assert_eq!(result.as_dict()["rc"], Value::Int(3));
    assert_eq!(result.as_dict()["module_stdout"], Value::from(String::from_utf8_lossy(stdout)));
    assert_eq!(result.as_dict()["module_stderr"], Value::from("err\u{fffd}"));
}

#[test]
fn accepts_output_that_ansible_accepts() {
    check(b"motd\n{\"changed\": true}\n", r#"{"changed": true, "failed": false}"#);
    check(b"{\"a\": NaN, \"a\": 1e400}", r#"{"a": Infinity, "failed": false, "changed": false}"#);
    check(b"\xff\n{}", r#"{"failed": false, "changed": false}"#);
    check(
        b"{}\nbye\n",
        r#"{"failed": false, "changed": false, "warnings": ["Module invocation had junk after the JSON data: bye"]}"#,
    );
    check(
        br#"{"stdout": "a\nb", "stderr": null}"#,
        r#"{"stdout": "a\nb", "stderr": null, "stdout_lines": ["a", "b"], "stderr_lines": [], "failed": false, "changed": false}"#,
    );
    check(br#"{"rc": "0", "failed": ""}"#, r#"{"rc": "0", "failed": "", "changed": false}"#);
}

#[test]
fn refuses_output_that_ansible_refuses() {
    check_failure(b"", "Module result deserialization failed: No start of json char found");
    check_failure(b"{} x", "Module result deserialization failed: No end of json char found");
    check_failure(b"{}\n{}", "Module result deserialization failed: Extra data: line 2 column 1 (char 3)");
    check_failure(
        b"{\"a\": \"\xff\xfe\xe2\x82\", b}\n",
        "Module result deserialization failed: Expecting property name enclosed in double quotes: line 1 column 15 (char 14)",
    );
    check_failure(
        b"{\"a\": \"x\xff\"}",
        "Task failed: Refusing to deserialize an invalid UTF8 string value: 'utf-8' codec can't encode character '\\udcff' in position 1: surrogates not allowed",
    );
    check_failure(
        br#"{"\ud800\ud800": 1}"#,
        "Task failed: Refusing to deserialize an invalid UTF8 string value: 'utf-8' codec can't encode characters in position 0-1: surrogates not allowed",
    );
    check_failure(br#"{"stdout": [1]}"#, "Task failed: 'list' object has no attribute 'splitlines'");
    check_failure(br#"{"ansible_facts": null}"#, "Task failed: 'NoneType' object has no attribute 'keys'");
    let deep = format!("{{\"a\": {}", "[".repeat(3000));
    check_failure(
        (deep + "}").as_bytes(),
        "Task failed: maximum recursion depth exceeded while decoding a JSON array from a unicode string",
    );
}

#[test]
fn completes_failed_results() {
    check(
        br#"{"failed": "no"}"#,
        r#"{"failed": true, "changed": false, "msg": "Task failed: Module failed: Unknown error."}"#,
    );
    check(
        br#"{"rc": 1}"#,
        r#"{"rc": 1, "failed": true, "changed": false, "msg": "Task failed: Action failed: Unknown error."}"#,
    );
    check(br#"{"rc": 1, "failed": false}"#, r#"{"rc": 1, "failed": false, "changed": false}"#);
    check(
        br#"{"failed": true, "exception": {"__ansible_type": "ErrorSummary", "event": {"__ansible_type": "Event",
            "msg": "outer.", "chain": {"__ansible_type": "EventChain", "msg_reason": "r", "traceback_reason": "t",
            "event": {"__ansible_type": "Event", "msg": "inner"}}}}}"#
            .as_slice(),
        r#"{"failed": true, "changed": false, "msg": "Task failed: Module failed: outer: inner"}"#,
    );
}

#[test]
fn keeps_the_traceback_that_was_sent() {
    for (stdout, expect) in [
        (&br#"{"failed": true, "exception": "TB"}"#[..], Some("TB")),
        (br#"{"failed": true}"#, Some(NO_TRACEBACK)),
        (br#"{"exception": ""}"#, None),
        (br#"{"exception": "TB"}"#, Some("TB")),
    ] {
        let result = parse(&RawOutput { stdout, stderr: b"", rc: 0, shebang: None });
        assert_eq!(result.as_dict().get("exception").and_then(Value::as_str), expect);
    }
}

#[test]
fn removes_reserved_keys() {
    check(
        br#"{"_ansible_a": [1.5, null], "x": [{"_ansible_b": 2}], "add_host": {}, "results": 3, "_ansible_parsed": 0,
            "ansible_facts": {"discovered_interpreter_python": 1, "b": 2}, "warnings": ["w", "w", 1]}"#,
        concat!(
            r#"{"x": [{}], "ansible_facts": {"b": 2}, "ansible_module_results": 3, "failed": false, "changed": false, "#,
            r#""warnings": ["Found internal 'results' key in module return, renamed to 'ansible_module_results'.", "#,
            r#""Removed unexpected internal key in module return: _ansible_a", "#,
            r#""Removed unexpected internal key in module return: add_host", "w", "1"]}"#
        ),
    );
}

#[test]
fn warnings_of_2_22_are_accepted() {
    check(
        br#"{"warnings": [{"__ansible_type": "WarningSummary", "event": {"__ansible_type": "Event", "msg": "m", "redact_source_context": false}}]}"#,
        r#"{"failed": false, "changed": false, "warnings": ["m"]}"#,
    );
}

#[test]
fn secrets_that_a_module_tells_are_apart() {
    let raw = |stdout| RawOutput { stdout, stderr: b"", rc: 0, shebang: None };
    let output = br#"{"msg": "Q7", "_ansible_new_secrets": ["Q7", 5]}"#;
    for release in Release::ALL {
        let mut result = ModuleResult::parse_as(&raw(output), ResultLines::Ansible, release);
        assert_eq!(result.to_json(), r#"{"msg": "Q7", "failed": false, "changed": false}"#);
        assert_eq!(result.secrets().unwrap().iter().collect::<Vec<_>>(), ["Q7", "5"]);
        result.show(|_| Dict::new());
        assert!(!format!("{result:?}").contains("Q7"), "{result:?}");
        assert_eq!(encode(&Value::Dict(result.to_clear().unwrap())).matches("Q7").count(), 1);
    }
    assert!(parse(&raw(b"{}")).secrets().is_none());
    assert!(parse(&raw(b"{}")).to_clear().is_none());
    let failed = ModuleResult::runner_failure("too slow", Some(&raw(output)));
    assert_eq!(failed.as_dict()["module_stdout"].as_str().unwrap().matches("$REDACTED$").count(), 3);
    assert_eq!(failed.secrets().unwrap().iter().collect::<Vec<_>>(), ["Q7", "5"]);
}

#[test]
fn says_when_the_interpreter_is_missing() {
    for (shebang, stderr, expect) in [
        (Some("/x/perl"), "sh: 1: /x/perl: not found", "The module interpreter '/x/perl' was not found."),
        (
            Some("/x/perl -w"),
            "/x/perl: No such file or directory",
            "The module interpreter '/x/perl -w' was not found.",
        ),
        (Some("/x/perl"), "/x/ruby: not found", "Module result deserialization failed: No start of json char found"),
        (None, "/x/perl: not found", "Module result deserialization failed: No start of json char found"),
    ] {
        let raw = RawOutput { stdout: b"", stderr: stderr.as_bytes(), rc: 127, shebang };
        assert_eq!(parse(&raw).msg().as_deref(), Some(expect));
    }
}

#[test]
fn takes_the_last_json_line_when_asked_to() {
    let raw = |stdout| RawOutput { stdout, stderr: b"", rc: 0, shebang: None };
    let parse = |stdout| ModuleResult::parse_as(&raw(stdout), ResultLines::LastJsonLine, Release::V2_19);
    assert_eq!(
        parse(b"{\"log\": 1}\n {\"a\": 2} \n{junk}\nbye\n").to_json(),
        r#"{"a": 2, "failed": false, "changed": false}"#
    );
    assert_eq!(parse(b"{\n}\n").msg().unwrap(), "Module result deserialization failed: No line is a JSON object");
}

#[test]
fn makes_results_for_failures_of_the_runner() {
    let raw = RawOutput { stdout: b"half", stderr: b"", rc: 137, shebang: None };
    assert_eq!(
        ModuleResult::runner_failure("too slow", Some(&raw)).to_json(),
        r#"{"failed": true, "msg": "too slow", "module_stdout": "half", "module_stderr": "", "rc": 137, "changed": false}"#
    );
    assert_eq!(
        ModuleResult::runner_failure("cannot start", None).to_json(),
        r#"{"failed": true, "msg": "cannot start", "changed": false}"#
    );
}

#[test]
fn what_the_runner_tells_replaces_what_a_module_put_in_its_place() {
    let told = |text: &str, told: Option<&str>| {
        let mut result = parse(&RawOutput { stdout: text.as_bytes(), stderr: b"", rc: 0, shebang: None });
        result.set_told(told.map(Value::from).as_ref());
        result.as_dict().get("invocation").map(encode)
    };
    let forged = r#"{"invocation": {"modbox": "forged", "module_args": {}}}"#;
    assert_eq!(told(forged, None).as_deref(), Some(r#"{"module_args": {}}"#));
    assert_eq!(told(forged, Some("x")).as_deref(), Some(r#"{"modbox": "x", "module_args": {}}"#));
    assert_eq!(told("{}", Some("x")).as_deref(), Some(r#"{"modbox": "x"}"#));
    assert_eq!(told(r#"{"invocation": 1}"#, Some("x")).as_deref(), Some(r#"{"modbox": "x"}"#));
    assert_eq!(told("{}", None), None);
}

#[test]
fn repeated_arguments_can_be_dropped() {
    let text = br#"{"invocation": {"module_args": {}}, "changed": true}"#;
    let mut result = ModuleResult::parse(&RawOutput { stdout: text, stderr: b"", rc: 0, shebang: None });
    result.drop_invocation();
    assert_eq!(result.to_json(), r#"{"changed": true, "failed": false}"#);
}
