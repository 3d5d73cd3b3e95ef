//! `run_command` in a build for this machine, with real programs.

#![cfg(unix)]

use std::time::Duration;

use modbox_sdk::json::Value;
use modbox_sdk::{Command, CommandResult, Exit, Failure};

fn sh(script: &str) -> Command {
    Command::new("sh").args(["-c", script]).literal()
}

#[track_caller]
fn ran(command: Command) -> CommandResult {
    command.run().unwrap_or_else(|failure| panic!("{}", failure.message()))
}

/// Returns the entries of a failure, as a module would print them.
#[track_caller]
fn failed(command: Command) -> (String, Vec<Value>) {
    let failure: Failure = command.run().expect_err("it fails");
    let metadata = modbox_sdk::Metadata::from_json(r#"{"name": "x", "argument_spec": {}}"#).unwrap();
    let environment = modbox_sdk::argument_spec::NoEnvironment;
    let run = |_: Value, _: &mut modbox_sdk::Module| -> Result<Exit, Failure> { Err(failure.clone()) };
    let result = modbox_sdk::call(&metadata, modbox_sdk::Dict::new(), &environment, run).result;
    let entries = ["cmd", "rc", "stdout", "stderr"].map(|key| result.get(key).cloned().unwrap_or_default());
    (result.get("msg").and_then(Value::as_str).unwrap_or_default().to_owned(), entries.to_vec())
}

#[test]
fn output_status_and_signals_are_told() {
    let done = ran(sh("echo out; echo err >&2; exit 3"));
    assert_eq!(
        (done.rc, done.stdout.as_slice(), done.stderr.as_slice()),
        (3, b"out\n".as_slice(), b"err\n".as_slice())
    );
    assert_eq!((ran(sh("kill -9 $$")).rc, ran(Command::new("true")).rc), (-9, 0));
    let bytes = ran(sh("printf 'a\\377'")).stdout();
    assert_eq!(modbox_sdk::json::encode(&bytes), r#""a\udcff""#);
    let long = ran(sh("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2"));
    assert_eq!((long.stdout.len(), long.stderr.len(), long.cut), (3_000_000, 2_000_000, false));
}

#[test]
fn words_are_expanded_and_no_shell_reads_them() {
    let words = Command::parse("printf '%s|' 'a  b' $MODBOX_UNSET \"\" * ; '$PATH'").unwrap();
    assert_eq!(ran(words.clone().literal()).stdout_text(), "a  b|$MODBOX_UNSET||*|;|$PATH|");
    let path = std::env::var("PATH").unwrap();
    assert_eq!(ran(words).stdout_text(), format!("a  b|$MODBOX_UNSET||*|;|{path}|"));
    assert_eq!(ran(Command::shell("echo a | tr a b")).stdout_text(), "b\n");
    assert_eq!(Command::parse("a 'b").unwrap_err().to_string(), "No closing quotation");
}

#[test]
fn input_has_a_line_end_unless_it_is_binary() {
    assert_eq!(ran(Command::new("cat").data("a")).stdout, b"a\n");
    assert_eq!(ran(Command::new("cat").data("a").binary_data()).stdout, b"a");
    // A command need not read its input.
    assert_eq!(ran(Command::new("true").data(vec![b'x'; 1 << 20])).rc, 0);
}

#[test]
fn surroundings_are_what_is_asked_for() {
    let done = ran(sh("pwd; umask; echo $A").cwd("/usr").umask(0o077).environment("A", "b c"));
    assert_eq!(done.stdout_text(), "/usr\n0077\nb c\n");
    assert_eq!(ran(sh("true").cwd("/no/such/place")).rc, 0);
    let failure = sh("true").cwd("/no/such/place").cwd_must_exist().run().unwrap_err();
    assert_eq!(failure.message(), "Provided cwd is not a valid directory: /no/such/place");
    assert!(ran(sh("echo $PATH").path_prefix("/first")).stdout_text().starts_with("/first:"));
}

#[test]
fn failures_say_what_ansible_cores_say() {
    let (message, entries) = failed(Command::new("/no/such/program").args(["--password", "hidden", "a b"]));
    let expect = [Value::from("/no/such/program --password '********' 'a b'"), 2.into(), "".into(), "".into()];
    assert_eq!((message.as_str(), entries.as_slice()), ("Error executing command.", expect.as_slice()));
    assert_eq!(failed(Command::new("/etc/passwd")).1[1], Value::from(13));
    assert_eq!(failed(Command::default()).1[1], Value::from(257));
    let (message, entries) = failed(sh("echo out; echo why >&2; exit 4").check_rc());
    assert_eq!((message.as_str(), &entries[1..]), ("why", [4.into(), "out\n".into(), "why\n".into()].as_slice()));
}

#[test]
fn waiting_has_an_end() {
    let done = ran(sh("trap '' TERM; sleep 60; echo late").timeout(Duration::from_millis(300)));
    assert!(done.timed_out && done.rc == -9 && done.stdout.is_empty(), "{done:?}");
    // A process that a command leaves behind may hold its output.
    let done = ran(sh("echo begun; sleep 60 & echo $!"));
    assert!(done.stdout_text().starts_with("begun\n"), "{done:?}");
    let pid = done.stdout_text().lines().nth(1).unwrap_or_default().to_owned();
    // It was not waited for, so it is still there.
    assert_eq!(ran(Command::new("kill").arg(pid)).rc, 0);
}
