//! Tunnels through a proxy: the method `CONNECT` of HTTP.
//!
//! The monitor asks for the tunnel, so that the worker gets a connection to one host only, and no password of the proxy.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use crate::messages::Text;
use crate::proxy::Proxy;
use crate::session::deadline::left;

/// Maximum size of the head of a proxy's answer.
const MAX_HEAD: usize = 16 << 10;

/// Asks the proxy at the other end for a tunnel to a host.
///
/// # Errors
///
/// The proxy refuses, does not answer in time, or answers something else than HTTP.
pub(super) fn open(stream: &mut TcpStream, proxy: &Proxy, host: &str, port: u16, deadline: Instant) -> io::Result<()> {
    let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some(authorization) = &proxy.authorization {
        request.push_str(&format!("Proxy-Authorization: {}\r\n", authorization.reveal()));
    }
    request.push_str("\r\n");
    stream.set_write_timeout(Some(left(deadline)?))?;
    stream.write_all(request.as_bytes())?;
    let head = head(stream, proxy, deadline)?;
    check(&head, proxy)
}

/// Reads the head of the answer, and nothing behind it: that belongs to the tunnel.
fn head(stream: &mut TcpStream, proxy: &Proxy, deadline: Instant) -> io::Result<Vec<u8>> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
        if head.len() >= MAX_HEAD {
            return Err(io::Error::other(format!("{proxy} answers with more than {MAX_HEAD} bytes")));
        }
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut byte) {
            Ok(0) => return Err(io::Error::other(format!("{proxy} ended the connection"))),
            Ok(_) => head.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{proxy} does not answer in time")));
            }
            Err(error) => return Err(io::Error::new(error.kind(), format!("{proxy} failed: {error}"))),
        }
    }
    Ok(head)
}

/// Refuses an answer that is not a tunnel.
fn check(head: &[u8], proxy: &Proxy) -> io::Result<()> {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.trim_end().splitn(3, ' ');
    let (version, status) = (words.next().unwrap_or_default(), words.next().and_then(|status| status.parse().ok()));
    let reason = Text::from(words.next().unwrap_or_default());
    match status {
        Some(200..=299u16) if version.starts_with("HTTP/1.") => Ok(()),
        Some(407) => Err(io::Error::other(format!(
            "{proxy} wants a user and a password, or does not take those that were given; write them into the variable as \
             `http://USER:PASSWORD@HOST:PORT`"
        ))),
        Some(status) if version.starts_with("HTTP/1.") => {
            Err(io::Error::other(format!("{proxy} refuses the connection (status {status} {reason})")))
        }
        _ => Err(io::Error::other(format!("{proxy} does not answer as a proxy of HTTP does"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_says(head: &str, expected: Result<(), &str>) {
        let proxy = Proxy::parse("HTTPS_PROXY", "http://ann:hunter2@proxy.example:3128").unwrap();
        let found = check(head.as_bytes(), &proxy).map_err(|error| error.to_string());
        match (&found, expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.contains(part) && !error.contains("hunter2"), "{error}"),
            _ => panic!("{head:?}: {found:?}"),
        }
    }

    #[test]
    fn only_a_success_of_http_is_a_tunnel() {
        check_says("HTTP/1.1 200 Connection established\r\n\r\n", Ok(()));
        check_says("HTTP/1.0 200\r\n\r\n", Ok(()));
        check_says("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", Err("wants a user and a password"));
        check_says("HTTP/1.1 403 For\u{1b}[31mbidden\r\n\r\n", Err("(status 403 For [31mbidden)"));
        check_says("SSH-2.0-OpenSSH 200\n\n", Err("does not answer as a proxy of HTTP does"));
        check_says("", Err("does not answer as a proxy of HTTP does"));
    }
}
