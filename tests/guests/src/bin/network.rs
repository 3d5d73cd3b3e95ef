//! Tries the network in `steps`, each an object with `do` and its parameters, and returns each result.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};

use serde_json::{Value, json};
use test_guests::{Args, seen};

fn main() {
    let args = Args::read();
    test_guests::say_started(&args);
    let steps = args.0["steps"].as_array().expect("`steps` is a list");
    let seen: Vec<Value> = steps.iter().map(step).collect();
    test_guests::print(&json!({"changed": false, "seen": seen}));
}

fn step(step: &Value) -> Value {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    match text("do") {
        "connect" => shown(connect(text("to"), text("say"))),
        "lookup" => shown(look_up(text("name"))),
        "listen" => shown(listen(text("at"))),
        "serve" => shown(serve(text("at"))),
        "send" => shown(send(text("from"), text("to"), text("say"))),
        "send-connected" => shown(send_connected(text("from"), text("to"), text("say"))),
        "receive" => shown(receive(text("at"))),
        "sockets" => many(step["count"].as_u64().unwrap_or_default(), step["insist"] == true),
        other => panic!("there is no step `{other}`"),
    }
}

fn shown(result: io::Result<String>) -> Value {
    match result {
        Ok(text) => json!({"ok": text}),
        Err(error) => json!({"error": seen::<()>(&Err(error))}),
    }
}

/// Sends a text and reads until the end.
fn connect(to: &str, say: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(to)?;
    stream.write_all(say.as_bytes())?;
    let mut heard = String::new();
    stream.read_to_string(&mut heard)?;
    Ok(heard)
}

fn look_up(name: &str) -> io::Result<String> {
    let addresses: Vec<String> = (name, 0).to_socket_addrs()?.map(|address| address.ip().to_string()).collect();
    Ok(addresses.join(" "))
}

/// Listens, and connects to its own port.
fn listen(at: &str) -> io::Result<String> {
    let listener = TcpListener::bind(at)?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    server.write_all(b"hello")?;
    drop(server);
    let mut heard = String::new();
    client.read_to_string(&mut heard)?;
    Ok(heard)
}

/// Listens, and answers the first connection.
fn serve(at: &str) -> io::Result<String> {
    let (mut stream, _) = TcpListener::bind(at)?.accept()?;
    let mut heard = [0; 5];
    stream.read_exact(&mut heard)?;
    stream.write_all(b"served")?;
    Ok(String::from_utf8_lossy(&heard).into_owned())
}

/// Sends a datagram and waits for one.
fn send(from: &str, to: &str, say: &str) -> io::Result<String> {
    let socket = UdpSocket::bind(from)?;
    socket.send_to(say.as_bytes(), to)?;
    let mut buffer = [0; 64];
    let (length, _) = socket.recv_from(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

fn send_connected(from: &str, to: &str, say: &str) -> io::Result<String> {
    let socket = UdpSocket::bind(from)?;
    socket.connect(to)?;
    socket.send(say.as_bytes())?;
    let mut buffer = [0; 64];
    let length = socket.recv(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// Waits for a datagram and answers it.
fn receive(at: &str) -> io::Result<String> {
    let socket = UdpSocket::bind(at)?;
    let mut buffer = [0; 64];
    let (length, sender) = socket.recv_from(&mut buffer)?;
    socket.send_to(b"answered", sender)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// Opens many sockets, and returns how many were opened, or fails with `insist`.
fn many(count: u64, insist: bool) -> Value {
    let mut open = Vec::new();
    for _ in 0..count {
        match UdpSocket::bind("0.0.0.0:0") {
            Ok(socket) => open.push(socket),
            Err(error) if insist => panic!("{error}"),
            Err(error) => return json!({"opened": open.len(), "error": seen::<()>(&Err(error))}),
        }
    }
    json!({"opened": open.len()})
}
