//! `--log`: what modbox logs, and that it logs nothing without the switch.

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, guest, small_module};

fn run(dir: &TestDir, switches: &[&str]) -> RunOutput {
    let module = small_module(dir, "small.wasm");
    Modbox::run_module(dir, module).args(switches).run().exits_with(0)
}

#[test]
fn nothing_is_logged_unless_asked() {
    let dir = TestDir::new();
    assert_eq!(run(&dir, &[]).stderr_text(), "");
}

#[test]
fn levels_choose_how_much() {
    let dir = TestDir::new();
    let counts: Vec<usize> =
        ["error", "info", "debug"].map(|level| run(&dir, &["--log", level]).stderr_text().lines().count()).into();
    assert!(counts[0] == 0 && counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
    let ran = run(&dir, &["--log", "debug", "--allow-env", "A=1"]);
    let ran = ran.says("recognised").says("searched the compile cache").says("ended").says("granted");
    assert!(!ran.stderr_text().contains("cranelift") && !ran.stderr_text().contains("wasmtime_wasi"), "{ran}");
}

#[test]
fn events_are_json_when_asked() {
    let dir = TestDir::new();
    let ran = run(&dir, &["--log", "debug", "--log-format", "json"]);
    let events: Vec<Value> = ran.stderr_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = events.iter().find(|event| event["message"] == "ended").unwrap_or_else(|| panic!("{ran}"));
    assert_eq!((&ended["level"], &ended["status"]), (&json!("INFO"), &json!("ok")));
    assert_eq!(ended["span"]["name"], "run");
}

#[test]
fn what_a_module_logs_is_shown_to_those_who_ask() {
    let dir = TestDir::new();
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let said = r#"{"modbox_log": {"level": "info", "msg": "half way"}}"#;
    let args = json!({"stdout": hex("{}"), "stderr": hex(&format!("plain\n{said}\n"))});
    let run = |switches: &[&str]| {
        Modbox::run_module(&dir, guest("output")).json_args(&args).args(switches).run().exits_with(0)
    };
    assert!(!run(&[]).stderr_text().contains("half way"));
    for switches in [&["--log", "info"][..], &["-v"]] {
        let text = run(switches).stderr_text();
        assert!(text.contains("half way") && !text.contains("modbox_log"), "{text}");
    }
    assert!(!run(&["--log", "warn"]).stderr_text().contains("half way"));
}

#[test]
fn text_of_others_cannot_act_on_a_terminal_or_pose_as_an_event() {
    let dir = TestDir::new();
    let module = small_module(&dir, "a\u{1b}[31m\u{9b}\u{202e}\n2026 INFO forged.wasm");
    for format in ["text", "json"] {
        let ran =
            Modbox::run_module(&dir, &module).args(["--log", "debug", "--log-format", format]).run().exits_with(0);
        let text = ran.stderr_text();
        assert!(text.contains("forged") && text.lines().count() > 3, "{ran}");
        assert!(text.lines().all(|line| !line.starts_with("2026 INFO forged")), "{ran}");
        assert!(!text.chars().any(|c| c != '\n' && c.is_control() || c == '\u{202e}'), "{ran}");
        assert!(format == "text" || text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{ran}");
    }
}
