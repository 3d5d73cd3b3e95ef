//! A response: its head, and its body as a stream.

use std::io::{self, Read, Write};

use modbox_python_json::{decode, from_value};
use serde::de::DeserializeOwned;

use super::error::{ErrorKind, HttpError};
use super::headers::Headers;
use super::url::Url;
use super::wire;

/// The size of one read.
const CHUNK: usize = 64 << 10;

/// A response of a server.
#[derive(Debug)]
pub struct Response {
    /// The status code, such as 200, of the last response after redirects.
    pub status: u16,
    /// The reason of the status, or why a redirect was not followed.
    pub reason: String,
    /// The URL of the response, after redirects.
    pub url: Url,
    /// The header fields.
    pub headers: Headers,
    /// The cookies that servers have set, without a value if a cookie has none.
    pub cookies: Vec<(String, Option<String>)>,
    pub(super) body: Body,
}

/// A body, possibly compressed.
#[derive(Debug)]
pub(super) enum Body {
    Plain(Counted),
    Gzip(Box<flate2::read::MultiGzDecoder<Counted>>),
}

/// A streamed body, and the number of bytes received.
#[derive(Debug)]
pub(super) struct Counted {
    body: wire::IncomingBody,
    read: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(buffer)?;
        self.read += u64::try_from(length).unwrap_or(0);
        Ok(length)
    }
}

impl Body {
    pub(super) fn new(body: wire::IncomingBody, headers: &Headers, decompress: bool) -> Self {
        let counted = Counted { body, read: 0 };
        let packed = headers.get("content-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
        if packed && decompress {
            Self::Gzip(Box::new(flate2::read::MultiGzDecoder::new(counted)))
        } else {
            Self::Plain(counted)
        }
    }

    fn counted(&self) -> &Counted {
        match self {
            Self::Plain(counted) => counted,
            Self::Gzip(decoder) => decoder.get_ref(),
        }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(body) => body.read(buffer),
            Self::Gzip(body) => body.read(buffer),
        }
    }
}

impl Response {
    /// Returns the number of bytes of the body received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.body.counted().read
    }

    /// Returns the whole body, up to `limit` bytes.
    ///
    /// # Errors
    ///
    /// The body is longer, or incomplete.
    pub fn bytes(&mut self, limit: u64) -> Result<Vec<u8>, HttpError> {
        let mut bytes = Vec::new();
        let read = (&mut self.body).take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| self.broken(&error))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
            return Err(HttpError::new(
                ErrorKind::TooLong,
                self.url.host_and_port(),
                format!("more than {limit} bytes"),
            ));
        }
        Ok(bytes)
    }

    /// Returns the whole body as text, up to `limit` bytes.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes), and when the body is not UTF-8.
    pub fn text(&mut self, limit: u64) -> Result<String, HttpError> {
        String::from_utf8(self.bytes(limit)?).map_err(|error| self.unexpected("UTF-8", &error.utf8_error()))
    }

    /// Returns the whole body, up to `limit` bytes, as JSON: as a struct that derives serde's `Deserialize`, as
    /// [`Value`](crate::Value) or as [`Dict`](crate::Dict). The status is not looked at.
    ///
    /// # Errors
    ///
    /// As [`text`](Self::text), when the body is not JSON, and when it does not fit `T`. The error names the host, the status,
    /// and the place or entry.
    pub fn json<T: DeserializeOwned>(&mut self, limit: u64) -> Result<T, HttpError> {
        let value = decode(&self.text(limit)?).map_err(|error| self.unexpected("JSON", &error))?;
        from_value(value).map_err(|error| self.unexpected("the JSON that was expected", &error))
    }

    fn unexpected(&self, wanted: &str, error: &dyn std::error::Error) -> HttpError {
        let host = self.url.host_and_port();
        let detail = format!("the response of `{host}`, with status {}, is not {wanted}: {error}", self.status);
        HttpError::new(ErrorKind::Body, host, detail)
    }

    /// Writes the whole body to a writer, part by part.
    ///
    /// # Errors
    ///
    /// The body is incomplete, or the writer failed.
    pub fn copy_to(&mut self, out: &mut impl Write) -> Result<u64, HttpError> {
        let (mut buffer, mut length) = (vec![0; CHUNK], 0);
        loop {
            let read = match self.body.read(&mut buffer) {
                Ok(0) => return Ok(length),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.broken(&error)),
            };
            let written = out.write_all(&buffer[..read]);
            written
                .map_err(|error| HttpError::new(ErrorKind::Body, self.url.host_and_port(), crate::fs::words(&error)))?;
            length += u64::try_from(read).unwrap_or(0);
        }
    }

    fn broken(&self, error: &io::Error) -> HttpError {
        let (kind, detail) = match error.get_ref().and_then(|inner| inner.downcast_ref::<HttpError>()) {
            Some(known) => (known.kind, known.detail.clone()),
            None if matches!(self.body, Body::Gzip(_)) => (
                ErrorKind::Body,
                format!("failed to decompress the response of `{}`: {error}", self.url.host_and_port()),
            ),
            None => (ErrorKind::Incomplete, crate::fs::words(error)),
        };
        HttpError::new(kind, self.url.host_and_port(), detail)
    }
}
