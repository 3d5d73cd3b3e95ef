//! Rules that grant Python plugins a network, commands, files and variables, natively and in the sandbox; and what is said without
//! such a rule.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::json;

use super::oracle_plugins::{modbox_by, results, write_play};
use crate::python::oracle_python_places::INSTALLED;
use crate::support::{RunOutput, TestDir};

/// A lookup that does what its first term says, and gives its own name with the result.
const ACTING: &str = "import os
import socket
import subprocess

from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        return [getattr(self, terms[0])(*terms[1:])]

    def read(self, path):
        return open(path).read()

    def write(self, path):
        return open(path, 'w').write('written')

    def env(self, name):
        return os.environ.get(name, 'unset')

    def connect(self, port):
        with socket.create_connection(('127.0.0.1', port)) as server:
            server.sendall(b'hello')
            return server.recv(100).decode()

    def command(self, *words):
        return subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.decode()
";

/// Serves a port: each client gets `world` for what it sends.
fn server() -> u16 {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in server.incoming() {
            let mut client = client.unwrap();
            let _ = client.read(&mut [0; 16]);
            let _ = client.write_all(b"world");
        }
    });
    port
}

/// Tries each call of the plugins, and looks for a text in its result.
#[track_caller]
fn check(dir: &TestDir, place: &str, attempts: &[(String, String)]) -> RunOutput {
    let calls: Vec<String> = attempts.iter().map(|(call, _)| format!("query({call})")).collect();
    write_play(dir, "play/play.yml", &calls);
    let run = modbox_by(dir, &dir.join("play/play.yml"), &INSTALLED.python).own_cache(&INSTALLED.dir);
    let run = run.args(["--python", place]).arg("--policy").arg(dir.join("policy.yaml"));
    let ran = run.env("ANSIBLE_COLLECTIONS_PATH", dir.join("installed")).run().exits_with(0);
    let found = results(&ran.stdout_text());
    assert_eq!(found.len(), attempts.len(), "{ran}");
    for ((attempt, expect), found) in attempts.iter().zip(&found) {
        assert!(found.1.contains(expect), "{place}: {attempt}: {}", found.1);
    }
    ran
}

#[test]
fn plugins_reach_what_a_rule_grants_them_in_both_places_and_the_rest_is_named() {
    let dir = TestDir::new();
    for name in ["granted", "other", "writes"] {
        dir.write(&format!("installed/ansible_collections/a/b/plugins/lookup/{name}.py"), ACTING);
    }
    dir.write("play/lookup_plugins/own.py", format!("# its own\n{ACTING}"));
    let secret = dir.write("outside/secret", "a secret\n").display().to_string();
    let made = dir.join("outside/made").display().to_string();
    let (port, other_port) = (server(), server());
    let policy = json!({"modules": {
        "a.b.granted": {"allow": {
            "read": [secret], "env": ["GIVEN=yes"], "net": [format!("127.0.0.1:{port}")], "run": ["/usr/bin/printf *", "/usr/bin/env"],
        }},
        "a.b.writes": {"allow": {"write": [dir.join("outside")]}},
    }});
    dir.write("policy.yaml", policy.to_string());
    for place in ["native", "wasm"] {
        let is_native = place == "native";
        let unread = if is_native { "No such file or directory" } else { "Permission denied" };
        let unwritten = if is_native { "Read-only file system" } else { "Operation not permitted" };
        let mut attempts = vec![
            (format!("'a.b.granted', 'read', '{secret}'"), "a secret"),
            (format!("'a.b.granted', 'write', '{secret}'"), unwritten),
            ("'a.b.granted', 'env', 'GIVEN'".to_owned(), "yes"),
            (format!("'a.b.granted', 'connect', {port}"), "world"),
            (format!("'a.b.granted', 'connect', {other_port}"), "Permission denied"),
            ("'a.b.granted', 'command', '/usr/bin/printf', 'hello'".to_owned(), "hello"),
            ("'a.b.granted', 'command', '/usr/bin/env'".to_owned(), "GIVEN=yes"),
            (format!("'a.b.other', 'read', '{secret}'"), unread),
            ("'a.b.other', 'env', 'GIVEN'".to_owned(), "unset"),
            (format!("'a.b.other', 'connect', {port}"), "Permission denied"),
            (format!("'a.b.writes', 'write', '{made}'"), "7"),
            (format!("'own', 'read', '{secret}'"), unread),
        ];
        if !is_native {
            // Natively a command is in the room of the plugin, and reaches what that reaches.
            attempts
                .push(("'a.b.other', 'command', '/usr/bin/printf', 'hello'".to_owned(), "No such file or directory"));
            attempts.push(("'a.b.granted', 'command', '/usr/bin/id'".to_owned(), "No such file or directory"));
        }
        let attempts: Vec<_> = attempts.into_iter().map(|(call, expect)| (call, expect.to_owned())).collect();
        let ran = check(&dir, place, &attempts);
        assert_eq!(fs::read_to_string(&made).unwrap(), "written", "{place}");
        fs::remove_file(&made).unwrap();
        let said = ran.stderr_text();
        let mut rules = vec![
            format!("{{\"modules\":{{\"a.b.other\":{{\"allow\":{{\"read\":[\"{secret}\"]}}}}}}}}"),
            format!("{{\"modules\":{{\"a.b.granted\":{{\"allow\":{{\"write\":[\"{secret}\"]}}}}}}}}"),
            "{\"modules\":{\"a.b.other\":{\"allow\":{\"net\":[\"HOST:PORT\"]}}}}".to_owned(),
            "{\"modules\":{\"sha256:".to_owned(),
        ];
        if !is_native {
            rules.push("{\"modules\":{\"a.b.granted\":{\"allow\":{\"run\":[\"/usr/bin/id *\"]}}}}".to_owned());
        }
        for rule in rules {
            assert!(said.contains(&rule), "{place}: {rule}: {ran}");
        }
    }
    dir.assert_nothing_left();
}
