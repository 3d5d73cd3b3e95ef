//! HTTP for a component: `wasi:http`, whose host connects, does TLS and enforces the grants.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use wasip2::clocks::monotonic_clock;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    self, ErrorCode, Fields, FutureIncomingResponse, HeaderError, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use super::messages::{Incoming, Outgoing};
use crate::http::body::Body;
use crate::http::error::{ErrorKind, HttpError};
use crate::http::headers::Headers;

/// The size of one read or write.
const CHUNK: usize = 64 << 10;

/// The longest body that is sent before the time limit for the response starts. For longer bodies, it starts when they
/// are sent.
const SHORT: usize = 64 << 10;

/// A received body. The stream must be dropped before the body.
#[derive(Debug)]
pub(in crate::http) struct IncomingBody {
    stream: Option<InputStream>,
    _body: types::IncomingBody,
    host: String,
}

impl Read for IncomingBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(stream) = &self.stream else { return Ok(0) };
        loop {
            match stream.blocking_read(u64::try_from(buffer.len().min(CHUNK)).unwrap_or(1)) {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => {
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    return Ok(bytes.len());
                }
                Err(StreamError::Closed) => {
                    self.stream = None;
                    return Ok(0);
                }
                Err(StreamError::LastOperationFailed(error)) => {
                    let known = types::http_error_code(&error).map(|code| failure(&code, &self.host));
                    let mut known = known.unwrap_or_else(|| HttpError::new(ErrorKind::Incomplete, &self.host, ""));
                    if matches!(known.kind, ErrorKind::Closed | ErrorKind::Protocol) {
                        known.kind = ErrorKind::Incomplete;
                    }
                    return Err(io::Error::other(known));
                }
            }
        }
    }
}

/// Sends one request and waits for the head of its answer.
pub(in crate::http) fn exchange(outgoing: &Outgoing<'_>) -> Result<Incoming<IncomingBody>, HttpError> {
    let host = outgoing.url.host_and_port().to_owned();
    let request = request(outgoing, &host)?;
    // Without a length, asking for the body would announce one of unknown length.
    let body = (*outgoing.body != Body::None).then(|| request.body()).transpose();
    let body = body.map_err(|()| wrong(&host, "the request has no body"))?;
    let sent = outgoing_handler::handle(request, Some(options(outgoing))).map_err(|code| failure(&code, &host))?;
    if let Some(body) = body
        && send_body(outgoing, &body, &sent, &host)?
    {
        // The response reports errors in the request.
        let _ = OutgoingBody::finish(body, None);
    }
    let response = response(&sent, &host, (!is_short(outgoing.body)).then_some(outgoing.timeout))?;
    let headers = Headers::new(response.headers().entries());
    let status = response.status();
    let body = response.consume().map_err(|()| wrong(&host, "the answer has no body"))?;
    let stream = body.stream().map_err(|()| wrong(&host, "the answer has no body"))?;
    Ok(Incoming { status, headers, body: IncomingBody { stream: Some(stream), _body: body, host } })
}

fn request(outgoing: &Outgoing<'_>, host: &str) -> Result<OutgoingRequest, HttpError> {
    let fields = Fields::new();
    for (name, value) in outgoing.fields {
        let bytes = latin_1(value, host)?;
        fields.append(name, &bytes).map_err(|error| match error {
            HeaderError::Forbidden => {
                let why = format!("the header field `{name}` is set by the host");
                HttpError::new(ErrorKind::Header, host, why)
            }
            _ if bytes.iter().any(|byte| byte.is_ascii_control()) => {
                let shown = bytes.escape_ascii();
                HttpError::new(ErrorKind::Header, host, format!("Invalid header value b'{shown}'"))
            }
            _ => HttpError::new(ErrorKind::Header, host, format!("Invalid header name b'{}'", name.escape_default())),
        })?;
    }
    let url = |()| {
        let why = format!("requests to `{}` are not supported", outgoing.url.masked());
        HttpError::new(ErrorKind::Url, host, why)
    };
    let request = OutgoingRequest::new(fields);
    let scheme = if outgoing.url.scheme == "https" { Scheme::Https } else { Scheme::Http };
    request.set_scheme(Some(&scheme)).map_err(url)?;
    request.set_authority(Some(host)).map_err(url)?;
    request.set_path_with_query(Some(&outgoing.url.target())).map_err(url)?;
    let no_method = |()| wrong(host, &format!("`{}` is not a method", outgoing.method));
    request.set_method(&method(outgoing.method)).map_err(no_method)?;
    Ok(request)
}

