//! `modbox audit`: shows what `--audit` wrote, and survives what others wrote.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, small_module};

/// Text that ends strings, tags, comments and scripts of HTML, and moves the cursor of a terminal.
const HOSTILE: &str =
    "</summary></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'`-->&lt;\u{1b}[2J\u{202e}\n";

/// A line of an audit log, with entries in place of its own.
fn line(time: &str, name: &str, status: &str, more: &Value) -> String {
    let mut line = json!({
        "time": time, "duration_us": 12_345, "status": status, "exit": 0,
        "who": {"uid": 0, "user": "root", "login": "jane"},
        "module": {"path": format!("/m/{name}.wasm"), "name": name, "kind": "component"},
        "denials": [], "grants": [], "notes": [],
    });
    for (key, value) in more.as_object().unwrap() {
        line[key] = value.clone();
    }
    line.to_string() + "\n"
}

/// Returns the modules' names in a table, from the top.
fn names(table: &str) -> Vec<&str> {
    let rows = table.lines().skip(1).filter(|line| !line.starts_with(' '));
    rows.map(|row| row.split_whitespace().nth(2).unwrap()).collect()
}

fn three_runs(dir: &TestDir) -> PathBuf {
    let denial =
        json!({"capability": "read", "subject": "/etc/x", "operation": "open", "allow": "--allow-read /etc/x"});
    let text = line("2026-11-23T08:00:00.5Z", "ping", "ok", &json!({}))
        + &line("2026-11-24T08:00:00Z", "a.b.copy", "failed", &json!({"exit": 1, "denials": [denial, {"omitted": 2}]}))
        + &line("2026-11-24T09:00:00Z", "slow", "interrupted", &json!({"exit": null, "notes": ["it was late"]}));
    dir.write("log", text)
}

#[test]
fn a_table_shows_what_runs_wrote() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    Modbox::run_module(&dir, &module).args(["--audit", "log"]).run().exits_with(0);
    Modbox::run_module(&dir, "./missing.wasm").args(["--audit", "log"]).run().exits_with(3);
    let table = Modbox::new(&dir).args(["audit", "log"]).run().exits_with(0).stdout_text();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 3, "{table}");
    assert_eq!(rows[1][2..6], ["small", "core", "ok", "0"]);
    assert_eq!(rows[2][2..6], ["missing.wasm", "-", "failed", "3"]);
    let details = Modbox::new(&dir).args(["audit", "-v", "log"]).run().exits_with(0).stdout_text();
    assert!(details.ends_with("    error: there is no module file `./missing.wasm`\n"), "{details}");
    dir.assert_nothing_left();
}

#[test]
fn filters_leave_out_runs() {
    let dir = TestDir::new();
    three_runs(&dir);
    let shown = |options: &[&str]| {
        let table = Modbox::new(&dir).args(["audit", "log"]).args(options).run().exits_with(0).stdout_text();
        names(&table).join(" ")
    };
    assert_eq!(shown(&[]), "ping a.b.copy slow");
    assert_eq!(shown(&["--since", "2026-11-24"]), "a.b.copy slow");
    assert_eq!(shown(&["--since", "2026-11-24T09:30:00+01:00"]), "slow");
    assert_eq!(shown(&["--denied"]), "a.b.copy");
    assert_eq!(shown(&["--failed"]), "a.b.copy slow");
    assert_eq!(shown(&["--module", "*.copy"]), "a.b.copy");
    assert_eq!(shown(&["--module", "slow.wasm", "--failed"]), "slow");
    assert_eq!(shown(&["--module", "copy"]), "");
    Modbox::new(&dir).args(["audit", "--since", "yesterday", "log"]).run().exits_with(2).says("is not a time");
}

#[test]
fn a_duration_counts_back_from_now() {
    let dir = TestDir::new();
    let now = rfc3339(SystemTime::now());
    dir.write("log", line("2026-01-01T00:00:00Z", "old", "ok", &json!({})) + &line(&now, "new", "ok", &json!({})));
    let table = Modbox::new(&dir).args(["audit", "--since", "1h", "log"]).run().exits_with(0).stdout_text();
    assert_eq!(names(&table), ["new"]);
}

