//! Hostile providers: output without an end, without sense or in great amounts, programs that leave others behind, and
//! metadata that is a trap. Each is an error that names the provider and the remedy, and other providers go on.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::providers::providers_runs::{provider, resource};
use crate::support::{Modbox, TestDir};

/// Runs `find` of a provider with a body, and returns the report.
fn report(body: &str, switches: &[&str]) -> Value {
    let dir = TestDir::new();
    let module = provider(&dir, "p", "", body);
    let ran = Modbox::run_module(&dir, module).args(["ral_action=list"]).args(switches).report().run();
    let report = ran.within(Duration::from_secs(60)).json();
    dir.assert_nothing_left();
    report
}

#[track_caller]
fn says(report: &Value, status: &str, expect: &str) {
    assert_eq!(report["status"], status, "{report:#}");
    let message = report["result"]["msg"].as_str().unwrap();
    assert!(message.contains(expect), "{message}");
    assert_eq!(
        (&report["result"]["resources"], &report["result"]["changed"]),
        (&Value::Null, &json!(false)),
        "{report:#}"
    );
}

#[test]
fn output_is_bounded() {
    // The remedy is the switch of the limit.
    says(&report("while :; do echo name: n; done", &["--timeout", "2s"]), "limit", "--timeout");
    says(&report("head -c 100000000 /dev/zero", &[]), "limit", "--max-output");
    says(&report("yes 'name: n' | head -c 100000000", &[]), "limit", "--max-output");
    // What is cut of standard error leaves the answer whole, and not all of it is shown.
    let loud = report("yes warn: text | head -c 10000000 >&2; echo name: n", &["--max-output", "100k"]);
    assert_eq!((&loud["status"], &loud["result"]["resources"]), (&json!("limit"), &json!([{"name": "n"}])));
    assert!(loud["result"]["warnings"].as_array().unwrap().len() < 300);
    // Half a million of the shortest lines, and more.
    let many = report("yes a: | head -n 600000", &["--max-output", "64M"]);
    says(&many, "failed", "more than 500000 lines");
}

#[test]
fn many_resources_are_read_in_time() {
    let ran = report("seq 1 100000 | sed 's/^/name: /'", &["--max-output", "64M"]);
    assert_eq!(ran["result"]["resources"].as_array().map(Vec::len), Some(100_000), "{}", ran["status"]);
}

#[test]
fn output_without_sense_is_an_error() {
    for (body, expect) in [
        ("head -c 1000 /dev/urandom | tr -d '\\n:'; echo", "has no `:`"),
        ("printf 'name: n\\n\\377\\376: x\\n'", "an invalid key"),
        ("printf '\\000\\001\\002\\n'", "has no `:`"),
        ("printf 'name: n\\n%s\\n' '{\"json\": 1'", "`{\"json\"`"),
        ("echo '<html>'", "has no `:`"),
    ] {
        let report = report(body, &[]);
        let warned = report["result"]["warnings"].to_string();
        let message = report["result"]["msg"].as_str().unwrap_or(&warned);
        assert!(message.contains(expect) || warned.contains("json"), "{body}: {report:#}");
    }
}

#[test]
fn what_a_provider_leaves_behind_ends_with_it() {
    let dir = TestDir::new();
    let canary = dir.mkdir("canary");
    // It goes on in the background, without its streams and in a session of its own.
    let body = "setsid bash -c 'while :; do date > canary/alive; sleep 0.1; done' > /dev/null 2>&1 < /dev/null & \
        while [ ! -e canary/alive ]; do sleep 0.05; done; echo name: n";
    let module = provider(&dir, "p", "", &body.replace("canary", &canary.display().to_string()));
    let run = Modbox::run_module(&dir, module).args(["ral_action=list", "--allow-write", "canary"]).run().exits_with(1);
    let said = run.json()["msg"].to_string();
    assert!(said.contains("left processes running, which ended with its sandbox: bash"), "{run}");
    // Its command line names the directory.
    dir.assert_nothing_left();
    // A fork bomb ends at the limit of processes or of time, and says so.
    let bomb = report("b() { b | b & b; }; b", &["--timeout", "10s", "--max-processes", "32"]);
    assert!(["limit", "failed", "crashed"].contains(&bomb["status"].as_str().unwrap()), "{bomb:#}");
    assert_ne!(bomb["result"]["failed"], Value::Null, "{bomb:#}");
}

