//! Secrets of ansible-core 2.22: a controller tells them to modules, and modules tell them to it. The same play by Python and by
//! `modbox-python` has the same output and the same variables, and no secret is in what modbox writes.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::python::oracle_python_places::NEXT;
use crate::support::{Modbox, TestDir, modbox, oracle};

/// A secret that an option declares, and one that the controller knows: `register_secret` makes it one.
const DECLARED: &str = "Dq7x9'\"\u{e9}";
const KNOWN: &str = "Kz3w8\nline";

/// A module that returns its arguments in all places of a result. It declares one of them as a secret.
const TEXT: &str = r#"#!/usr/bin/python
import sys
from ansible.module_utils.basic import AnsibleModule

def main():
    module = AnsibleModule(argument_spec=dict(token=dict(no_log=True), name=dict(), fail=dict(type='bool')))
    p = module.params
    said = dict(msg='M %s %s' % (p['token'], p['name']), values=[p['name'], {p['token']: 1}],
                stdout='a\n%s\nb' % p['name'])
    said['k %s' % p['token']] = p['token']
    sys.stderr.write('E %s %s\n' % (p['token'], p['name']))
    if p['fail']:
        module.fail_json(**said)
    module.warn('W ' + p['token'])
    module.exit_json(changed=True, **said)

main()
"#;

/// Runs a command that has to succeed, and returns what it printed.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

fn write_module(dir: &TestDir) -> PathBuf {
    dir.write("library/secretive.py", TEXT)
}

/// Returns a play whose tasks use the secrets that came back. The conditions do not have the secrets in them.
fn play() -> String {
    let args = json!({"token": "{{ token }}", "name": "{{ known | register_secret }}"});
    let mut failing = args.clone();
    failing["fail"] = true.into();
    json!([{"hosts": "localhost", "connection": "local", "gather_facts": false, "tasks": [
        {"secretive": args, "register": "told"},
        {"assert": {"that": [
            "told.msg == 'M ' ~ token ~ ' ' ~ known",
            "told['values'][1][token] == 1",
            "told['k ' ~ token] == token",
            "told.stdout_lines | length == 4",
        ]}},
        {"debug": {"var": "told"}},
        {"secretive": failing, "register": "told", "ignore_errors": true},
        {"assert": {"that": ["told is failed", "told.msg == 'M ' ~ token ~ ' ' ~ known"]}},
        {"ping": {"data": "{{ token }}"}},
    ]}])
    .to_string()
}

