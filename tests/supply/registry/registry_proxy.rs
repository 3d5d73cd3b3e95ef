//! Registries behind a proxy: the real worker and a proxy on this machine, which alone knows where the registry's name leads.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::supply::registry::registry_place::{Place, pushed_digest};
use crate::support::registry::{Behavior, Fault, Registry};
use crate::support::server::Server;
use crate::support::{Modbox, fixture};

/// A name that only the proxy knows; the certificate of the tests has it.
const NAME: &str = "test.example";

/// `ann:hunter2` in base64.
const BASIC: &str = "YW5uOmh1bnRlcjI=";

/// A proxy that opens tunnels to this machine, whatever host is asked for, and records what it was asked.
struct Proxy {
    server: Server,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy that answers with a status line, and opens a tunnel if it is a success.
    fn new(status: &'static str) -> Self {
        let heads = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&heads);
        let server = Server::at("127.0.0.1:0", move |stream| {
            let record = Arc::clone(&record);
            thread::spawn(move || serve(stream, status, &record));
        });
        Self { server, heads }
    }

    fn url(&self) -> String {
        format!("http://ann:hunter2@{}", self.server.address)
    }

    /// Returns the first lines of what it was asked.
    fn asked(&self) -> Vec<String> {
        self.heads.lock().unwrap().iter().map(|head| head.lines().next().unwrap_or_default().to_owned()).collect()
    }
}

fn serve(stream: TcpStream, status: &str, record: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).ok()? > 0 {}
    let port: u16 = head.split(' ').nth(1)?.rsplit_once(':')?.1.parse().ok()?;
    record.lock().unwrap().push(head);
    let mut client = stream;
    client.write_all(format!("HTTP/1.1 {status}\r\nVia: test\r\n\r\n").as_bytes()).ok()?;
    if !status.starts_with('2') {
        return None;
    }
    let mut server = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let (mut from_server, mut to_client) = (server.try_clone().ok()?, client.try_clone().ok()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(std::net::Shutdown::Write);
    });
    std::io::copy(&mut reader, &mut server).ok()?;
    server.shutdown(std::net::Shutdown::Write).ok()
}

fn secure() -> Place {
    Place::of(Behavior { tls: true, referrers: true, ..Behavior::default() })
}

/// Returns the reference of a module by the name that only the proxy knows.
fn reference(registry: &Registry, rest: &str) -> String {
    let port = registry.host().rsplit_once(':').unwrap().1.to_owned();
    format!("oci://{NAME}:{port}/{rest}")
}

fn modbox(place: &Place, args: &[&str]) -> Modbox {
    place.modbox(args).env("SSL_CERT_FILE", fixture("tls/authority.pem"))
}

#[test]
fn modules_come_and_go_through_a_proxy() {
    let (place, proxy) = (secure(), Proxy::new("200 Connection established"));
    let module = place.module("one");
    let to = reference(&place.registry, "a:1");
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let pushed = modbox(&place, &["push"]).arg(&module).arg(&to).env(variable, proxy.url()).run();
        let digest = pushed_digest(&pushed);
        assert!(!pushed.stderr_text().contains("hunter2"), "{pushed}");
        let by_digest = reference(&place.registry, &format!("a@{digest}"));
        let ran = modbox(&place, &["run", &by_digest]).env(variable, proxy.url()).run().exits_with(0);
        assert_eq!(ran.json()["word"], "one");
        std::fs::remove_dir_all(place.store("")).unwrap();
    }
    let host = to.strip_prefix("oci://").unwrap().split('/').next().unwrap();
    assert!(proxy.asked().iter().all(|line| *line == format!("CONNECT {host} HTTP/1.1")), "{:?}", proxy.asked());
    let heads = proxy.heads.lock().unwrap();
    assert!(heads.iter().all(|head| head.contains(&format!("Proxy-Authorization: Basic {BASIC}\r\n"))), "{heads:?}");
    assert!(
        place
            .registry
            .requests()
            .iter()
            .all(|request| request.secure && request.header("proxy-authorization").is_none())
    );
}

