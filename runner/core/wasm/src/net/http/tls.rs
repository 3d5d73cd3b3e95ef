//! TLS with verified servers: a server must have a certificate for its name from an authority that Mozilla trusts. A
//! guest cannot turn this off.

use std::io;
use std::sync::{Arc, LazyLock};

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, TlsAlertReceivedPayload};

/// The name or address in a certificate.
pub(super) type ServerName = rustls::pki_types::ServerName<'static>;

/// Negotiates TLS with a server that has a trusted certificate for its name.
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

/// Converts a failure to the guest's error.
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

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use rustls::ServerConfig;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    const AUTHORITY: &[u8] = include_bytes!("../../../../../../tests/tls/authority.pem");
    const SERVER: &[u8] = include_bytes!("../../../../../../tests/tls/server.pem");
    const KEY: &[u8] = include_bytes!("../../../../../../tests/tls/server.key");

    /// Starts a server for one handshake, with a certificate for `localhost` and `test.example`.
    async fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(SERVER).unwrap()],
                PrivateKeyDer::from_pem_slice(KEY).unwrap(),
            )
            .unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let _ = TlsAcceptor::from(Arc::new(config)).accept(stream).await;
        });
        address
    }

    fn of_test_authority() -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
        Arc::new(config(roots))
    }

    async fn outcome(config: Option<Arc<ClientConfig>>, name: ServerName) -> Result<(), ErrorCode> {
        let stream = TcpStream::connect(server().await).await.unwrap();
        let secured = match config {
            Some(config) => secure_by(config, &name, stream).await,
            None => secure(&name, stream).await,
        };
        secured.map(drop).map_err(|error| match error {
            Error::Tls(error) => error_code(&error),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn a_server_must_prove_its_name() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(names_are_proved());
    }

    async fn names_are_proved() {
        let name = |text: &str| ServerName::try_from(text.to_owned()).unwrap();
        assert!(outcome(Some(of_test_authority()), name("test.example")).await.is_ok());
        let wrong = [name("other.example"), ServerName::from("127.0.0.1".parse::<IpAddr>().unwrap())];
        for name in wrong {
            let refused = outcome(Some(of_test_authority()), name).await;
            assert!(matches!(refused, Err(ErrorCode::TlsCertificateError)), "{refused:?}");
        }
        let untrusted = outcome(None, name("test.example")).await;
        assert!(matches!(untrusted, Err(ErrorCode::TlsCertificateError)), "{untrusted:?}");
    }
}
