//! The example modules in Rust, by their own cases, and what `modbox test` says of requests that a case answers.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{Modbox, RunOutput, TestDir, example_module, repository};

fn test(dir: &TestDir, module: &str, cases: PathBuf) -> RunOutput {
    Modbox::new(dir).arg("test").arg(example_module(module)).arg("--cases").arg(cases).run()
}

#[test]
fn the_examples_pass_their_cases() {
    for (module, passed) in [("toml_value", 6), ("host_record", 5)] {
        let dir = TestDir::new();
        let cases = repository().join("guest-sdk/examples/rust").join(module).join("cases");
        let ran = test(&dir, module, cases).exits_with(0);
        assert!(ran.stdout_text().ends_with(&format!("\n{passed} passed, 0 failed\n")), "{ran}");
        dir.assert_nothing_left();
    }
}

#[test]
fn a_file_that_cannot_be_parsed_is_named_with_the_place() {
    let dir = TestDir::new();
    let file = dir.write("app.toml", "[server]\nport = = 1\n");
    let run = Modbox::run_module(&dir, example_module("toml_value"))
        .json_args(&json!({"path": file, "key": "a", "value": 1}));
    let message = run.run().exits_with(1).json()["msg"].as_str().unwrap().to_owned();
    assert!(
        message
            .starts_with(&format!("failed to read `{}` as TOML: TOML parse error at line 2, column 8", file.display())),
        "{message}"
    );
    for (args, expect) in [
        (json!({"path": dir.join("new.toml"), "key": "a..b", "value": 1}), "`a..b` is not a key: "),
        (
            json!({"path": dir.write("list.toml", "a = 1\n"), "key": "a.b", "value": 1}),
            "`a` is a value and not a table",
        ),
        (
            json!({"path": dir.write("bytes.toml", b"a = 1\nb = \"\xff\"\n"), "key": "a", "value": 1}),
            "it is not UTF-8 in line 2",
        ),
    ] {
        let failed = Modbox::run_module(&dir, example_module("toml_value")).json_args(&args).run().exits_with(1).json();
        assert!(failed["msg"].as_str().unwrap().contains(expect), "{failed}");
    }
    assert!(!dir.join("new.toml").exists());
}

#[test]
fn a_case_tells_each_difference_of_the_requests() {
    let dir = TestDir::new();
    let args = json!({"url": "https://api.example.org", "name": "web1", "address": "192.0.2.2"});
    let url = "https://api.example.org/hosts/web1";
    let case = |name: &str, http: serde_json::Value, status: &str| {
        let allow = json!({"net": ["api.example.org:443"]});
        let case = json!({"args": args, "allow": allow, "http": http, "expect": {"status": status}});
        dir.write(&format!("cases/{name}.json"), case.to_string());
    };
    let there = json!({"url": url, "answer": {"json": {"address": "192.0.2.1"}}});
    case("1-unknown", json!([there]), "failed");
    case(
        "2-missing",
        json!([{"url": url, "answer": {"json": {"address": "192.0.2.2"}}}, {"url": "http://other"}]),
        "ok",
    );
    let put = json!({"method": "PUT", "url": url, "headers": {"x-token": "a"}, "json": {"address": "::1"}});
    case("3-other", json!([there, put]), "changed");
    case("4-none", json!([]), "failed");
    let ran = test(&dir, "host_record", dir.join("cases")).exits_with(1);
    let shown = ran.stdout_text();
    for expect in [
        "FAILED 1-unknown\n  PUT https://api.example.org/hosts/web1: the case does not expect this request\n",
        "FAILED 2-missing\n  GET http://other/: expected, and the module did not ask\n",
        "FAILED 3-other\n  PUT https://api.example.org/hosts/web1: header x-token: expected `a`, and it was not sent\n  \
         PUT https://api.example.org/hosts/web1: body: expected {\"address\":\"::1\"}, got {\"address\":\"192.0.2.2\"}\n",
        "FAILED 4-none\n  GET https://api.example.org/hosts/web1: the case does not expect this request\n  the module said: ",
        "\n0 passed, 4 failed\n",
    ] {
        assert!(shown.contains(expect), "{expect}\n{ran}");
    }
    dir.assert_nothing_left();
}

#[test]
fn answers_of_a_case_need_the_grants_of_the_network() {
    let dir = TestDir::new();
    let case = json!({
        "args": {"url": "https://api.example.org", "name": "web1", "state": "absent"},
        "http": [{"url": "https://api.example.org/hosts/web1", "answer": {"status": 404}}],
        "expect": {"status": "ok"},
    });
    dir.write("cases/denied.json", case.to_string());
    let ran = test(&dir, "host_record", dir.join("cases")).exits_with(1);
    let shown = ran.stdout_text();
    assert!(shown.contains("GET https://api.example.org/hosts/web1: expected, and the module did not ask"), "{ran}");
    assert!(shown.contains("allow it with `--allow-net api.example.org`"), "{ran}");
}

#[test]
fn mistakes_in_a_case_are_named_before_anything_runs() {
    let dir = TestDir::new();
    let file = dir.write("cases/one.yaml", "http: [{url: api.example.org}]\nexpect: {status: ok}\n");
    let told = test(&dir, "host_record", dir.join("cases")).exits_with(3).stderr_text();
    assert!(
        told.contains(&format!(
            "failed to read the case `{}`: `api.example.org` in `http` is not a URL",
            file.display()
        )),
        "{told}"
    );
    test(&dir, "host_record", dir.join("none")).exits_with(3).says("failed to find a case in");
    let here = Modbox::new(&dir).arg("test").arg(example_module("host_record")).run().exits_with(3);
    here.says("in `http` is not a URL");
}
