//! Requests to one registry: tries again when it is busy, and proves who asks when it wants to know.
//!
//! What proves who asks goes to the registry and to the token service that it names, and never to where a redirect leads.
//! The limits of time are those of the connections, and the monitor's for the whole.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use ureq::http::{HeaderMap, Request, Response, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::transport::{Connector as _, RustlsConnector};
use ureq::{Agent, Body, SendBody};

use crate::messages::{Opening, Proof, TransferError};
use crate::worker::challenge::Challenge;
use crate::worker::connection::{MonitorConnector, NoResolver};
use crate::worker::failure::{connection_error, host_of};
use crate::worker::token;

/// Number of times that a busy server is asked again.
const RETRIES: u32 = 3;

/// Time until a busy server is asked again first. It doubles.
const PAUSE: Duration = Duration::from_millis(500);

/// Longest time that a server may say to wait.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Maximum size of the head of a response.
const MAX_HEAD: usize = 64 << 10;

/// Content of a request. It can be sent again.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'a> {
    /// None.
    None,
    /// Bytes.
    Bytes(&'a [u8]),
    /// A file of this size.
    File(&'a File, u64),
}

/// One request.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) method: &'static str,
    pub(super) url: String,
    /// Value of the header `Accept`.
    pub(super) accept: Option<&'static str>,
    /// Value of the header `Content-Type`.
    pub(super) media_type: Option<&'a str>,
    pub(super) content: Content<'a>,
}

impl<'a> Call<'a> {
    /// Returns a request without content.
    pub(super) fn new(method: &'static str, url: String) -> Self {
        Self { method, url, accept: None, media_type: None, content: Content::None }
    }
}

/// A registry, as this process speaks with it.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    opening: Opening,
    /// The header `Authorization` that the registry took last.
    authorization: Option<String>,
}

impl Client {
    /// Returns a client for a registry that trusts the authorities in a PEM text.
    ///
    /// # Errors
    ///
    /// The text has something else.
    pub(super) fn new(opening: Opening, authorities: &[u8], channel: Arc<UnixStream>) -> Result<Self, TransferError> {
        let wrong =
            |error: ureq::Error| TransferError::Worker(format!("the certificates of authorities: {error}").into());
        let roots: Result<Vec<_>, _> = ureq::tls::parse_pem(authorities)
            .filter_map(|item| match item {
                Ok(ureq::tls::PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                Ok(_) => None,
                Err(error) => Some(Err(wrong(error))),
            })
            .collect();
        let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(roots?))).build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .https_only(!opening.is_plain)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_response_header_size(MAX_HEAD)
            .proxy(None)
            .user_agent(concat!("modbox/", env!("CARGO_PKG_VERSION")))
            .build();
        let connector = MonitorConnector::new(channel).chain(RustlsConnector::default());
        let agent = Agent::with_parts(config, connector, NoResolver);
        Ok(Self { agent, opening, authorization: None })
    }

    /// Returns the host of the registry.
    pub(super) fn host(&self) -> &str {
        &self.opening.host
    }

    /// Returns the address of something in the repository.
    pub(super) fn url(&self, rest: &str) -> String {
        format!("{}/v2/{}/{rest}", self.origin(), self.opening.repository)
    }

    /// Returns what addresses of the registry begin with.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.opening.is_plain { "http" } else { "https" };
        format!("{scheme}://{}", self.opening.host)
    }

    /// Asks the registry.
    ///
    /// # Errors
    ///
    /// The connection fails, or the registry wants a proof that is missing.
    pub(super) fn ask(&mut self, call: &Call<'_>) -> Result<Response<Body>, TransferError> {
        let response = self.send(call, self.authorization.as_deref())?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let authorization = self.authorize(response.headers())?;
        let response = self.send(call, Some(&authorization))?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(TransferError::Unauthorized { host: self.host().into() });
        }
        self.authorization = Some(authorization);
        Ok(response)
    }

    /// Asks another host, without any proof.
    ///
    /// # Errors
    ///
    /// The connection fails.
    pub(super) fn ask_other(&self, call: &Call<'_>) -> Result<Response<Body>, TransferError> {
        self.send(call, None)
    }

    /// Returns the value of the header `Authorization` that a registry asks for.
    fn authorize(&self, headers: &HeaderMap) -> Result<String, TransferError> {
        let challenges = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|header| header.to_str().ok());
        let challenge = challenges.filter_map(Challenge::parse).next();
        let unauthorized = || TransferError::Unauthorized { host: self.host().into() };
        match (challenge, &self.opening.proof) {
            (Some(Challenge::Basic), Some(Proof::Basic(header))) => Ok(header.clone()),
            (Some(Challenge::Bearer { realm, service, scope }), proof) => {
                let request =
                    token::TokenRequest { realm: &realm, service: service.as_deref(), scope: scope.as_deref() };
                token::fetch(&self.agent, &self.opening, &request, proof.as_ref())
            }
            _ => Err(unauthorized()),
        }
    }

    /// Sends a request, also again to a server that is busy.
    fn send(&self, call: &Call<'_>, authorization: Option<&str>) -> Result<Response<Body>, TransferError> {
        let mut pause = PAUSE;
        for _ in 0..RETRIES {
            let response = self.send_once(call, authorization)?;
            let status = response.status();
            if !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS {
                return Ok(response);
            }
            thread::sleep(asked_pause(&response).unwrap_or(pause).min(MAX_PAUSE));
            pause *= 2;
        }
        self.send_once(call, authorization)
    }

    fn send_once(&self, call: &Call<'_>, authorization: Option<&str>) -> Result<Response<Body>, TransferError> {
        let host = host_of(&call.url);
        let mut request = Request::builder().method(call.method).uri(&call.url);
        let headers = [(ACCEPT, call.accept), (CONTENT_TYPE, call.media_type), (AUTHORIZATION, authorization)];
        for (name, value) in headers {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let invalid = |error: ureq::http::Error| TransferError::Protocol {
            host: host.as_str().into(),
            reason: format!("`{}` is not an address ({error})", call.url).into(),
        };
        let response = match call.content {
            Content::None => self.agent.run(request.body(()).map_err(invalid)?),
            Content::Bytes(bytes) => self.agent.run(request.body(bytes).map_err(invalid)?),
            Content::File(file, size) => {
                let mut reader = FileReader { file, position: 0, end: size };
                let request = request.header(CONTENT_LENGTH, size.to_string());
                self.agent.run(request.body(SendBody::from_reader(&mut reader)).map_err(invalid)?)
            }
        };
        response.map_err(|error| connection_error(&host, &error))
    }
}

/// Returns the time that a busy server says to wait.
fn asked_pause(response: &Response<Body>) -> Option<Duration> {
    response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// Reads a file without moving its position, so that it can be sent again.
struct FileReader<'a> {
    file: &'a File,
    position: u64,
    end: u64,
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..left], self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}