fn method(word: &str) -> Method {
    match word {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn options(outgoing: &Outgoing<'_>) -> RequestOptions {
    let options = RequestOptions::new();
    let time = u64::try_from(outgoing.timeout.as_nanos()).unwrap_or(u64::MAX);
    // A host may lack these options; it then has its own time limits.
    let _ = options.set_connect_timeout(Some(time));
    let _ = options.set_between_bytes_timeout(Some(time));
    if is_short(outgoing.body) {
        let _ = options.set_first_byte_timeout(Some(time));
    }
    options
}

fn is_short(body: &Body) -> bool {
    match body {
        Body::None => true,
        Body::Bytes(bytes) => bytes.len() <= SHORT,
        Body::Json(text) => text.len() <= SHORT,
        Body::File(_) => false,
    }
}

/// Sends the body, and returns whether all of it was sent: a server may respond earlier.
fn send_body(
    outgoing: &Outgoing<'_>,
    body: &OutgoingBody,
    answer: &FutureIncomingResponse,
    host: &str,
) -> Result<bool, HttpError> {
    let stream = body.write().map_err(|()| wrong(host, "failed to write the request's body"))?;
    let writer = Writer { stream, answered: answer.subscribe(), timeout: outgoing.timeout, host };
    match outgoing.body {
        Body::None => Ok(true),
        Body::Bytes(bytes) => writer.write_all(bytes),
        Body::Json(text) => writer.write_all(text.as_bytes()),
        Body::File(path) => {
            let unreadable = |error: io::Error| {
                HttpError::new(
                    ErrorKind::Body,
                    host,
                    format!("failed to read `{}`: {}", path.display(), crate::fs::words(&error)),
                )
            };
            let mut file = File::open(path).map_err(unreadable)?;
            let mut buffer = vec![0; CHUNK];
            loop {
                match file.read(&mut buffer).map_err(unreadable)? {
                    0 => return Ok(true),
                    length if writer.write_all(&buffer[..length])? => {}
                    _ => return Ok(false),
                }
            }
        }
    }
}

struct Writer<'a> {
    stream: OutputStream,
    answered: Pollable,
    timeout: Duration,
    host: &'a str,
}

impl Writer<'_> {
    /// Writes bytes, and returns whether the server took all of them.
    fn write_all(&self, mut bytes: &[u8]) -> Result<bool, HttpError> {
        while !bytes.is_empty() {
            let Ok(room) = self.stream.check_write() else { return Ok(false) };
            let length = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            if length == 0 {
                let (ready, timer) = (self.stream.subscribe(), timer(self.timeout));
                // A response that is there already tells the result of the request.
                let which = poll(&[&ready, &self.answered, &timer]);
                match which.as_slice() {
                    [2] => return Err(HttpError::new(ErrorKind::Timeout, self.host, "")),
                    [0, ..] => continue,
                    _ => return Ok(false),
                }
            }
            if self.stream.write(&bytes[..length]).is_err() {
                return Ok(false);
            }
            bytes = &bytes[length..];
        }
        Ok(self.stream.flush().is_ok())
    }
}

fn response(
    future: &FutureIncomingResponse,
    host: &str,
    patience: Option<Duration>,
) -> Result<IncomingResponse, HttpError> {
    let answered = future.subscribe();
    match patience {
        Some(patience) if poll(&[&answered, &timer(patience)]) == [1] => {
            return Err(HttpError::new(ErrorKind::Timeout, host, ""));
        }
        Some(_) => {}
        None => answered.block(),
    }
    let answer = future.get().and_then(Result::ok);
    answer.unwrap_or(Err(ErrorCode::InternalError(None))).map_err(|code| failure(&code, host))
}

fn timer(time: Duration) -> Pollable {
    monotonic_clock::subscribe_duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Encodes a header field as Python's `http.client` does.
fn latin_1(text: &str, host: &str) -> Result<Vec<u8>, HttpError> {
    let byte = |(at, letter): (usize, char)| {
        u8::try_from(u32::from(letter)).map_err(|_| {
            let why = format!("'latin-1' codec can't encode character '{}' in position {at}", letter.escape_unicode());
            HttpError::new(ErrorKind::Header, host, why)
        })
    };
    text.chars().enumerate().map(byte).collect()
}

fn wrong(host: &str, why: &str) -> HttpError {
    HttpError::new(ErrorKind::Protocol, host, why)
}

/// Converts an error of the host.
fn failure(code: &ErrorCode, host: &str) -> HttpError {
    let (kind, detail) = match code {
        ErrorCode::HttpRequestDenied => (ErrorKind::Denied, String::new()),
        ErrorCode::DestinationIpProhibited => (ErrorKind::DeniedAddress, String::new()),
        ErrorCode::HttpRequestUriInvalid | ErrorCode::HttpRequestUriTooLong => {
            (ErrorKind::Url, format!("requests to `{host}` are not supported"))
        }
        ErrorCode::DnsError(payload) => (ErrorKind::Lookup, payload.rcode.clone().unwrap_or_default()),
        ErrorCode::DnsTimeout | ErrorCode::DestinationNotFound => (ErrorKind::Lookup, String::new()),
        ErrorCode::ConnectionRefused => (ErrorKind::Refused, String::new()),
        ErrorCode::ConnectionTimeout => (ErrorKind::ConnectTimeout, String::new()),
        ErrorCode::ConnectionReadTimeout | ErrorCode::ConnectionWriteTimeout | ErrorCode::HttpResponseTimeout => {
            (ErrorKind::Timeout, String::new())
        }
        ErrorCode::TlsCertificateError => (ErrorKind::Tls, "its certificate is invalid for this name".to_owned()),
        ErrorCode::TlsProtocolError | ErrorCode::TlsAlertReceived(_) => (ErrorKind::Tls, String::new()),
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => (ErrorKind::Closed, String::new()),
        ErrorCode::HttpResponseHeaderSectionSize(_) | ErrorCode::HttpResponseHeaderSize(_) => {
            (ErrorKind::TooLong, "its head".to_owned())
        }
        ErrorCode::HttpProtocolError => (ErrorKind::Protocol, String::new()),
        ErrorCode::InternalError(Some(detail)) => (ErrorKind::Protocol, detail.clone()),
        other => (ErrorKind::Protocol, format!("{other:?}")),
    };
    HttpError::new(kind, host, detail)
}
