//! What a guest reaches by sockets, with servers on this machine: each denied case has a permitted counterpart. A
//! server that must not be reached counts its connections.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::server::{Server, reserved_port, udp_echo};
use crate::support::{Modbox, RunOutput, TestDir, guest, small_module, wait_for};

fn run(steps: &Value, options: &[&str]) -> RunOutput {
    let dir = TestDir::new();
    let ran = Modbox::run_module(&dir, guest("network"))
        .json_args(&json!({"steps": steps}))
        .args(options)
        .report()
        .run()
        .exits_with(0);
    dir.assert_nothing_left();
    ran
}

/// Runs one step and returns what the guest saw, and the denials.
fn try_step(step: &Value, options: &[&str]) -> (Value, Value) {
    let report = run(&json!([step]), options).json();
    (report["result"]["seen"][0].clone(), report["denials"].clone())
}

#[track_caller]
fn assert_allowed(step: &Value, options: &[&str], expect: &str) {
    let (seen, denials) = try_step(step, options);
    assert_eq!((&seen["ok"], &denials), (&json!(expect), &json!([])), "{step} {options:?}: {seen}");
}

/// Asserts that a step is refused with one denial, and that the switch in the denial allows it.
#[track_caller]
fn assert_denied(step: &Value, options: &[&str], capability: &str, subject: &str, operation: &str, allow: &str) {
    let (seen, denials) = try_step(step, options);
    assert!(seen["error"].is_string(), "{step} {options:?}: {seen}");
    let denial = json!({"capability": capability, "subject": subject, "operation": operation, "allow": allow});
    assert_eq!(denials, json!([denial]), "{step} {options:?}: {seen}");
}

#[test]
fn without_a_grant_there_are_no_sockets_and_no_names() {
    let server = Server::greeting("127.0.0.1:0");
    let (to, port) = (server.address.to_string(), server.port());
    let allow = "--allow-net HOST:PORT";
    assert_denied(&json!({"do": "connect", "to": to}), &[], "net", "tcp", "create-tcp-socket", allow);
    let udp = json!({"do": "send", "from": "0.0.0.0:0", "to": to, "say": "x"});
    assert_denied(&udp, &[], "net", "udp", "create-udp-socket", "--allow-net udp:HOST:PORT");
    let listen = json!({"do": "listen", "at": "127.0.0.1:0"});
    assert_denied(&listen, &[], "net", "tcp", "create-tcp-socket", allow);
    let lookup = json!({"do": "lookup", "name": "localhost"});
    assert_denied(&lookup, &[], "net", "localhost", "resolve-addresses", "--allow-net localhost");
    let (seen, denials) = try_step(&json!({"do": "lookup", "name": "127.0.0.1"}), &[]);
    assert_eq!((&seen["ok"], &denials), (&json!("127.0.0.1"), &json!([])), "an address needs no lookup");
    assert_eq!(server.connections(), 0);
    // A rule for the other transport makes no difference.
    let other = format!("udp:127.0.0.1:{port}");
    assert_denied(
        &json!({"do": "connect", "to": to}),
        &["--allow-net", &other],
        "net",
        "tcp",
        "create-tcp-socket",
        allow,
    );
}

#[test]
fn an_address_and_port_are_reached_when_a_rule_names_them() {
    let (server, other) = (Server::greeting("127.0.0.1:0"), Server::greeting("127.0.0.1:0"));
    let to = server.address.to_string();
    let connect = json!({"do": "connect", "to": to});
    for rule in [to.clone(), "127.0.0.1".to_owned(), format!("127.0.0.0/8:{}", server.port()), format!("tcp:{to}")] {
        assert_allowed(&connect, &["--allow-net", &rule], "hello");
    }
    let wrong = other.address.to_string();
    let denied = |rules: &[&str]| {
        let options: Vec<&str> = rules.iter().flat_map(|rule| ["--allow-net", rule]).collect();
        let subject = &to;
        assert_denied(&connect, &options, "net", subject, "start-connect", &format!("--allow-net {subject}"));
    };
    let before = server.connections();
    denied(&[&wrong]);
    denied(&["127.0.0.2", "10.0.0.0/8", "[::1]"]);
    // Broad rules and the keywords for other ranges do not include this machine.
    denied(&["0.0.0.0/0", "[::/0]", "0.0.0.0/0+private+link-local+metadata"]);
    assert_eq!(server.connections(), before);
    assert_allowed(&connect, &["--allow-net", "0.0.0.0/0+loopback"], "hello");
    assert_allowed(&connect, &["--allow-all"], "hello");
}

