//! Servers on this machine that guests connect to. Each runs in a separate thread.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Time limit for a datagram, longer than any test waits for one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time between the bytes of a slow server.
const PAUSE: Duration = Duration::from_millis(50);

/// A TCP server that counts its connections. It ends with the test's process.
#[derive(Debug)]
pub struct Server {
    /// The address of the server.
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server at an address that calls `serve` for each connection, one after the other.
    pub fn at(address: &str, serve: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                counter.fetch_add(1, Ordering::SeqCst);
                serve(stream);
            }
        });
        Self { address, connections }
    }

    /// Starts a server that sends `hello` to each client.
    pub fn greeting(address: &str) -> Self {
        Self::at(address, |mut stream| drop(stream.write_all(b"hello")))
    }

    /// Starts a server that accepts connections, sends nothing and keeps them open.
    pub fn silent() -> Self {
        let held = std::sync::Mutex::new(Vec::new());
        Self::at("127.0.0.1:0", move |stream| held.lock().unwrap().push(stream))
    }

    /// Starts a server that answers each HTTP request with the return value of `answer` for its head and body.
    pub fn http(answer: impl Fn(&str, &str) -> String + Send + 'static) -> Self {
        Self::at("127.0.0.1:0", move |stream| {
            if let Some((head, body)) = read_request(&stream) {
                let _ = (&stream).write_all(answer(&head, &body).as_bytes());
            }
        })
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Sends bytes with pauses, so slowly that no test waits for the end, but never silent for long. Returns when the client is
/// gone.
pub fn drip(mut stream: TcpStream) {
    while stream.write_all(b"x").is_ok() {
        thread::sleep(PAUSE);
    }
}

/// Returns a port that is free, and that the kernel gives to no program that asks for any port. It is for a program that
/// must be told its port before it listens.
pub fn reserved_port() -> u16 {
    // Below the range of `net.ipv4.ip_local_port_range`, which begins at 32768, and not the same in each process.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let first = std::process::id() as usize * 64;
    let port = || 10_000 + (first + NEXT.fetch_add(1, Ordering::SeqCst)) % 20_000;
    let is_free =
        |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok() && UdpSocket::bind(("0.0.0.0", *port)).is_ok();
    let ports = std::iter::repeat_with(port).take(1000).filter_map(|port| u16::try_from(port).ok());
    ports.into_iter().find(is_free).expect("one of a thousand ports is free")
}

/// Reads a request's head, and its body by content length or in chunks.
pub fn read_request(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let mut body = Vec::new();
    if head.to_lowercase().contains("transfer-encoding: chunked") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    }
    Some((head, String::from_utf8_lossy(&body).into_owned()))
}

/// Returns a complete HTTP response.
pub fn response(status: &str, fields: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{fields}\r\n{body}", body.len())
}

/// Starts a server that answers every datagram with `heard: ` and the datagram's content. Returns its address, and a
/// counter of datagrams.
pub fn udp_echo(address: &str) -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = socket.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok((length, sender)) = socket.recv_from(&mut buffer) {
            counter.fetch_add(1, Ordering::SeqCst);
            let _ = socket.send_to(&[b"heard: ", &buffer[..length]].concat(), sender);
        }
    });
    (address, count)
}