/// Returns a time as Python writes it.
fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let code =
        format!("import datetime; print(datetime.datetime.utcfromtimestamp({seconds}).isoformat() + 'Z', end='')");
    let output = std::process::Command::new("python3").args(["-W", "ignore", "-c", &code]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn details_say_what_allows_a_denial() {
    let dir = TestDir::new();
    three_runs(&dir);
    let table = Modbox::new(&dir).args(["audit", "-v", "log"]).run().exits_with(0).stdout_text();
    let details: Vec<&str> = table.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert_eq!(
        details,
        [
            "denied: reading `/etc/x` was denied; allow it with `--allow-read /etc/x`",
            "denied: and 2 more",
            "note: it was late"
        ]
    );
    assert!(table.contains("root (jane)"), "{table}");
}

#[test]
fn lines_are_printed_unchanged() {
    let dir = TestDir::new();
    // Numbers and spaces that no writer of JSON here would print.
    let odd = r#"{"time":"2026-11-24T08:00:00Z" , "status":"denied","module":{}, "args": {"n": NaN, "b": 1e400}}"#;
    dir.write("log", line("2026-11-23T08:00:00Z", "ping", "ok", &json!({})) + odd + "\n");
    let output = Modbox::new(&dir).args(["audit", "--json", "--denied", "log"]).run().exits_with(0);
    assert_eq!(output.stdout_text(), format!("{odd}\n"));
    let output = Modbox::new(&dir).args(["audit", "--json", "-"]).stdin(odd).run().exits_with(0);
    assert_eq!(output.stdout_text(), format!("{odd}\n"));
}

#[test]
fn several_logs_are_one_in_the_order_of_time() {
    let dir = TestDir::new();
    three_runs(&dir);
    let between = line("2026-11-24T08:30:00Z", "between", "ok", &json!({}));
    let table = Modbox::new(&dir).args(["audit", "-", "log"]).stdin(between).run().exits_with(0).stdout_text();
    assert_eq!(names(&table), ["ping", "a.b.copy", "between", "slow"]);
    Modbox::new(&dir)
        .args(["audit", "log", "missing"])
        .run()
        .exits_with(3)
        .says("failed to open the audit log `missing`");
    dir.mkdir("folder");
    Modbox::new(&dir).args(["audit", "folder"]).run().exits_with(3).says("failed to read `folder`");
}

#[test]
fn broken_lines_are_named_and_left_out() {
    let dir = TestDir::new();
    let good = line("2026-11-23T08:00:00Z", "ping", "ok", &json!({}));
    let deep = "[".repeat(1 << 20);
    let text =
        [b"\xff\n{\n\n[]\n", good.as_bytes(), deep.as_bytes(), b"\n{}\n{}\n{}\n", &good.as_bytes()[..40]].concat();
    dir.write("log", text);
    let output = Modbox::new(&dir).args(["audit", "log"]).run().exits_with(0);
    assert_eq!(names(&output.stdout_text()), ["ping"]);
    let errors = output.stderr_text();
    assert!(errors.contains("line 1 of `log` is left out: it is not UTF-8"), "{errors}");
    assert!(errors.contains("line 4 of `log` is left out: it is not a JSON object"), "{errors}");
    assert!(errors.ends_with("8 lines of `log` are left out\n") && errors.lines().count() == 6, "{errors}");
}

#[test]
fn a_log_of_any_length_needs_little_memory() {
    let dir = TestDir::new();
    let long = line("2026-11-23T08:00:00Z", "ping", "ok", &json!({"args": {"content": "x".repeat(60_000)}}));
    let mut file = File::create(dir.join("log")).unwrap();
    for _ in 0..1500 {
        file.write_all(long.as_bytes()).unwrap();
    }
    // A line that never ends.
    file.write_all(&vec![b'x'; 100 << 20]).unwrap();
    for option in ["-v", "--json", "--html"] {
        let limited = Modbox::of(Path::new("prlimit"), &dir).arg(format!("--data={}", 64 << 20));
        let limited = limited.args([env!("CARGO_BIN_EXE_modbox"), "audit", option, "log"]);
        let output = limited.run().exits_with(0);
        assert!(output.stderr_text().contains("line 1501 of `log` is left out: it is longer than 8 MiB"));
        let shown = output.stdout_text().matches("2026-11-23").count();
        assert!(shown >= 1500, "{shown}");
    }
}

#[test]
fn text_of_a_log_does_not_reach_the_terminal_as_it_is() {
    let dir = TestDir::new();
    let denial = json!({"capability": HOSTILE, "subject": HOSTILE, "allow": HOSTILE});
    let more = json!({
        "module": {"name": HOSTILE, "kind": HOSTILE}, "who": {"user": HOSTILE}, "error": HOSTILE, "denials": [denial],
        "grants": [denial], "notes": [HOSTILE], "limit": {"kind": HOSTILE, "unit": HOSTILE},
    });
    dir.write("log", line("2026-11-24T08:00:00Z", "x", HOSTILE, &more));
    let output = Modbox::new(&dir).args(["audit", "-v", "log"]).run().exits_with(0).stdout_text();
    assert!(!output.contains(['\u{1b}', '\u{202e}']), "{output:?}");
    assert_eq!(output.lines().count(), 7, "{output}");
}

#[test]
fn text_of_a_log_is_never_markup() {
    let dir = TestDir::new();
    let denial = json!({"capability": HOSTILE, "subject": HOSTILE, "allow": HOSTILE, "source": HOSTILE});
    let more = json!({
        "module": {"name": HOSTILE, "path": HOSTILE, "kind": HOSTILE, "digest": HOSTILE}, "error": HOSTILE,
        "who": {"user": HOSTILE, "login": "x", "host": HOSTILE, "pid": HOSTILE}, "args": {HOSTILE: HOSTILE},
        "exit": HOSTILE, "duration_us": HOSTILE, "denials": [denial, HOSTILE], "grants": [denial], "notes": [HOSTILE],
        "limit": {"kind": HOSTILE, "allowed": HOSTILE, "unit": "us"}, "modbox": HOSTILE, "result_digest": HOSTILE,
        "confinement": {"level": HOSTILE},
    });
    let harmless = line(
        "2026-11-24T08:00:00Z",
        "x",
        "x",
        &Value::Object(
            more.as_object()
                .unwrap()
                .iter()
                .map(|(key, _)| (key.clone(), json!("x")))
                .filter(|(key, _)| key != "module")
                .collect(),
        ),
    );
    dir.write("log", line("2026-11-24T08:00:00Z", "x", HOSTILE, &more));
    dir.write("harmless", harmless);
    let page = |log: &str| Modbox::new(&dir).args(["audit", "--html", log]).run().exits_with(0).stdout_text();
    let (hostile, harmless) = (page("log"), page("harmless"));
    let tags = |page: &str, tag: &str| page.matches(tag).count();
    for tag in ["<script", "</script", "<title", "</title", "<style", "</summary>", "<form", "<tbody"] {
        assert_eq!(tags(&hostile, tag), tags(&harmless, tag), "{tag}");
    }
    assert!(
        !hostile.contains("<img") && !hostile.contains("-->") && !hostile.contains(['\u{1b}', '\u{202e}']),
        "{hostile}"
    );
    assert!(hostile.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for address in ["http:", "https:", "//", "url(", "@import", " src=", " href="] {
        let outside = hostile.replace("// ", "").replace("src=x", "");
        assert!(!outside.contains(address), "the page names something outside: {address}");
    }
}

#[test]
fn a_page_counts_all_runs_by_module() {
    let dir = TestDir::new();
    three_runs(&dir);
    let page = Modbox::new(&dir).args(["audit", "--html", "log"]).run().exits_with(0).stdout_text();
    let mut cards = String::new();
    for card in page.lines().filter(|line| line.starts_with("<div class=\"card")) {
        write!(cards, "{} ", card.split("<b>").nth(1).unwrap().replace("</b>", "").replace("</div>", "")).unwrap();
    }
    assert_eq!(cards, "3 runs 2 failed 1 with denials 3 modules ");
    let newest_first = ["slow", "a.b.copy", "ping"].map(|name| page.find(&format!("<summary>{name}<")).unwrap());
    assert!(newest_first.is_sorted(), "{newest_first:?}");
    assert!(page.contains("allow it with `--allow-read /etc/x`"));
    Modbox::new(&dir).args(["audit", "--html", "-v", "log"]).run().exits_with(2);
}

#[test]
fn a_reader_that_stops_is_not_an_error() {
    let dir = TestDir::new();
    let many = line("2026-11-23T08:00:00Z", "ping", "ok", &json!({})).repeat(20_000);
    dir.write("log", many);
    let command = format!("{} audit log | head -n 1", env!("CARGO_BIN_EXE_modbox"));
    let output =
        std::process::Command::new("bash").args(["-o", "pipefail", "-c", &command]).current_dir(dir.path()).output();
    let output = output.unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_log_of_several_hosts_names_them() {
    let dir = TestDir::new();
    let of_host = |name: &str, status: &str| json!({"host": name, "task": format!("Task of {name}"), "exit": u8::from(status != "ok")});
    let run = |time: &str, host: &str, status: &str| {
        line(&format!("2026-11-24T{time}:00Z"), "ping", status, &of_host(host, status))
    };
    dir.write("log", run("08:00", "web1", "ok") + &run("09:00", "web2", "failed") + &run("10:00", "<b>db</b>", "ok"));
    let audit =
        |switches: &[&str]| Modbox::new(&dir).arg("audit").args(switches).arg("log").run().exits_with(0).stdout_text();
    let table = audit(&[]);
    let hosts: Vec<&str> = table.lines().map(|row| row.split_whitespace().last().unwrap()).collect();
    assert_eq!(hosts, ["HOST", "web1", "web2", "<b>db</b>"], "{table}");
    assert_eq!(audit(&["--host", "web*"]).lines().count(), 3);
    let page = audit(&["--html"]);
    for shown in ["<b>3</b> hosts", "<h2>Hosts</h2>", "<dd>Task of web2</dd>", "&lt;b&gt;db&lt;/b&gt;"] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains("<b>db"));
    // Two machines' own logs have no names from a controller.
    let own = |host: &str| line("2026-11-24T08:00:00Z", "ping", "ok", &json!({"who": {"host": host}}));
    dir.write("log", own("a") + &own("b"));
    assert!(audit(&[]).contains("HOST\n"));
    dir.write("log", own("a") + &own("a"));
    assert!(!audit(&[]).contains("HOST"));
}