#[test]
fn a_registry_without_tls_has_the_other_variable() {
    let (place, proxy) = (Place::new(), Proxy::new("200 OK"));
    let module = place.module("one");
    let to = reference(&place.registry, "a:1");
    let push = || modbox(&place, &["push", "--plain-http", NAME]).arg(&module).arg(&to);
    pushed_digest(&push().env("http_proxy", proxy.url()).env("HTTPS_PROXY", "http://127.0.0.1:1").run());
    assert!(!proxy.asked().is_empty());
    let asked = proxy.asked().len();
    push().env("HTTPS_PROXY", proxy.url()).run().exits_with(3).says(&format!("failed to connect to `{NAME}:"));
    assert_eq!(proxy.asked().len(), asked);
}

#[test]
fn hosts_that_need_no_proxy_are_connected_to_directly() {
    let (place, proxy) = (Place::new(), Proxy::new("200 OK"));
    let module = place.module("one");
    // This machine needs none.
    pushed_digest(&place.pushes(&module, "a:1").env("HTTP_PROXY", proxy.url()).run());
    for direct in ["test.example", ".example", "other,*"] {
        let to = reference(&place.registry, "a:1");
        let push = modbox(&place, &["push", "--plain-http", NAME]).arg(&module).arg(to);
        push.env("HTTP_PROXY", proxy.url()).env("NO_PROXY", direct).run().exits_with(3);
    }
    assert_eq!(proxy.asked(), [""; 0]);
}

#[test]
fn a_proxy_that_fails_is_named_without_its_password() {
    let place = secure();
    let reference = reference(&place.registry, "a:1");
    let within = |time: &str, proxy: &str| {
        let ran = modbox(&place, &["pull", "--timeout", time, &reference]).env("HTTPS_PROXY", proxy).run();
        let ran = ran.exits_with(3);
        assert!(!ran.stderr_text().contains("hunter2") && !ran.stderr_text().contains(BASIC), "{ran}");
        ran
    };
    let pull = |proxy: &str| within("20s", proxy);
    for (status, says) in [
        ("407 Proxy Authentication Required", "wants a user and a password"),
        ("403 Forbidden", "refuses the connection (status 403 Forbidden)"),
    ] {
        let proxy = Proxy::new(status);
        let told = pull(&proxy.url()).stderr_text();
        let name = format!("the proxy `{}` of HTTPS_PROXY {says}", proxy.server.address);
        assert!(told.contains(&name), "{told}");
    }
    pull("http://ann:hunter2@127.0.0.1:1").says("the proxy `127.0.0.1:1` of HTTPS_PROXY is not reached");
    let other = Server::http(|_, _| "hello".to_owned());
    pull(&format!("http://{}", other.address)).says("of HTTPS_PROXY ended the connection");
    let silent = Server::silent();
    within("1s", &format!("http://ann:hunter2@{}", silent.address)).says("took longer than 1 s");
    let endless = Server::at("127.0.0.1:0", |mut stream| while stream.write_all(&[b'x'; 4096]).is_ok() {});
    pull(&format!("http://{}", endless.address)).says("answers with more than 16384 bytes");
    pull("socks5://ann:hunter2@h:1").says("HTTPS_PROXY names a proxy of `socks5`, which modbox does not use");
    pull("http://ann:hunter2@").says("HTTPS_PROXY has no address of a proxy");
    assert!(place.lock().is_empty() && !place.store("").exists());
}

#[test]
fn a_registry_leads_through_a_proxy_to_no_address_of_another_sort() {
    let (place, proxy) = (secure(), Proxy::new("200 OK"));
    let to = reference(&place.registry, "a:1");
    let module = place.module("one");
    let with_proxy = |args: &[&str]| modbox(&place, args).env("HTTPS_PROXY", proxy.url());
    pushed_digest(&with_proxy(&["push"]).arg(module).arg(&to).run());
    place.registry.set(Behavior {
        fault: Some(Fault::RedirectBlobs("https://169.254.169.254".to_owned())),
        tls: true,
        ..Behavior::default()
    });
    let refused = with_proxy(&["pull", "--timeout", "20s", &to]).run().exits_with(3);
    refused.says("169.254.169.254, which is not an address of the internet");
    assert!(!proxy.asked().iter().any(|line| line.contains("169.254")), "{:?}", proxy.asked());
}
