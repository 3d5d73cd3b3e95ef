//! HTTP/1.1 requests: their heads and bodies, by content length or in chunks. Heads and bodies have no limit.

use std::io::{BufRead, Read, Write};

use super::connection::Connection;

/// The head of a request that a registry has got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The header fields in their order. The names are in lower case.
    pub headers: Vec<(String, String)>,
    /// Whether the request came over TLS.
    pub secure: bool,
}

impl Request {
    /// Returns the value of the first header field with a name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a name in the query, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        self.query_values(name).into_iter().next()
    }

    /// Returns all values of a name in the query, decoded.
    pub(super) fn query_values(&self, name: &str) -> Vec<String> {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        values(query, name).collect()
    }

    /// Returns whether the client wants the connection to end after the answer.
    pub(super) fn ends_connection(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// Reads the head of the next request; `None` when the connection has ended.
    pub(super) fn read(connection: &mut Connection, secure: bool) -> Option<Self> {
        let first = line(connection)?;
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let line = line(connection)?;
            if line.is_empty() {
                return Some(Self { method, path, headers, secure });
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// Reads the body, after saying that it may come if the client asks.
    pub(super) fn body(&self, connection: &mut Connection) -> Option<Vec<u8>> {
        if self.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            let stream = connection.get_mut();
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").and_then(|()| stream.flush()).ok()?;
        }
        if self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return chunks(connection);
        }
        exactly(connection, self.header("content-length").map_or(Some(0), |length| length.parse().ok())?)
    }
}

/// Returns the first value of a name in a form, decoded.
pub(super) fn form_value(form: &str, name: &str) -> Option<String> {
    values(form, name).next()
}

/// Returns the values of a name in a query or a form, decoded.
fn values(form: &str, name: &str) -> impl Iterator<Item = String> {
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(move |(key, _)| *key == name).map(|(_, value)| decoded(value))
}

/// Reads a line, without its end.
fn line(connection: &mut Connection) -> Option<String> {
    let mut line = String::new();
    connection.read_line(&mut line).ok()?;
    Some(line.strip_suffix('\n')?.trim_end_matches('\r').to_owned())
}

/// Reads as many bytes as `length` says.
fn exactly(connection: &mut Connection, length: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = connection.take(length).read_to_end(&mut bytes).ok()?;
    (read as u64 == length).then_some(bytes)
}

/// Reads a body in chunks, and the fields after it.
fn chunks(connection: &mut Connection) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let head = line(connection)?;
        let size = head.split(';').next()?.trim();
        let size = u64::from_str_radix(size, 16).ok()?;
        if size == 0 {
            break;
        }
        body.extend(exactly(connection, size)?);
        line(connection)?;
    }
    while !line(connection)?.is_empty() {}
    Some(body)
}

/// Decodes a value of a query.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        let (byte, after) = match (first, code) {
            (b'%', Some(byte)) => (byte, &after[2..]),
            (b'+', _) => (b' ', after),
            _ => (first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
