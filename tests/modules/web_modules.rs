//! `uri` and `get_url` with servers that are hostile, break the connection, or are not granted.
//!
//! `modules.rs` compares them with ansible-core for well-behaved servers.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::server::{Server, drip, read_request, response};
use crate::support::{Modbox, RunOutput, TestDir, fixture, module};

/// Answers every request with these bytes, as often as the client takes them.
fn answering(head: &'static str, then: &'static str) -> Server {
    Server::at("127.0.0.1:0", move |mut stream: TcpStream| {
        read_request(&stream);
        let mut going = stream.write_all(head.as_bytes()).is_ok();
        while going && !then.is_empty() {
            going = stream.write_all(then.repeat(4096).as_bytes()).is_ok();
        }
    })
}

/// Runs a module with a grant of a server, and more.
fn run(dir: &TestDir, name: &str, server: &Server, args: &Value, options: &[&str]) -> RunOutput {
    let mut args = args.clone();
    args["url"] = json!(format!("http://{}/", server.address));
    let grant = server.address.to_string();
    let run = Modbox::run_module(dir, module(name)).json_args(&args).args(["--allow-net", &grant]);
    run.args(options).report().run()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_server_that_is_not_granted_is_told_with_its_switch() {
    let server = Server::http(|_, _| response("200 OK", "", "page"));
    let (dir, address) = (TestDir::new(), server.address.to_string());
    for (name, args) in [("uri", json!({})), ("get_url", json!({"dest": dir.join("file")}))] {
        let mut args = args;
        args["url"] = json!(format!("http://{address}/"));
        let report = Modbox::run_module(&dir, module(name)).json_args(&args).report().run().exits_with(1).json();
        let message = report["result"]["msg"].as_str().unwrap();
        assert!(message.contains(&format!("`--allow-net {address}`")), "{name}: {message}");
        assert_eq!(report["denials"][0]["allow"], format!("--allow-net {address}"), "{report:#}");
    }
    let by_name = format!("localhost:{}", server.port());
    let args = json!({"url": format!("http://{by_name}/")});
    let run = Modbox::run_module(&dir, module("uri")).json_args(&args).args(["--allow-net", &by_name]).report();
    let report = run.run().exits_with(1).json();
    assert!(
        report["result"]["msg"].as_str().unwrap().contains(&format!("--allow-net {by_name}+loopback")),
        "{report:#}"
    );
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_redirect_leads_nowhere_that_is_not_granted_and_takes_no_credentials_along() {
    let target =
        Server::http(|head, _| response("200 OK", "", &head.to_lowercase().contains("authorization").to_string()));
    let location = format!("location: http://{}/\r\n", target.address);
    let server = Server::http(move |_, _| response("302 Found", &location, ""));
    let dir = TestDir::new();
    let args = json!({"return_content": true, "url_username": "u", "url_password": "p", "force_basic_auth": true});
    let denied = run(&dir, "uri", &server, &args, &[]).exits_with(1).json();
    let to = target.address.to_string();
    assert!(denied["result"]["msg"].as_str().unwrap().contains(&format!("--allow-net {to}")), "{denied:#}");
    assert_eq!(target.connections(), 0);
    let allowed = run(&dir, "uri", &server, &args, &["--allow-net", &to]).exits_with(0).json();
    assert_eq!(allowed["result"]["content"], "false", "{allowed:#}");
}

#[test]
fn a_server_without_a_trusted_certificate_is_refused_whatever_the_module_wants() {
    let server = Server::at("127.0.0.1:0", |mut stream: TcpStream| {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        let file = |name: &str| fixture(&format!("tls/{name}"));
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
    let (dir, authority) = (TestDir::new(), format!("localhost:{}", server.port()));
    let run = |more: Value| {
        let mut args = more;
        args["url"] = json!(format!("https://{authority}/"));
        let run = Modbox::run_module(&dir, module("uri")).json_args(&args).report();
        let report = run.args(["--allow-net", &format!("{authority}+loopback")]).run().exits_with(1).json();
        report["result"]["msg"].as_str().unwrap().to_owned()
    };
    assert!(run(json!({})).contains("its certificate is invalid"));
    assert!(run(json!({"validate_certs": false})).starts_with("validate_certs=no is not supported"));
    assert!(run(json!({"ca_path": "/tmp/ca"})).starts_with("the option `ca_path` is not supported"));
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_body_without_end_ends_at_the_limit_of_disk_or_of_content_and_nothing_is_left() {
    let server = answering("HTTP/1.1 200 OK\r\n\r\n", "a lot of bytes ");
    let dir = TestDir::new();
    let data = dir.mkdir("data");
    fs::write(data.join("file"), "old").unwrap();
    let dest = json!({"dest": data.join("file")});
    let allow = ["--allow-write", data.to_str().unwrap(), "--max-disk", "4MiB"];
    for name in ["uri", "get_url"] {
        let report = run(&dir, name, &server, &dest, &allow).exits_with(5).json();
        assert_eq!(report["limit"]["kind"], "disk", "{name}: {report:#}");
        assert_eq!(fs::read_to_string(data.join("file")).unwrap(), "old", "{name}");
        assert_eq!(names(&data), ["file"], "{name}");
    }
    let report = run(&dir, "uri", &server, &json!({"return_content": true}), &[]).exits_with(1).json();
    let message = report["result"]["msg"].as_str().unwrap();
    assert!(message.contains("is too long: more than 33554432 bytes; set dest to write it to a file"), "{message}");
}

#[test]
fn a_server_that_takes_its_time_is_left() {
    let head = Server::at("127.0.0.1:0", |mut stream: TcpStream| {
        read_request(&stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx-slow: ");
        drip(stream);
    });
    let body = Server::at("127.0.0.1:0", |mut stream: TcpStream| {
        read_request(&stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
        drip(stream);
    });
    let dir = TestDir::new();
    let data = dir.mkdir("data");
    let (args, allow) = (json!({"dest": data.join("file"), "timeout": 1}), ["--allow-write", data.to_str().unwrap()]);
    let report = run(&dir, "get_url", &head, &args, &allow).exits_with(1).json();
    assert_eq!(report["result"]["msg"], "Connection failure: timed out", "{report:#}");
    // The server is never silent for a second, so only the limit of the run ends it.
    let limited = [allow[0], allow[1], "--timeout", "2s"];
    let report = run(&dir, "get_url", &body, &args, &limited).exits_with(5).json();
    assert_eq!(report["limit"]["kind"], "wall", "{report:#}");
    assert!(names(&data).is_empty());
}

#[test]
fn invalid_responses_are_reported_and_leave_nothing() {
    let dir = TestDir::new();
    let data = dir.mkdir("data");
    let (args, allow) = (json!({"dest": data.join("file")}), ["--allow-write", data.to_str().unwrap()]);
    for (head, then, message) in [
        ("SSH-2.0-OpenSSH\r\n", "", "is not HTTP"),
        ("HTTP/1.1 200 OK\r\n", "x-field: value\r\n", "is too long: its head"),
        ("HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello", "", "is not HTTP"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 3\r\n\r\nhello", "", "is not HTTP"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", "", "failed to read remaining 5 bytes"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel", "", "is incomplete"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "", "is incomplete"),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello", "", "failed to decompress"),
    ] {
        let server = answering(head, then);
        let report = run(&dir, "get_url", &server, &args, &allow).exits_with(1).json();
        let told = report["result"]["msg"].as_str().unwrap();
        assert!(told.contains(message), "{head}: {told}");
        assert!(names(&data).is_empty(), "{head}");
    }
}

#[test]
fn no_field_of_an_answer_is_taken_for_the_results_own() {
    let server = Server::http(|_, _| {
        let fields =
            "failed: yes\r\nansible-facts: x\r\npath: /etc/passwd\r\ninvocation: y\r\nskipped: 1\r\nx-kept: 1\r\n";
        response("200 OK", fields, "hi")
    });
    let dir = TestDir::new();
    let report = run(&dir, "uri", &server, &json!({}), &["--contract", "2.19"]).exits_with(0).json();
    let result = &report["result"];
    assert_eq!((&result["status"], &result["x_kept"], &report["status"]), (&json!(200), &json!("1"), &json!("ok")));
    assert!(["ansible_facts", "path", "skipped", "owner"].iter().all(|key| result.get(key).is_none()), "{result:#}");
    assert!(result["invocation"]["module_args"].is_object(), "{result:#}");
}

#[test]
fn a_name_that_the_server_gives_stays_in_the_folder() {
    let dir = TestDir::new();
    let data = dir.mkdir("data/folder");
    let allow = ["--allow-write", data.to_str().unwrap()];
    for (field, name) in [
        ("content-disposition: attachment; filename=\"../../evil\"\r\n", "evil"),
        ("content-disposition: attachment; filename*=UTF-8''..%2f..%2fworse\r\n", "worse"),
        ("content-disposition: attachment; filename=\"..\"\r\n", "index.html"),
    ] {
        let server = Server::http(move |_, _| response("200 OK", field, "hi"));
        for module in ["uri", "get_url"] {
            let report = run(&dir, module, &server, &json!({"dest": data}), &allow).exits_with(0).json();
            assert!(report["result"].to_string().contains(&format!("folder/{name}")), "{field}: {report:#}");
        }
        assert_eq!(names(&data), [name], "{field}");
        fs::remove_file(data.join(name)).unwrap();
    }
    assert_eq!(names(&dir.join("data")), ["folder"]);
}

#[test]
fn a_wrong_checksum_leaves_the_file_and_its_folder_as_they_were() {
    let server = Server::http(|_, _| response("200 OK", "", "new contents"));
    let dir = TestDir::new();
    let data = dir.mkdir("data");
    let allow = ["--allow-write", data.to_str().unwrap()];
    let args = json!({"dest": data.join("file"), "checksum": "md5:d41d8cd98f00b204e9800998ecf8427e", "force": true, "backup": true});
    for there in [false, true] {
        if there {
            fs::write(data.join("file"), "old").unwrap();
        }
        let report = run(&dir, "get_url", &server, &args, &allow).exits_with(1).json();
        let message = report["result"]["msg"].as_str().unwrap();
        assert!(message.contains("did not match d41d8cd98f00b204e9800998ecf8427e; it was"), "{message}");
        assert_eq!(names(&data), vec!["file"; usize::from(there)], "{report:#}");
    }
    assert_eq!(fs::read_to_string(data.join("file")).unwrap(), "old");
}

#[test]
fn a_file_that_alone_is_granted_is_written() {
    let server = Server::http(|_, _| response("200 OK", "", "new"));
    let dir = TestDir::new();
    let file = dir.join("data/file");
    dir.mkdir("data");
    // Its name in the arguments grants it and nothing else.
    for before in [None, Some("older and longer")] {
        if let Some(before) = before {
            fs::write(&file, before).unwrap();
        }
        let report = run(&dir, "get_url", &server, &json!({"dest": file, "force": true}), &[]).exits_with(0).json();
        assert_eq!(report["result"]["changed"], true, "{report:#}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(names(&dir.join("data")), ["file"]);
    }
}
