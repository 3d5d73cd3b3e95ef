//! Checks the certificate of a server, as far as a guest asks for it. That the server has the certificate's key is always
//! checked.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::bindings::tls_guest::modbox::host::tls;

/// Name of the engine's error for a server whose certificate is one of an authority. It is found after the time was
/// checked; the engine has no type for it.
const IS_AUTHORITY: &str = "CaUsedAsEndEntity";

/// What of a certificate is checked.
#[derive(Debug)]
pub(super) enum Checks {
    /// Nothing.
    Nothing,
    /// The chain to an authority, and the name if `name` is set. `given` are the authorities that the guest has named.
    Chain { verifier: Arc<WebPkiServerVerifier>, given: Vec<CertificateDer<'static>>, name: bool },
}

impl Checks {
    pub(super) fn by(
        roots: RootCertStore,
        given: Vec<CertificateDer<'static>>,
        name: bool,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, tls::Error> {
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let verifier = builder.build().map_err(|error| tls::Error::Failed(error.to_string()))?;
        Ok(Self::Chain { verifier, given, name })
    }
}

/// Our implementation of the engine's hook.
#[derive(Debug)]
pub(super) struct Verifier {
    checks: Checks,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(checks: Checks, provider: &CryptoProvider) -> Self {
        Self { checks, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Checks::Chain { verifier, given, name } = &self.checks else { return Ok(ServerCertVerified::assertion()) };
        match verifier.verify_server_cert(own, others, server, ocsp, now) {
            // The name is checked after everything else.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !name => Ok(ServerCertVerified::assertion()),
            // A server that signed its own certificate, which the guest has named.
            Err(Error::InvalidCertificate(CertificateError::Other(error)))
                if error.to_string() == IS_AUTHORITY && given.iter().any(|certificate| certificate == own) =>
            {
                if *name {
                    verify_server_name(&ParsedCertificate::try_from(own)?, server)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