#[test]
fn a_range_of_ports_has_two_ends() {
    let server = Server::greeting("127.0.0.1:0");
    let (to, port) = (server.address.to_string(), server.port());
    let connect = json!({"do": "connect", "to": to});
    assert_allowed(&connect, &["--allow-net", &format!("127.0.0.1:{}-{}", port - 1, port)], "hello");
    assert_allowed(&connect, &["--allow-net", &format!("127.0.0.1:{port}-65535")], "hello");
    let below = format!("127.0.0.1:1-{}", port - 1);
    assert_denied(&connect, &["--allow-net", &below], "net", &to, "start-connect", &format!("--allow-net {to}"));
}

#[test]
fn addresses_of_the_new_kind() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else { return };
    drop(listener);
    let server = Server::greeting("[::1]:0");
    let to = server.address.to_string();
    let connect = json!({"do": "connect", "to": to});
    assert_allowed(&connect, &["--allow-net", &to], "hello");
    assert_allowed(&connect, &["--allow-net", "[::/0]+loopback"], "hello");
    let allow = format!("--allow-net {to}");
    assert_denied(&connect, &["--allow-net", "127.0.0.1"], "net", &to, "start-connect", &allow);
    assert_denied(&connect, &["--allow-net", "[::/0]"], "net", &to, "start-connect", &allow);
}

#[test]
fn a_name_leads_to_this_machine_only_by_the_word() {
    let server = Server::greeting("127.0.0.1:0");
    let port = server.port();
    let rule = format!("localhost:{port}");
    let connect = json!({"do": "connect", "to": rule});
    let report = run(&json!([connect]), &["--allow-net", &rule]).json();
    assert!(report["result"]["seen"][0]["error"].is_string(), "{report}");
    let denials = report["denials"].as_array().unwrap();
    assert!(!denials.is_empty(), "{report}");
    for denial in denials {
        let subject = denial["subject"].as_str().unwrap();
        assert!(subject == "localhost (127.0.0.1)" || subject == "localhost (::1)", "{report}");
        assert_eq!(denial["operation"], "resolve-addresses", "{report}");
        assert_eq!(denial["allow"], format!("--allow-net localhost:{port}+loopback"), "{report}");
    }
    assert_eq!(server.connections(), 0);
    assert_allowed(&connect, &["--allow-net", &format!("{rule}+loopback")], "hello");
    // A rule for a name does not grant its address until the guest has looked up the name.
    let address = json!({"do": "connect", "to": server.address.to_string()});
    let with_name = format!("{rule}+loopback");
    let subject = server.address.to_string();
    let allow = format!("--allow-net {subject}");
    assert_denied(&address, &["--allow-net", &with_name], "net", &subject, "start-connect", &allow);
    let steps = json!([{"do": "lookup", "name": "LocalHost"}, address]);
    let report = run(&steps, &["--allow-net", &with_name]).json();
    assert_eq!(report["result"]["seen"][1]["ok"], "hello", "{report}");
}

