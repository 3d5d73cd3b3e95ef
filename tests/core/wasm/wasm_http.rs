//! What a guest reaches by `wasi:http`: the same rules as for sockets apply, and all responses are bounded.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::server::{Server, read_request, response};
use crate::support::{Modbox, RunOutput, TestDir, guest};

fn run(requests: &Value, options: &[&str]) -> RunOutput {
    let dir = TestDir::new();
    let args = json!({"requests": requests});
    let ran = Modbox::run_module(&dir, guest("fetch")).json_args(&args).args(options).report().run();
    dir.assert_nothing_left();
    ran
}

fn get(authority: &str) -> Value {
    json!({"scheme": "http", "authority": authority, "path": "/"})
}

/// Sends one request and returns what the guest saw, and the denials.
fn fetch(request: &Value, options: &[&str]) -> (Value, Value) {
    let report = run(&json!([request]), options).exits_with(0).json();
    (report["result"]["seen"][0].clone(), report["denials"].clone())
}

fn page() -> Server {
    Server::http(|_, body| response("200 OK", "", &format!("page {body}")))
}

#[test]
fn a_request_goes_where_a_rule_says() {
    let server = page();
    let (address, port) = (server.address.to_string(), server.port());
    let by_name = format!("localhost:{port}");
    for (authority, rule) in [
        (&address, address.clone()),
        (&address, format!("127.0.0.0/8:{port}")),
        (&by_name, format!("{by_name}+loopback")),
    ] {
        let (seen, denials) = fetch(&get(authority), &["--allow-net", &rule]);
        assert_eq!((&seen["status"], &seen["head"]), (&json!(200), &json!("page ")), "{authority} {rule}: {seen}");
        assert_eq!((&seen["end"], &denials), (&json!("whole"), &json!([])), "{authority} {rule}: {seen}");
    }
    assert_eq!(fetch(&get(&address), &["--allow-all"]).0["status"], 200);
}

#[test]
fn a_request_elsewhere_is_denied_before_anything_is_sent() {
    let server = page();
    let (address, port) = (server.address.to_string(), server.port());
    let by_name = format!("localhost:{port}");
    for (authority, options, error, subject, allow) in [
        (&address, vec![], "HttpRequestDenied", address.clone(), format!("--allow-net {address}")),
        (&by_name, vec![], "HttpRequestDenied", by_name.clone(), format!("--allow-net {by_name}")),
        (&by_name, vec!["127.0.0.1"], "HttpRequestDenied", by_name.clone(), format!("--allow-net {by_name}")),
        (&address, vec!["localhost+loopback"], "HttpRequestDenied", address.clone(), format!("--allow-net {address}")),
        (&address, vec!["0.0.0.0/0"], "HttpRequestDenied", address.clone(), format!("--allow-net {address}")),
        (
            &by_name,
            vec!["localhost:1+loopback"],
            "HttpRequestDenied",
            by_name.clone(),
            format!("--allow-net {by_name}"),
        ),
    ] {
        let options: Vec<&str> = options.into_iter().flat_map(|rule| ["--allow-net", rule]).collect();
        let (seen, denials) = fetch(&get(authority), &options);
        assert!(seen["error"].as_str().unwrap().contains(error), "{authority} {options:?}: {seen}");
        let denial = json!({"capability": "net", "subject": subject, "operation": "handle", "allow": allow});
        assert_eq!(denials, json!([denial]), "{authority} {options:?}");
    }
    // The name is granted; where it leads is not.
    let (seen, denials) = fetch(&get(&by_name), &["--allow-net", &by_name]);
    assert!(seen["error"].as_str().unwrap().contains("DestinationIpProhibited"), "{seen}");
    assert_eq!(denials[0]["allow"], format!("--allow-net {by_name}+loopback"), "{denials}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn odd_spellings_of_a_host_do_not_evade_rules() {
    let server = page();
    let port = server.port();
    for host in ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "user@127.0.0.1", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let (seen, _) = fetch(&get(&format!("{host}:{port}")), &["--allow-net", "0.0.0.0/0", "--allow-net", "[::/0]"]);
        assert!(seen["error"].is_string(), "{host}: {seen}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_body_is_sent() {
    let server = page();
    let address = server.address.to_string();
    let mut request = get(&address);
    request["body"] = json!("from the guest");
    let (seen, _) = fetch(&request, &["--allow-net", &address]);
    assert_eq!(seen["head"], "page from the guest", "{seen}");
}

#[test]
fn a_redirect_is_a_request_of_its_own() {
    let target = page();
    let location = format!("location: http://{}/\r\n", target.address);
    let server = Server::http(move |_, _| response("302 Found", &location, ""));
    let (from, to) = (server.address.to_string(), target.address.to_string());
    let requests = json!([get(&from), get(&to)]);
    let report = run(&requests, &["--allow-net", &from]).exits_with(0).json();
    let seen = &report["result"]["seen"];
    assert_eq!((&seen[0]["status"], &seen[0]["location"]), (&json!(302), &json!(format!("http://{to}/"))), "{report}");
    assert!(seen[1]["error"].as_str().unwrap().contains("HttpRequestDenied"), "{report}");
    assert_eq!(target.connections(), 0, "the host followed");
}

#[test]
fn a_server_without_a_trusted_certificate_gets_no_request() {
    let server = Server::at("127.0.0.1:0", |mut stream: TcpStream| {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        let file = |name: &str| crate::support::fixture(&format!("tls/{name}"));
        let config = rustls::ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_file(file("server.pem")).unwrap()],
                PrivateKeyDer::from_pem_file(file("server.key")).unwrap(),
            )
            .unwrap();
        let mut connection = rustls::ServerConnection::new(config.into()).unwrap();
        let _ = connection.complete_io(&mut stream);
    });
    let authority = format!("localhost:{}", server.port());
    let request = json!({"scheme": "https", "authority": authority, "path": "/"});
    let (seen, denials) = fetch(&request, &["--allow-net", &format!("{authority}+loopback")]);
    assert_eq!(seen["error"], "ErrorCode::TlsCertificateError", "{seen}");
    assert_eq!((server.connections(), denials), (1, json!([])));
}