#[test]
fn names_of_any_bytes_stay_one_name() {
    let dir = TestDir::new();
    // The provider gives back its name as the attribute, in hex.
    let body = "echo \"name: x\"; printf 'a: '; printf %s \"$name\" | od -An -tx1 | tr -d ' \\n'; echo";
    let body = format!(
        "{body}; [ \"$ral_action\" = list ] && exit; echo ral_error: \"$(printf %s \"$name\" | od -An -tx1 | tr -d ' \\n')\""
    );
    provider(&dir, "p", "", &body);
    for name in [
        &b"a\nname: b\nral_derive: true"[..],
        b"it's \"quoted\"",
        b"'; touch /tmp/x; '",
        b"\xff\xfe",
        b"\x01\x1b[2J",
        b"-n",
        b"--name=x",
        b"$(id)",
    ] {
        let ran = resource(&dir, &["thing", "--"]).arg(std::ffi::OsStr::from_bytes(name)).run().exits_with(1);
        let hex: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let ran = ran.says(&format!("the provider reported: {hex}"));
        assert!(!ran.stderr.contains(&0x1b), "{ran}");
    }
    // A name that is printed again by a provider is not one of its own lines, whatever is in it.
    resource(&dir, &["thing", ""]).run().exits_with(1);
}

#[test]
fn metadata_cannot_be_a_trap() {
    let dir = TestDir::new();
    dir.write_executable("data/providers/good.prov", "#!/bin/sh\necho '# simple'\n");
    dir.write(
        "data/providers/good.yaml",
        "provider: {type: good, invoke: simple, suitable: true, attributes: {name: }}",
    );
    let bomb = (1..12).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
        let one = format!("*a{}", n - 1);
        text + &format!("a{n}: &a{n} [{}]\n", [one.as_str(); 9].join(", "))
    });
    let deep = format!("provider: {}{}", "[".repeat(5000), "]".repeat(5000));
    for (name, yaml) in [
        ("bomb", bomb.as_bytes()),
        ("deep", deep.as_bytes()),
        ("binary", &b"\x00\xff\xfe"[..]),
        ("list", b"- a\n- b\n"),
        ("empty", b""),
    ] {
        dir.write_executable("data/providers/bad.prov", "#!/bin/sh\n");
        dir.write("data/providers/bad.yaml", yaml);
        let ran = resource(&dir, &[]).run().exits_with(0).within(Duration::from_secs(20));
        let ran = ran.says("bad.yaml`");
        assert_eq!(ran.stdout_text(), "good::good  suitable\n", "{name}");
    }
    // A pipe, a folder and a link that leads nowhere in place of the file.
    for make in ["rm bad.yaml; mkfifo bad.yaml", "rm bad.yaml; mkdir bad.yaml"] {
        let done = std::process::Command::new("sh")
            .args(["-c", make])
            .current_dir(dir.join("data/providers"))
            .status()
            .unwrap();
        assert!(done.success());
        resource(&dir, &[])
            .run()
            .exits_with(0)
            .within(Duration::from_secs(20))
            .says("failed to read the metadata file");
        let _ = fs::remove_dir(dir.join("data/providers/bad.yaml"));
        if !dir.join("data/providers/bad.yaml").exists() {
            dir.write("data/providers/bad.yaml", "");
        }
    }
}

/// A provider of packages in the manner of the ones for apt: it reads and writes the database of a tool.
const PACKAGES: &str = r#"#!/bin/bash
db=work/packages
eval "$@"
die() { echo "ral_error: $1"; echo ral_eom; exit 0; }
echo '# simple'
find_state() { read -r is_ensure is_platform < <(awk -v n="$name" '$1 == n { print $2, $3 }' "$db"); : "${is_ensure:=absent}"; }
case $ral_action in
  list) awk '{ printf "name: %s\nensure: %s\nplatform: %s\n", $1, $2, $3 }' "$db" || die "failed to read $db" ;;
  find) find_state; echo "name: $name"; echo "ensure: $is_ensure"; [ -z "$is_platform" ] || echo "platform: $is_platform" ;;
  update)
    find_state
    if [ "$ensure" = absent ]; then sed -i "/^$name /d" "$db" || die "failed to remove $name"
    else echo "$name 1.0 all" >> "$db" || die "failed to install $name"; echo "ensure: 1.0"; echo "ral_was: $is_ensure"; fi
    echo ral_derive: true ;;
