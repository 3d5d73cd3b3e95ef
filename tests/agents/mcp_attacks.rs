//! Bad input of a client, line by line: each is answered or passed over, the server lives, and serves the next call.

use serde_json::{Value, json};

use crate::agents::client::{Client, modern, with_module};
use crate::agents::mcp_tools::{policy, site};
use crate::support::{TestDir, guest};

/// Asserts that the server still runs calls.
#[track_caller]
fn assert_lives(client: &mut Client, dir: &TestDir) {
    let answer = client.structure("lives", "stat", &json!({"path": dir.join("site/motd")}));
    assert_eq!(answer["status"], "ok", "{answer}");
}

#[test]
fn lines_that_are_not_messages_are_answered() {
    let dir = site();
    let mut client = Client::legacy(&dir, &[]);
    let deep = "[".repeat(100_000);
    let lines: [(&[u8], i64); 12] = [
        (b"garbage", -32700),
        (b"{\"jsonrpc\": \"2.0\"", -32700),
        (b"\xff\xfe\x00", -32700),
        (deep.as_bytes(), -32700),
        (b"{}", -32600),
        (b"[]", -32600),
        (b"42", -32600),
        (b"[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}]", -32600),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": \"ping\"}", -32600),
        (b"{\"jsonrpc\": \"2.0\", \"id\": {\"a\": 1}, \"method\": \"tools/list\"}", -32600),
        (b"{\"jsonrpc\": \"1.0\", \"id\": 1, \"method\": \"ping\"}", -32602),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tools/call\", \"params\": {\"name\": 5}}", -32602),
    ];
    for (line, code) in lines {
        client.send_line(line);
        let answer = client.answer(|message| message.get("error").is_some());
        assert_eq!(answer["error"]["code"], code, "{}: {answer}", String::from_utf8_lossy(&line[..line.len().min(80)]));
    }
    client.send_line(b"");
    client.send_line(b"   ");
    assert_lives(&mut client, &dir);
    assert!(client.end().1.success());
}

#[test]
fn a_line_of_100_megabytes_is_passed_over() {
    let dir = site();
    let mut client = Client::legacy(&dir, &[]);
    client.send_line(&vec![b'x'; 100 << 20]);
    let answer = client.answer(|message| message.get("error").is_some());
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("longer than"), "{answer}");
    assert_lives(&mut client, &dir);
}

#[test]
fn what_comes_before_the_first_request_is_passed_over() {
    let dir = site();
    let mut client = Client::start(&dir, &[]);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    client.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    client.send_line(b"garbage");
    // A request of the old protocol without a session.
    let early = client.ask(1, "tools/list", &json!({}));
    assert!(early["error"]["message"].as_str().unwrap().contains("_meta"), "{early}");
    client.initialize();
    assert_lives(&mut client, &dir);
}

#[test]
fn wrong_requests_are_refused_and_the_server_lives() {
    let dir = site();
    let mut client = Client::legacy(&dir, &[]);
    for (method, params, code) in [
        ("tools/call", json!({"name": "nothing", "arguments": {}}), -32602),
        ("tools/call", json!({"name": "modbox_undo", "arguments": {"run": "x"}}), -32602),
        ("tools/call", json!({"name": "../stat", "arguments": {}}), -32602),
        ("tools/call", json!({"name": "stat", "arguments": "text"}), -32602),
        ("tools/call", json!({"arguments": {}}), -32602),
        // Answers to questions that were never asked.
        ("tools/call", json!({"name": "stat", "arguments": {"path": "/"}, "requestState": "forged"}), -32602),
        ("tools/call", json!({"name": "stat", "arguments": {"path": "/"}, "inputResponses": {}}), -32602),
        ("resources/read", json!({"uri": "file:///etc/passwd"}), -32601),
        ("prompts/get", json!({"name": "x"}), -32601),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}),
            -32601,
        ),
        ("nonsense", json!({}), -32601),
        ("tools/list", json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "1999-01-01"}}), -32022),
    ] {
        let answer = client.ask("wrong", method, &params);
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    let again = client.ask("again", "tools/list", &json!({"cursor": "forged"}));
    assert!(again["result"]["tools"].is_array(), "{again}");
    assert_lives(&mut client, &dir);
}

#[test]
fn unknown_versions_are_answered_with_a_known_one() {
    let dir = site();
    for (asked, expect) in
        [("1999-01-01", "2025-11-25"), ("2024-11-05", "2024-11-05"), ("2026-07-28", "2025-11-25"), ("", "2025-11-25")]
    {
        let mut client = Client::start(&dir, &[]);
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        let answer = client.ask(1, "initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], expect, "{asked}: {answer}");
    }
    let mut client = Client::start(&dir, &[]);
    let mut params = modern(json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let answer = client.ask(1, "tools/list", &params);
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
}

#[test]
fn calls_beyond_the_queue_are_refused() {
    let dir = site();
    with_module(&dir, "sleep", &guest("sleep"), &json!({"name": "sleep", "argument_spec": {"say": {}}}));
    policy(&dir, "[sleep, stat]", "");
    let mut client = Client::legacy(&dir, &["--jobs", "1"]);
    for id in 0..70 {
        client.request(id, "tools/call", &json!({"name": "sleep", "arguments": {"say": ""}}));
    }
    // The first 64 wait for a guest that does not end.
    let refused: Vec<Value> = (0..6).map(|_| client.answer(|message| message.get("result").is_some())).collect();
    for answer in &refused {
        assert!(answer["id"].as_u64().unwrap() >= 64, "{answer}");
        assert!(answer["result"]["structuredContent"]["notes"][0].as_str().unwrap().contains("64 calls"), "{answer}");
    }
    for id in 0..64 {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    assert_lives(&mut client, &dir);
    assert!(client.end().1.success());
}

#[test]
fn calls_are_answered_after_the_input_has_ended() {
    let dir = site();
    let mut client = Client::legacy(&dir, &["--jobs", "1"]);
    for id in 0..20 {
        client.request(id, "tools/call", &json!({"name": "stat", "arguments": {"path": dir.join("site/motd")}}));
    }
    let (answers, status) = client.end();
    assert!(status.success());
    let mut ids: Vec<u64> = answers.iter().filter_map(|message| message["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<_>>());
}
