//! Sends the HTTP requests in `requests` with `wasi:http`, one after the other, and returns the responses. `hoard`
//! keeps that many messages instead, and `parallel` sends that many requests to `authority` at the same time and
//! returns the last result.

use serde_json::{Value, json};
use test_guests::Args;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, FutureIncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::StreamError;

fn main() {
    let args = Args::read();
    test_guests::say_started(&args);
    if let Some(count) = args.number("hoard") {
        let hoard: Vec<OutgoingRequest> = (0..count).map(|_| OutgoingRequest::new(Fields::new())).collect();
        test_guests::print(&json!({"changed": false, "kept": hoard.len()}));
        return;
    }
    if let Some(count) = args.number("parallel") {
        let futures: Vec<FutureIncomingResponse> = (0..count).map(|_| send(args.text("authority"))).collect();
        let last = futures.last().expect("there is one");
        last.subscribe().block();
        let seen = last.get().expect("it is ready").expect("it is asked for once").map(|response| response.status());
        test_guests::print(&json!({"changed": false, "last": format!("{seen:?}")}));
        return;
    }
    let requests = args.0["requests"].as_array().expect("`requests` is a list");
    let seen: Vec<Value> = requests.iter().map(|request| fetch(request).unwrap_or_else(|error| error)).collect();
    test_guests::print(&json!({"changed": false, "seen": seen}));
}

fn send(authority: &str) -> FutureIncomingResponse {
    let request = OutgoingRequest::new(Fields::new());
    request.set_scheme(Some(&Scheme::Http)).expect("the scheme is known");
    request.set_authority(Some(authority)).expect("the test gives a valid host");
    request.set_path_with_query(Some("/")).expect("the path is valid");
    outgoing_handler::handle(request, None).expect("the request is valid")
}

fn fetch(wanted: &Value) -> Result<Value, Value> {
    let text = |name: &str| wanted[name].as_str().unwrap_or_default();
    let failed = |error: &dyn std::fmt::Debug| json!({"error": format!("{error:?}")});
    let fields = Fields::new();
    let size = wanted["field"].as_u64().unwrap_or_default();
    if size > 0 {
        let value = vec![b'x'; usize::try_from(size).expect("a small number")];
        fields.append("x-large", &value).map_err(|error| failed(&error))?;
    }
    let request = OutgoingRequest::new(fields);
    let scheme = if text("scheme") == "https" { Scheme::Https } else { Scheme::Http };
    let (authority, path) = (text("authority"), text("path"));
    let body = text("body");
    let method = if body.is_empty() { Method::Get } else { Method::Post };
    request.set_scheme(Some(&scheme)).map_err(|()| failed(&"scheme"))?;
    request.set_authority(Some(authority)).map_err(|()| failed(&"authority"))?;
    request.set_path_with_query(Some(path)).map_err(|()| failed(&"path"))?;
    request.set_method(&method).map_err(|()| failed(&"method"))?;
    let outgoing = request.body().map_err(|()| failed(&"body"))?;
    let future = outgoing_handler::handle(request, None).map_err(|error| failed(&error))?;
    if !body.is_empty() {
        let stream = outgoing.write().map_err(|()| failed(&"write"))?;
        stream.blocking_write_and_flush(body.as_bytes()).map_err(|error| failed(&error))?;
    }
    OutgoingBody::finish(outgoing, None).map_err(|error| failed(&error))?;
    future.subscribe().block();
    let response = future.get().expect("it is ready").expect("it is asked for once").map_err(|error| failed(&error))?;
    if wanted["unread"] == true {
        std::thread::sleep(std::time::Duration::MAX);
    }
    let location = response.headers().get("location").first().map(|value| String::from_utf8_lossy(value).into_owned());
    let incoming = response.consume().map_err(|()| failed(&"consume"))?;
    let stream = incoming.stream().map_err(|()| failed(&"stream"))?;
    let (mut head, mut length) = (Vec::new(), 0);
    let end = loop {
        match stream.blocking_read(64 << 10) {
            Ok(bytes) => {
                length += bytes.len();
                head.extend_from_slice(&bytes[..bytes.len().min(100 - head.len().min(100))]);
            }
            Err(StreamError::Closed) => break "whole".to_owned(),
            Err(error) => break format!("{error:?}"),
        }
    };
    let head = String::from_utf8_lossy(&head).into_owned();
    Ok(json!({"status": response.status(), "location": location, "length": length, "head": head, "end": end}))
}
