//! Sends one request: checks the address, connects, negotiates TLS, writes the request, awaits the response.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hyper::client::conn::http1;
use hyper::http::uri::{Authority, Scheme};
use hyper::{Request, Response, Uri};
use modbox_policy::net::{Name, Transport};
use modbox_vocabulary::{Capability, Operation};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use wasmtime_wasi::runtime::AbortOnDropJoinHandle;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::response::TimedBody;
use super::tls;
use crate::net::lookup::ResolveError;
use crate::net::network::Network;
use crate::net::resolver::LookupError;

/// The operation in denials.
const OPERATION: Operation = Operation::Handle;

/// Most bytes of a response's head, and of the data read ahead of its body.
const MAX_HEAD: usize = 64 << 10;

/// Most fields in a response's head.
const MAX_FIELDS: usize = 128;

/// How long to wait for a connection to one address before the next one is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection, with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The destination of a request.
pub(super) struct Target {
    host: Host,
    port: u16,
    tls: bool,
}

enum Host {
    Name(Name),
    Address(IpAddr),
}

impl Target {
    /// Returns the destination that a URL names.
    pub(super) fn of(uri: &Uri) -> Result<Self, Error> {
        let authority = uri.authority().ok_or(Error::HttpRequestUriInvalid)?;
        let tls = uri.scheme() == Some(&Scheme::HTTPS);
        let port = match port(authority)? {
            Some(port) => port,
            None if tls => 443,
            None => 80,
        };
        let host = authority.host();
        let literal = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').and_then(|inner| inner.parse().ok()).map(IpAddr::V6),
            None => host.parse().ok().map(IpAddr::V4),
        };
        let host = match literal {
            Some(address) => Host::Address(address.to_canonical()),
            None => Host::Name(Name::parse(host).ok_or(Error::HttpRequestUriInvalid)?),
        };
        Ok(Self { host, port, tls })
    }
}

/// Parses the port strictly: no user name before the host, no sign before the number.
fn port(authority: &Authority) -> Result<Option<u16>, Error> {
    let rest = authority.as_str().strip_prefix(authority.host()).ok_or(Error::HttpRequestUriInvalid)?;
    let Some(port) = rest.strip_prefix(':') else {
        return if rest.is_empty() { Ok(None) } else { Err(Error::HttpRequestUriInvalid) };
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|port| digits && *port > 0).map(Some).ok_or(Error::HttpRequestUriInvalid)
}

/// Sends a request. Returns the response, and a future that runs the connection; dropping it closes the connection.
pub(super) async fn send(
    network: &Network,
    mut request: Request<WasiBody>,
    options: RequestOptions,
) -> Result<(Response<TimedBody>, impl Future<Output = Result<(), Error>> + Send + use<>), Error> {
    let target = Target::of(request.uri())?;
    let permit = std::sync::Arc::clone(&network.connections).try_acquire_owned();
    let permit = permit.map_err(|_| Error::ConnectionLimitReached)?;
    let patience = options.connect_timeout.unwrap_or(network.timeout);
    let stream = timeout(patience, connect(network, &target)).await.map_err(|_| Error::ConnectionTimeout)??;
    let handshake =
        http1::Builder::new().max_buf_size(MAX_HEAD).max_headers(MAX_FIELDS).handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await?;
    let work: AbortOnDropJoinHandle<Result<(), Error>> = wasmtime_wasi::runtime::spawn(async move {
        let _permit = permit;
        connection.await.map_err(Error::from)
    });
    // The request line carries only the path; the field `host` names the destination.
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    *request.uri_mut() = Uri::builder().path_and_query(path).build().map_err(|_| Error::HttpRequestUriInvalid)?;
    let patience = options.first_byte_timeout.unwrap_or(network.timeout);
    let response =
        timeout(patience, sender.send_request(request)).await.map_err(|_| Error::ConnectionReadTimeout)??;
    let between = options.between_bytes_timeout.unwrap_or(network.timeout);
    Ok((response.map(|body| TimedBody::new(body, between)), work))
}

async fn connect(network: &Network, target: &Target) -> Result<Box<dyn Stream>, Error> {
    let addresses = addresses(network, target).await?;
    let mut failure = Error::DestinationNotFound;
    for address in addresses {
        match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) if target.tls => return Ok(Box::new(tls::secure(&server_name(target)?, stream).await?)),
            Ok(Ok(stream)) => return Ok(Box::new(stream)),
            Ok(Err(error)) => failure = Error::Connect(error),
            Err(_) => failure = Error::ConnectionTimeout,
        }
    }
    Err(failure)
}

fn server_name(target: &Target) -> Result<tls::ServerName, Error> {
    match &target.host {
        Host::Name(name) => Ok(tls::ServerName::try_from(name.as_str().to_owned())?),
        Host::Address(address) => Ok(tls::ServerName::from(*address)),
    }
}

/// Refuses a request to a host that no rule covers. What the host's name stands for is not looked up.
pub(super) fn check(network: &Network, target: &Target) -> Result<(), Error> {
    let port = target.port;
    match &target.host {
        Host::Address(address) => {
            let address = SocketAddr::new(*address, port);
            if network.allows(Transport::Tcp, address) {
                return Ok(());
            }
            network.deny_address(Transport::Tcp, address, OPERATION);
        }
        Host::Name(name) => {
            if network.covers(name, port) {
                return Ok(());
            }
            let subject = format!("{name}:{port}");
            let allow = format!("--allow-net {subject}");
            network.deny(Capability::Net, subject, OPERATION, allow);
        }
    }
    Err(Error::HttpRequestDenied)
}

/// Returns the addresses that a request may be sent to.
async fn addresses(network: &Network, target: &Target) -> Result<Vec<SocketAddr>, Error> {
    check(network, target)?;
    let port = target.port;
    match &target.host {
        Host::Address(address) => Ok(vec![SocketAddr::new(*address, port)]),
        Host::Name(name) => {
            let found = network.resolve(name, OPERATION).await.map_err(resolve_error)?;
            let to = |ip| SocketAddr::new(ip, port);
            let (allowed, refused): (Vec<_>, Vec<_>) =
                found.into_iter().map(to).partition(|address| network.allows(Transport::Tcp, *address));
            for address in refused {
                network.deny_address(Transport::Tcp, address, OPERATION);
            }
            if allowed.is_empty() { Err(Error::DestinationIpProhibited) } else { Ok(allowed) }
        }
    }
}

fn resolve_error(error: ResolveError) -> Error {
    let dns = |rcode: &str| Error::DnsError { rcode: Some(rcode.to_owned()), info_code: None };
    match error {
        ResolveError::Refused => Error::DestinationIpProhibited,
        ResolveError::Lookup(LookupError::Unknown) => dns("no such name"),
        ResolveError::Lookup(LookupError::Slow) => Error::DnsTimeout,
        ResolveError::Lookup(LookupError::TooMany) => dns("too many lookups"),
    }
}

impl Network {
    /// Returns whether a rule covers a name and a TCP port.
    fn covers(&self, name: &Name, port: u16) -> bool {
        self.everything || self.rules.iter().any(|rule| rule.covers(Transport::Tcp, port) && rule.names(name))
    }
}
