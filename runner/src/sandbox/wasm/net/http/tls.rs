//! TLS to servers that can prove their name, by the certificate authorities that Mozilla trusts. There is no way for a
//! guest to turn that off.

use std::io;
use std::sync::{Arc, LazyLock};

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, TlsAlertReceivedPayload};

/// A name or an address that a certificate is for.
pub(super) type ServerName = rustls::pki_types::ServerName<'static>;

/// Agrees on TLS with a server that has a trusted certificate for its name.
pub(super) async fn secure(name: &ServerName, stream: TcpStream) -> Result<TlsStream<TcpStream>, Error> {
    static TRUSTED: LazyLock<Arc<ClientConfig>> =
        LazyLock::new(|| Arc::new(config(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() })));
    secure_by(Arc::clone(&TRUSTED), name, stream).await
}

fn config(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

async fn secure_by(
    config: Arc<ClientConfig>,
    name: &ServerName,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, Error> {
    TlsConnector::from(config).connect(name.clone(), stream).await.map_err(Error::Tls)
}

/// What a guest is told about a failure.
pub(super) fn error_code(error: &io::Error) -> ErrorCode {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(_)) => ErrorCode::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => ErrorCode::TlsAlertReceived(TlsAlertReceivedPayload {
            alert_id: Some(u8::from(*alert)),
            alert_message: None,
        }),
        _ => ErrorCode::TlsProtocolError,
    }
}