esac
"#;

/// A provider of services in the manner of the one for systemd: it asks a program, which has the state.
const SERVICES: &str = r#"#!/bin/bash
run() { msg=$("$@" 2>&1) || { echo "ral_error: $msg"; echo ral_eom; exit 0; }; }
eval "$@"
echo '# simple'
case $ral_action in
  list) work/control list | while read -r svc state; do echo "name: $svc"; echo "ensure: $state"; done ;;
  find) state=$(work/control state "$name" 2>/dev/null)
    echo "name: $name"; [ -n "$state" ] && echo "ensure: $state" || echo "ral_unknown: true" ;;
  update) echo ral_derive: true
    case $ensure in running) run work/control start "$name" ;; stopped) run work/control stop "$name" ;; esac ;;
esac
"#;

const CONTROL: &str = r#"#!/bin/bash
cd "${0%/*}/state" || exit 1
case $1 in
  list) grep . -- * | tr : ' ' ;;
  state) cat -- "$2" ;;
  start) [ -e "$2" ] && echo running > "$2" ;;
  stop) [ -e "$2" ] && echo stopped > "$2" ;;
esac
"#;

#[test]
fn providers_of_packages_and_services_work_within_their_grants() {
    let dir = TestDir::new();
    let metadata = |kind: &str, ensure: &str, more: &str| {
        format!(
            "provider: {{type: {kind}, invoke: simple, suitable: true, attributes: {{name: , ensure: {{type: '{ensure}'}}{more}}}}}"
        )
    };
    let work = dir.mkdir("work").display().to_string();
    dir.write_executable("data/providers/apt.prov", PACKAGES.replace("work", &work));
    dir.write("data/providers/apt.yaml", metadata("package", "string", ", platform: {kind: r}"));
    dir.write_executable("data/providers/systemd.prov", SERVICES.replace("work", &work));
    dir.write("data/providers/systemd.yaml", metadata("service", "enum[running, stopped]", ""));
    dir.write("work/packages", "bash 5.2 amd64\nvim 9.1 amd64\n");
    dir.write_executable("work/control", CONTROL);
    dir.write("work/state/cron", "running\n");
    let read = ["--allow-read", "work"];
    let write = ["--allow-write", "work"];
    let run = |words: &[&str], grants: &[&str]| resource(&dir, words).args(grants).run();
    let listed = run(&["package"], &read).exits_with(0).stdout_text();
    assert!(listed.contains("package::apt { 'bash':\n  ensure   => '5.2',\n  platform => 'amd64',\n}"), "{listed}");
    // Without the grant the answer would be wrong, so there is none.
    let refused = run(&["package", "bash"], &[]).exits_with(1);
    refused
        .says("the provider could not look, so its answer says nothing: its policy hides")
        .says("allow it with --allow-read");
    let installed = run(&["package", "jq", "ensure=latest"], &write).exits_with(0).stdout_text();
    assert!(installed.ends_with("ensure(absent->1.0)\n\n"), "{installed}");
    // With the right to read alone, the update fails, and the database is as it was.
    let before = fs::read(dir.join("work/packages")).unwrap();
    run(&["package", "nano", "ensure=latest"], &read).exits_with(1).says("failed to install nano");
    run(&["package", "bash", "ensure=absent", "--check"], &write).exits_with(0).says("simulated");
    assert_eq!(fs::read(dir.join("work/packages")).unwrap(), before);
    let stopped = run(&["service", "cron", "ensure=stopped"], &write).exits_with(0).stdout_text();
    assert!(stopped.ends_with("ensure(running->stopped)\n\n"), "{stopped}");
    assert_eq!(fs::read_to_string(dir.join("work/state/cron")).unwrap(), "stopped\n");
    run(&["service", "none"], &read).exits_with(1);
    run(&["service", "none", "ensure=running"], &write).exits_with(1);
    dir.assert_nothing_left();
}
