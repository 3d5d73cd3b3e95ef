//! Answers to requests, and the ways in which their bodies are sent.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The header field with the digest of a manifest or a blob.
pub(super) const DIGEST_FIELD: &str = "Docker-Content-Digest";

/// Size at which an endless body ends.
const ENDLESS: usize = 1 << 30;

/// Time between two bytes of a slow body.
const PAUSE: Duration = Duration::from_millis(200);

/// How a body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Whole,
    /// Half of it, after the length of the whole.
    Half,
    /// Followed by zeros, in chunks.
    Endless,
    /// One byte at a time.
    Slow,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    pub(super) manner: Manner,
}

impl Answer {
    /// Returns an answer without a body.
    pub(super) fn new(status: u16) -> Self {
        Self { status, fields: Vec::new(), body: Vec::new(), manner: Manner::Whole }
    }

    /// Returns an answer with content of a media type.
    pub(super) fn content(media_type: &str, body: Vec<u8>) -> Self {
        Self { body, ..Self::new(200).field("Content-Type", media_type) }
    }

    /// Returns an answer with a JSON document.
    pub(super) fn json(media_type: &str, document: &Value) -> Self {
        Self::content(media_type, document.to_string().into_bytes())
    }

    /// Returns an error in the form of the specification.
    pub(super) fn error(status: u16, code: &str, message: impl Into<String>) -> Self {
        let error = json!({"code": code, "message": message.into()});
        Self { status, ..Self::json("application/json", &json!({"errors": [error]})) }
    }

    /// Adds a header field.
    pub(super) fn field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Replaces a header field, or adds it.
    pub(super) fn with_field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.retain(|(other, _)| *other != name);
        self.field(name, value)
    }

    /// Sends the answer to a request with a method. Returns whether the connection can go on.
    pub(super) fn send(&self, stream: &mut dyn Write, method: &str) -> io::Result<bool> {
        stream.write_all(self.head().as_bytes())?;
        if method != "HEAD" {
            self.send_body(stream)?;
        }
        stream.flush()?;
        Ok(self.manner != Manner::Half || method == "HEAD")
    }

    fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} \r\n", self.status);
        for (name, value) in &self.fields {
            head.extend([name, ": ", value, "\r\n"]);
        }
        let length = match (self.manner, self.status) {
            (Manner::Endless, _) => "Transfer-Encoding: chunked\r\n".to_owned(),
            (_, 204) => String::new(),
            _ => format!("Content-Length: {}\r\n", self.body.len()),
        };
        head + &length + "\r\n"
    }

    fn send_body(&self, stream: &mut dyn Write) -> io::Result<()> {
        match self.manner {
            Manner::Whole => stream.write_all(&self.body),
            Manner::Half => stream.write_all(&self.body[..self.body.len() / 2]),
            Manner::Endless => send_endless(stream, &self.body),
            Manner::Slow => self.body.chunks(1).try_for_each(|byte| {
                thread::sleep(PAUSE);
                stream.write_all(byte)?;
                stream.flush()
            }),
        }
    }
}

fn send_endless(stream: &mut dyn Write, body: &[u8]) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    // A chunk without content would end the body.
    let first = std::iter::once(body).filter(|body| !body.is_empty());
    for chunk in first.chain(std::iter::repeat_n(zeros.as_slice(), ENDLESS >> 20)) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes())?;
        stream.write_all(chunk)?;
        stream.write_all(b"\r\n")?;
    }
    stream.write_all(b"0\r\n\r\n")
}
