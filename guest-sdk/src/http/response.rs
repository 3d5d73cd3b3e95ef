//! A response: its head, and its body as a stream.

use std::io::{self, Read, Write};

use super::error::{ErrorKind, HttpError};
use super::headers::Headers;
use super::url::Url;
use super::wire;

/// The size of one read.
const CHUNK: usize = 64 << 10;

/// A response of a server.
#[derive(Debug)]
pub struct Response {
    /// The status.
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