#[test]
fn a_name_has_the_ports_of_its_own_rule() {
    let server = Server::greeting("127.0.0.1:0");
    let port = server.port();
    let steps = json!([{"do": "lookup", "name": "localhost"}, {"do": "connect", "to": server.address.to_string()}]);
    let report = run(&steps, &["--allow-net", "localhost:1+loopback", "--allow-net", "example.org"]).json();
    assert!(report["result"]["seen"][1]["error"].is_string(), "{report}");
    let denial = &report["denials"][0];
    assert_eq!(denial["subject"], format!("127.0.0.1:{port}"), "{report}");
    assert_eq!(denial["allow"], format!("--allow-net localhost:{port}+loopback"), "{report}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn only_granted_names_are_looked_up() {
    let rules = ["--allow-net", "*.localhost+loopback", "--allow-net", "127.0.0.0/8"];
    let denied = |name: &str| {
        let step = json!({"do": "lookup", "name": name});
        let allow = format!("--allow-net {name}");
        assert_denied(&step, &rules, "net", name, "resolve-addresses", &allow);
    };
    denied("localhost");
    denied("notlocalhost");
    denied("metadata.google.internal");
    // A name that resolvers would parse as an address is not accepted as a name.
    for odd in ["0x7f.1", "2130706433", "127.1"] {
        let (seen, denials) = try_step(&json!({"do": "lookup", "name": odd}), &rules);
        assert!(seen["error"].is_string() || seen["ok"] == "127.0.0.1", "{odd}: {seen}");
        assert_eq!(denials, json!([]), "{odd}");
    }
}

#[test]
fn each_denial_is_reported_once() {
    let connect = json!({"do": "connect", "to": "127.0.0.1:9"});
    let other = json!({"do": "connect", "to": "127.0.0.1:10"});
    let report = run(&json!([connect, connect, other, connect]), &["--allow-net", "192.0.2.1"]).json();
    let subjects: Vec<&Value> = report["denials"].as_array().unwrap().iter().map(|denial| &denial["subject"]).collect();
    assert_eq!(subjects, ["127.0.0.1:9", "127.0.0.1:10"], "{report}");
}

#[test]
fn metadata_needs_its_word_even_where_its_neighbours_are_granted() {
    let connect = json!({"do": "connect", "to": "169.254.169.254:80"});
    for rule in ["169.254.0.0/16", "0.0.0.0/0+link-local+private"] {
        let allow = "--allow-net 169.254.169.254:80+metadata";
        assert_denied(&connect, &["--allow-net", rule], "net", "169.254.169.254:80", "start-connect", allow);
    }
}

#[test]
fn listening_is_a_grant_of_its_own() {
    let listen = json!({"do": "listen", "at": "127.0.0.1:0"});
    let net = ["--allow-net", "127.0.0.1"];
    let allow = "--allow-listen 127.0.0.1:0";
    assert_denied(&listen, &net, "listen", "127.0.0.1:0", "start-bind", allow);
    assert_allowed(&listen, &["--allow-net", "127.0.0.1", "--allow-listen", "127.0.0.1:0"], "hello");
    assert_allowed(&listen, &["--allow-net", "127.0.0.1", "--allow-listen", "0.0.0.0:0"], "hello");
    // A client socket may bind to a port chosen by the system; that does not count as listening.
    let every = json!({"do": "listen", "at": "0.0.0.0:0"});
    assert_denied(&every, &net, "listen", "0.0.0.0:0", "start-listen", "--allow-listen 0.0.0.0:0");
    // A grant to listen does not grant connections.
    let (seen, denials) = try_step(&listen, &["--allow-listen", "127.0.0.1:0"]);
    assert!(seen["error"].is_string(), "{seen}");
    assert_eq!(denials[0]["operation"], "start-connect", "{denials}");
}

#[test]
fn a_listener_accepts_every_client() {
    let port = reserved_port();
    let at = format!("127.0.0.1:{port}");
    let dir = TestDir::new();
    let running = Modbox::run_module(&dir, guest("network"))
        .json_args(&json!({"steps": [{"do": "serve", "at": at}]}))
        .args(["--allow-listen", &at])
        .report()
        .spawn();
    let mut stream = None;
    assert!(wait_for(Duration::from_secs(30), || {
        stream = TcpStream::connect(&at).ok();
        stream.is_some()
    }));
    let mut stream = stream.unwrap();
    stream.write_all(b"knock").unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "served");
    let report = running.wait().exits_with(0).json();
    assert_eq!(report["result"]["seen"], json!([{"ok": "knock"}]), "{report}");
}

#[test]
fn datagrams_go_where_a_rule_for_udp_says() {
    let (echo, count) = udp_echo("127.0.0.1:0");
    let to = echo.to_string();
    let rule = format!("udp:{to}");
    for kind in ["send", "send-connected"] {
        let step = json!({"do": kind, "from": "0.0.0.0:0", "to": to, "say": "hi"});
        assert_allowed(&step, &["--allow-net", &rule], "heard: hi");
        let before = count.load(Ordering::SeqCst);
        let (seen, denials) = try_step(&step, &["--allow-net", "udp:127.0.0.1:9", "--allow-net", &to]);
        assert!(seen["error"].is_string(), "{kind}: {seen}");
        assert_eq!(denials[0]["subject"], rule, "{kind}: {denials}");
        assert_eq!(denials[0]["allow"], format!("--allow-net {rule}"), "{kind}: {denials}");
        assert_eq!(denials.as_array().unwrap().len(), 1, "{kind}: {denials}");
        assert_eq!(count.load(Ordering::SeqCst), before, "{kind}: a datagram came through");
    }
    // Binding to a chosen port counts as listening.
    let own = format!("127.0.0.1:{}", reserved_port());
    let step = json!({"do": "send", "from": own, "to": to, "say": "hi"});
    let allow = format!("--allow-listen udp:{own}");
    assert_denied(&step, &["--allow-net", &rule], "listen", &format!("udp:{own}"), "start-bind", &allow);
}

