//! Connections to a registry, with and without TLS. The certificate is that of `tests/tls`, for `localhost` and
//! `test.example`.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, LazyLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::fixture;

/// The first byte of a connection with TLS: the type of a handshake record.
const HANDSHAKE: u8 = 22;

/// Bytes in both directions.
pub(super) trait Duplex: Read + Write {}

impl<T: Read + Write> Duplex for T {}

/// A connection whose input is read in lines and counted bytes.
pub(super) type Connection = BufReader<Box<dyn Duplex>>;

/// Begins to serve a connection. Returns it, and whether it has TLS, which only the client decides.
pub(super) fn open(stream: TcpStream, tls: bool) -> Option<(Connection, bool)> {
    stream.set_nodelay(true).ok()?;
    let mut first = [0];
    let secure = tls && stream.peek(&mut first).ok()? == 1 && first[0] == HANDSHAKE;
    let stream: Box<dyn Duplex> = match secure {
        true => Box::new(StreamOwned::new(ServerConnection::new(config()).ok()?, stream)),
        false => Box::new(stream),
    };
    Some((BufReader::new(stream), secure))
}

/// Returns the one configuration of TLS.
fn config() -> Arc<ServerConfig> {
    static CONFIG: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
        let certificate = CertificateDer::from_pem_file(fixture("tls/server.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(fixture("tls/server.key")).unwrap();
        let config = ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key);
        Arc::new(config.unwrap())
    });
    Arc::clone(&CONFIG)
}