/// Returns the output of the play, with each secret that is in it replaced by a word.
fn output(dir: &TestDir, version: &str, python: &Path, cache: &Path) -> String {
    dir.write("vars.json", json!({"token": DECLARED, "known": KNOWN}).to_string());
    let file = dir.write("play.yml", play());
    let mut playbook = oracle::ansible_of(version, dir, "playbook");
    playbook.env("XDG_CACHE_HOME", cache).args(["-vvv", "-e", "@vars.json", "-e"]);
    playbook.arg(format!("ansible_python_interpreter={}", python.display())).arg(file);
    let text = printed(&mut playbook);
    let tasks = text.split_once("\nTASK").map_or("", |(_, tasks)| tasks);
    let is_result = |line: &&str| !line.starts_with('<') && !line.starts_with("Using module file");
    tasks.lines().filter(is_result).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_play_of_2_22_has_the_same_output_and_variables() {
    let Some(version) = oracle::next() else { return };
    let dir = TestDir::new();
    let cache = dir.mkdir("cache");
    has_the_same_output(&dir, version, "native", &cache);
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn so_does_a_play_of_2_22_in_the_sandbox() {
    let Some(version) = oracle::next() else { return };
    let cache = NEXT.as_ref().map(|installed| installed.dir.join("home/.cache")).unwrap();
    has_the_same_output(&TestDir::new(), version, "wasm", &cache);
}

/// Compares the play's output with that of plain Ansible, and looks for the secrets in what modbox has kept.
fn has_the_same_output(dir: &TestDir, version: &str, place: &str, cache: &Path) {
    write_module(dir);
    let link = dir.mkdir("bin").join("modbox-python");
    symlink(modbox(), &link).unwrap();
    let theirs = output(dir, version, &oracle::python_of(version), cache);
    let policy = json!({"audit": dir.join("audit"), "python": place});
    dir.write("home/.config/modbox/policy.yaml", policy.to_string());
    let ours = output(dir, version, &link, cache);
    assert_eq!(ours, theirs);
    assert!(ours.contains("$REDACTED$") && !ours.contains("Dq7x9") && !ours.contains("Kz3w8"), "{ours}");
    let audit = fs::read_to_string(dir.join("audit")).unwrap();
    assert_eq!(audit.lines().count(), 3, "{audit}");
    let level = if place == "wasm" { "wasmtime" } else { "namespace" };
    assert!(audit.contains(level), "{audit}");
    hunt(&dir.join("audit"));
    hunt(cache);
    hunt(&dir.join("home"));
}

/// Fails if a file below a path has one of the secrets in it. Tests share the sandbox's cache: what another one replaces or removes
/// meanwhile is passed over.
#[track_caller]
fn hunt(path: &Path) {
    if path.is_dir() {
        let Some(entries) = present(path, fs::read_dir(path)) else { return };
        let entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        entries.iter().for_each(|path| hunt(path));
        return;
    }
    let Some(content) = present(path, fs::read(path)) else { return };
    for secret in ["Dq7x9", "Kz3w8"] {
        let is_told = content.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!is_told && !path.display().to_string().contains(secret), "`{secret}` is in {}", path.display());
    }
}

/// Returns what was read, or nothing where the path is gone.
#[track_caller]
fn present<T>(path: &Path, read: io::Result<T>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// modbox takes the place of the callbacks where it runs a module by itself.
#[test]
fn runs_with_an_installed_2_22_show_masked_results() {
    let Some(version) = oracle::next() else { return };
    let dir = TestDir::new();
    let module = write_module(&dir);
    let python = oracle::python_of(version).display().to_string();
    let args = json!({"token": DECLARED, "name": format!("n {DECLARED}")});
    for form in [&[][..], &["--keep-files"], &["--no-pipelining"]] {
        let run = Modbox::run_module(&dir, &module).args(["--interpreter", &python, "--python", "native"]);
        let ran = run.args(["--audit", "audit", "-vvv", "--log", "trace"]).args(form).json_args(&args);
        let ran = ran.report().run().exits_with(0);
        let text = ran.stdout_text() + &ran.stderr_text();
        assert!(!text.contains("Dq7x9"), "{ran}");
        let result = &ran.json()["result"];
        assert_eq!(result["msg"], "M $REDACTED$ n $REDACTED$", "{ran}");
        assert_eq!(result["k $REDACTED$"], "$REDACTED$", "{ran}");
        assert!(!fs::read_to_string(dir.join("audit")).unwrap().contains("Dq7x9"));
    }
    let pinged =
        Modbox::new(&dir).args(["run", "--interpreter", &python, "--python", "native", "ansible.builtin.ping"]);
    assert_eq!(pinged.arg("data=hi").run().exits_with(0).json()["ping"], "hi");
    let assembled =
        Modbox::new(&dir).args(["assemble", "--interpreter", &python, "ansible.builtin.ping", "-o", "ping.py"]);
    assembled.run().exits_with(0);
    let text = printed(Command::new(&python).arg(dir.join("ping.py")).stdin(Stdio::null()));
    assert!(text.contains(r#""ping": "pong""#), "{text}");
}

/// An ansible-core that asks for more than modbox knows is refused before anything starts.
#[test]
fn a_loader_that_asks_for_more_is_refused_before_the_start() {
    let dir = TestDir::new();
    let touched = dir.join("touched");
    let core = "root/ansible";
    let release = "__version__ = '2.93.0'\n__author__ = 'x'\n__codename__ = 'x'\n";
    dir.write(&format!("{core}/release.py"), release);
    dir.write(&format!("{core}/__init__.py"), "from ansible.release import __version__, __author__\n");
    let basic = format!("open({:?}, 'w')\n", touched.display().to_string());
    dir.write(&format!("{core}/module_utils/basic.py"), basic);
    for name in ["", "_internal/", "_internal/_ansiballz/", "_internal/_json/", "_internal/_json/_profiles/"] {
        dir.write(&format!("{core}/module_utils/{name}__init__.py"), "");
    }
    for profile in ["c2m", "m2c"] {
        dir.write(&format!("{core}/module_utils/_internal/_json/_profiles/_module_legacy_{profile}.py"), "");
    }
    let loader =
        "def run_module(*, json_params, profile, module_fqn, modlib_path, extensions, secrets, vaults):\n    pass\n";
    dir.write(&format!("{core}/module_utils/_internal/_ansiballz/_loader.py"), loader);
    let module = write_module(&dir);
    let utilities = dir.join(&format!("{core}/module_utils"));
    let ran = Modbox::run_module(&dir, &module).args(["--python", "native", "--module-utils"]).arg(utilities).run();
    let text = ran.stdout_text();
    assert!(
        text.contains("combined with ansible-core 2.93.0 and asks for `vaults`, which this modbox does not know"),
        "{ran}"
    );
    assert!(ran.json()["failed"] == true && !touched.exists(), "{ran}");
}