#[test]
fn a_datagram_can_be_answered_where_listening_is_granted() {
    let at = format!("127.0.0.1:{}", reserved_port());
    let dir = TestDir::new();
    let running = Modbox::run_module(&dir, guest("network"))
        .json_args(&json!({"steps": [{"do": "receive", "at": at}]}))
        .args(["--allow-listen", &format!("udp:{at}")])
        .report()
        .spawn();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut buffer = [0; 64];
    let mut answer = None;
    assert!(wait_for(Duration::from_secs(30), || {
        let _ = socket.send_to(b"question", &at);
        answer = socket.recv_from(&mut buffer).ok().map(|(length, _)| length);
        answer.is_some()
    }));
    assert_eq!(&buffer[..answer.unwrap()], b"answered");
    let report = running.wait().exits_with(0).json();
    assert_eq!((&report["result"]["seen"], &report["denials"]), (&json!([{"ok": "question"}]), &json!([])), "{report}");
}

#[test]
fn a_server_that_never_answers_is_waited_for_until_the_timeout() {
    let server = Server::silent();
    let dir = TestDir::new();
    // Compiled beforehand, so that the time is that of the run.
    small_module(&dir, "small.wasm");
    Modbox::run_module(&dir, guest("network")).args(["--timeout", "1ms"]).run();
    let ran = Modbox::run_module(&dir, guest("network"))
        .json_args(&json!({"steps": [{"do": "connect", "to": server.address.to_string()}]}))
        .args(["--allow-net", "127.0.0.1", "--timeout", "3s"])
        .report()
        .run()
        .exits_with(5);
    assert_eq!(ran.json()["limit"]["kind"], "wall", "{ran}");
    assert_eq!(server.connections(), 1);
}

#[test]
fn sockets_count_like_open_files() {
    let options = ["--allow-net", "udp:127.0.0.1"];
    let (seen, _) = try_step(&json!({"do": "sockets", "count": 1000}), &options);
    let opened = seen["opened"].as_u64().unwrap();
    assert!((200..=256).contains(&opened) && seen["error"].is_string(), "{seen}");
    let dir = TestDir::new();
    let ran = Modbox::run_module(&dir, guest("network"))
        .json_args(&json!({"steps": [{"do": "sockets", "count": 1000, "insist": true}]}))
        .args(options)
        .report()
        .run()
        .exits_with(5);
    assert_eq!(ran.json()["limit"], json!({"kind": "descriptors", "allowed": 256, "unit": "descriptors"}), "{ran}");
}

#[test]
fn the_report_lists_the_rules_and_who_granted_them() {
    let dir = TestDir::new();
    dir.write(
        "policy.yaml",
        "allow:\n  net: ['*.example.org:443', 'udp:192.0.2.53:53']\n  listen: ['127.0.0.1:8080']\n",
    );
    let ran = Modbox::run_module(&dir, guest("network"))
        .json_args(&json!({"steps": []}))
        .args(["--policy", "policy.yaml", "--allow-net", "DB.internal:5432+private", "--allow-listen", "[::1]:0"])
        .report()
        .run()
        .exits_with(0);
    let file = format!("policy file {}", dir.join("policy.yaml").display());
    let line = |capability: &str, subject: &str, source: &str| json!({"capability": capability, "subject": subject, "source": source});
    let expect = json!([
        line("net", "*.example.org:443", &file),
        line("net", "udp:192.0.2.53:53", &file),
        line("net", "db.internal:5432+private", "--allow-net"),
        line("listen", "127.0.0.1:8080", &file),
        line("listen", "[::1]:0", "--allow-listen"),
    ]);
    let normal = |report: Value| report["grants"].to_string().replace(&file, "FILE");
    let sources: Vec<Value> = ran.json()["grants"].as_array().unwrap().clone();
    assert_eq!(sources.len(), 5, "{ran}");
    let shown = normal(json!({"grants": sources})).replace("policy file policy.yaml", "FILE");
    assert_eq!(shown, normal(json!({"grants": expect})), "{ran}");
}

#[test]
fn a_wrong_rule_is_a_mistake_of_usage() {
    let dir = TestDir::new();
    for (switch, rule, expect) in [
        ("--allow-net", "http://example.org", "invalid network rule"),
        ("--allow-net", "169.254.169.254", "169.254.169.254+metadata"),
        ("--allow-listen", "localhost:80", "not an address of this machine"),
    ] {
        let ran = Modbox::run_module(&dir, guest("network")).args([switch, rule]).run().exits_with(2);
        ran.says(switch).says(expect);
    }
    dir.write("policy.yaml", "allow: {net: ['10.0.0.1/8']}\n");
    let ran = Modbox::run_module(&dir, guest("network")).args(["--policy", "policy.yaml"]).run().exits_with(2);
    ran.says("policy.yaml").says("write `10.0.0.0/8`");
}