#[test]
fn the_head_of_a_response_is_bounded() {
    for (line, expect) in [("x-a: b\r\n", "HttpProtocolError"), ("x", "HttpResponseHeaderSectionSize")] {
        let server = Server::at("127.0.0.1:0", move |mut stream| {
            read_request(&stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while stream.write_all(line.repeat(4096).as_bytes()).is_ok() {}
        });
        let address = server.address.to_string();
        let (seen, _) = fetch(&get(&address), &["--allow-net", &address]);
        let error = seen["error"].as_str().unwrap();
        assert!(error.contains(expect) || error.contains("HttpResponseHeaderSectionSize"), "{seen}");
    }
}

#[test]
fn an_endless_body_ends_at_the_timeout() {
    let (server, _) = endless();
    let address = server.address.to_string();
    let ran = run(&json!([get(&address)]), &["--allow-net", &address, "--timeout", "1s"]).exits_with(5);
    assert_eq!(ran.json()["limit"]["kind"], "wall", "{ran}");
}

#[test]
fn a_body_that_the_guest_does_not_read_stays_where_it_is() {
    let (server, sent) = endless();
    let address = server.address.to_string();
    let mut request = get(&address);
    request["unread"] = json!(true);
    let ran = run(&json!([request]), &["--allow-net", &address, "--timeout", "2s"]).exits_with(5);
    assert_eq!(ran.json()["limit"]["kind"], "wall", "{ran}");
    // What the kernel holds on both sides, and a little. Unbounded, it would be gigabytes.
    let sent = sent.load(Ordering::SeqCst);
    assert!((1..64 << 20).contains(&sent), "{sent} bytes");
}

/// A server whose responses have no end, and how many bytes it could send.
fn endless() -> (Server, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let server = Server::at("127.0.0.1:0", move |mut stream| {
        read_request(&stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while let Ok(count) = stream.write(&[b'x'; 65536]) {
            counter.fetch_add(count, Ordering::SeqCst);
        }
    });
    (server, sent)
}

#[test]
fn a_server_that_never_answers_is_waited_for_until_the_timeout() {
    let server = Server::silent();
    let address = server.address.to_string();
    let ran = run(&json!([get(&address)]), &["--allow-net", &address, "--timeout", "1s"]).exits_with(5);
    assert_eq!(ran.json()["limit"]["kind"], "wall", "{ran}");
    ran.within(Duration::from_secs(30));
}

#[test]
fn messages_and_their_fields_are_bounded() {
    let dir = TestDir::new();
    let hoard =
        |count: u64| Modbox::run_module(&dir, guest("fetch")).json_args(&json!({"hoard": count})).report().run();
    assert_eq!(hoard(200).exits_with(0).json()["result"]["kept"], 200);
    let ran = hoard(100_000).exits_with(5);
    assert_eq!(ran.json()["limit"]["kind"], "descriptors", "{ran}");
    let mut request = get("127.0.0.1:9");
    request["field"] = json!(100_000);
    let report = run(&json!([request]), &[]).exits_with(5).json();
    assert_eq!(report["limit"], json!({"kind": "host-memory", "allowed": 32 << 10, "unit": "bytes"}), "{report}");
    let (seen, denials) = fetch(&get(&format!("{}.example.org", "a.".repeat(1000))), &[]);
    assert_eq!((&seen["error"], &denials), (&json!("\"authority\""), &json!([])), "a long host");
}

#[test]
fn connections_are_bounded() {
    let server = Server::silent();
    let address = server.address.to_string();
    let dir = TestDir::new();
    let ran = Modbox::run_module(&dir, guest("fetch"))
        .json_args(&json!({"parallel": 40, "authority": address}))
        .args(["--allow-net", &address])
        .report()
        .run()
        .exits_with(0);
    assert_eq!(ran.json()["result"]["last"], "Err(ErrorCode::ConnectionLimitReached)", "{ran}");
    assert!(server.connections() <= 32, "{}", server.connections());
}
