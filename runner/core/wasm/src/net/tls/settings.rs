//! What a guest asks of a session: checked, and turned into the engine's configuration.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};

use super::verifier::{Checks, Verifier};
use crate::bindings::tls_guest::modbox::host::tls::{Error, Settings, Trust, Versions};

/// Most application protocols.
const MAX_PROTOCOLS: usize = 16;

/// Most bytes of the name of one.
const MAX_PROTOCOL: usize = 255;

/// Most bytes of authorities. The lists of systems have about a quarter.
const MAX_AUTHORITIES: usize = 1 << 20;

/// Returns whether a guest asks for less than a proof of the server's name.
pub(super) fn is_unverified(settings: &Settings) -> bool {
    !settings.checks_name || matches!(settings.trust, Trust::Anything)
}

/// Returns the address that the connection leads to.
pub(super) fn address(settings: &Settings) -> Result<SocketAddr, Error> {
    let (address, port) = &settings.address;
    let parsed = address.parse().map_err(|_| Error::Invalid(format!("`{address}` is not an IP address")))?;
    Ok(SocketAddr::new(parsed, *port))
}

/// Returns the server's name, or its address.
pub(super) fn server_name(settings: &Settings) -> Result<ServerName<'static>, Error> {
    let name = settings.server.trim_end_matches('.').to_owned();
    let invalid = |_| Error::Invalid(format!("`{}` is not a server's name", settings.server));
    ServerName::try_from(name).map_err(invalid)
}

/// Returns the engine's configuration.
pub(super) fn config(settings: Settings) -> Result<ClientConfig, Error> {
    let versions = versions(settings.versions)?;
    if settings.protocols.len() > MAX_PROTOCOLS || settings.protocols.iter().any(|name| name.len() > MAX_PROTOCOL) {
        return Err(Error::Invalid(format!("a session has at most {MAX_PROTOCOLS} application protocols")));
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(settings.trust, settings.checks_name, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&versions);
    let builder = builder.map_err(|error| Error::Failed(error.to_string()))?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = builder.with_no_client_auth();
    // Each session has a configuration of its own, so that none could be resumed.
    config.resumption = Resumption::disabled();
    config.alpn_protocols = settings.protocols.into_iter().map(String::into_bytes).collect();
    Ok(config)
}

fn versions(wanted: Versions) -> Result<Vec<&'static SupportedProtocolVersion>, Error> {
    let known = [(Versions::TLS13, &version::TLS13), (Versions::TLS12, &version::TLS12)];
    let chosen: Vec<_> = known.into_iter().filter(|(flag, _)| wanted.contains(*flag)).map(|(_, own)| own).collect();
    if chosen.is_empty() { Err(Error::Invalid("a session needs a version".to_owned())) } else { Ok(chosen) }
}

fn verifier(trust: Trust, checks_name: bool, provider: &Arc<CryptoProvider>) -> Result<Verifier, Error> {
    let (mut roots, given) = match trust {
        Trust::Anything => return Ok(Verifier::new(Checks::Nothing, provider)),
        Trust::Host(given) => (RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() }, given),
        Trust::Authorities(given) => (RootCertStore::empty(), given),
    };
    if given.iter().map(Vec::len).fold(0, usize::saturating_add) > MAX_AUTHORITIES {
        return Err(Error::Invalid(format!("the certificates of authorities have more than {MAX_AUTHORITIES} bytes")));
    }
    let given: Vec<CertificateDer<'static>> = given.into_iter().map(CertificateDer::from).collect();
    roots.add_parsable_certificates(given.iter().cloned());
    if roots.is_empty() {
        return Err(Error::Invalid("none of the certificates of authorities can be read".to_owned()));
    }
    Ok(Verifier::new(Checks::by(roots, given, checks_name, provider)?, provider))
}
