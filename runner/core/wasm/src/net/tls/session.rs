//! A session: the engine's client, without a connection. What it holds is bounded: [`MAX_WAITING`] bytes to send, one
//! record of data to read, and the messages of a handshake, which the engine bounds.

use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::Arc;

use rustls::{ClientConnection, ProtocolVersion};

use super::{failure, settings};
use crate::bindings::tls_guest::modbox::host::tls::{Agreement, Error, Settings, Versions};

/// Most bytes that wait to be sent, and most that one call returns or takes.
const MAX_WAITING: usize = 64 << 10;

/// Bytes of data that wait to be read, at which no more bytes are taken from the server.
const ENOUGH: usize = 16 << 10;

/// A TLS session of a client.
pub(super) struct Session {
    client: ClientConnection,
}

impl Session {
    pub(super) fn new(settings: Settings) -> Result<Self, Error> {
        let name = settings::server_name(&settings)?;
        let config = Arc::new(settings::config(settings)?);
        let mut client = ClientConnection::new(config, name).map_err(|error| failure::error(&error))?;
        client.set_buffer_limit(Some(MAX_WAITING));
        Ok(Self { client })
    }

    /// Returns the next bytes to send.
    pub(super) fn outgoing(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.client.wants_write() && bytes.len() < MAX_WAITING {
            // Nothing fails to be written to memory.
            let Ok(1..) = self.client.write_tls(&mut bytes) else { break };
        }
        bytes
    }

    /// Takes bytes from the server, until data is ready to be read.
    pub(super) fn incoming(&mut self, bytes: &[u8]) -> Result<u32, Error> {
        let offered = bytes.len().min(MAX_WAITING);
        let mut rest = &bytes[..offered];
        let mut state = self.client.process_new_packets().map_err(|error| failure::error(&error))?;
        while !rest.is_empty() && state.plaintext_bytes_to_read() < ENOUGH {
            let before = rest.len();
            self.client.read_tls(&mut rest).map_err(|error| Error::Failed(error.to_string()))?;
            state = self.client.process_new_packets().map_err(|error| failure::error(&error))?;
            if rest.len() == before {
                // What follows the end of the data is dropped.
                rest = &[];
            }
        }
        Ok(count(offered - rest.len()))
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.client.is_handshaking()
    }

    /// Returns data; `None` if there is none yet, and an empty list at its end.
    pub(super) fn read(&mut self, most: u32) -> Result<Option<Vec<u8>>, Error> {
        let mut data = vec![0; usize::try_from(most).unwrap_or(MAX_WAITING).clamp(1, MAX_WAITING)];
        match self.client.reader().read(&mut data) {
            Ok(length) => {
                data.truncate(length);
                Ok(Some(data))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(Error::Failed(error.to_string())),
        }
    }

    /// Takes data, as much as may wait.
    pub(super) fn write(&mut self, data: &[u8]) -> Result<u32, Error> {
        let taken = self.client.writer().write(&data[..data.len().min(MAX_WAITING)]);
        taken.map(count).map_err(|error| Error::Failed(error.to_string()))
    }

    pub(super) fn close(&mut self) {
        self.client.send_close_notify();
    }

    pub(super) fn agreement(&self) -> Option<Agreement> {
        let version = match self.client.protocol_version()? {
            ProtocolVersion::TLSv1_2 => Versions::TLS12,
            _ => Versions::TLS13,
        };
        let suite = self.client.negotiated_cipher_suite()?.suite();
        // The engine's names of suites of TLS 1.3 tell the version, those of the registry do not.
        let cipher = suite.as_str().unwrap_or_default().replacen("TLS13_", "TLS_", 1);
        let protocol = self.client.alpn_protocol().map(<[u8]>::to_vec);
        let certificates = self.client.peer_certificates().unwrap_or_default();
        let certificates = certificates.iter().map(|certificate| certificate.to_vec()).collect();
        Some(Agreement { version, cipher, protocol, certificates })
    }
}

/// Converts a length that is at most [`MAX_WAITING`].
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use rustls::ServerConnection;
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    use super::*;
    use crate::bindings::tls_guest::modbox::host::tls::{CertificateProblem, RefusedCertificate, Trust};

    const AUTHORITY: &[u8] = include_bytes!("../../../../../../tests/tls/authority.pem");
    const SERVER: &[u8] = include_bytes!("../../../../../../tests/tls/server.pem");
    const KEY: &[u8] = include_bytes!("../../../../../../tests/tls/server.key");
    /// A certificate for `own.example` that has signed itself.
    const OWN: &[u8] = include_bytes!("../../../../../../tests/tls/own.pem");
    const OWN_KEY: &[u8] = include_bytes!("../../../../../../tests/tls/own.key");

    fn der(pem: &[u8]) -> Vec<u8> {
        CertificateDer::from_pem_slice(pem).unwrap().to_vec()
    }

    /// Returns a server with a certificate for `localhost` and `test.example`.
    fn server() -> ServerConnection {
        server_with(SERVER, KEY)
    }

    fn server_with(certificate: &[u8], key: &[u8]) -> ServerConnection {
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![der(certificate).into()], PrivateKeyDer::from_pem_slice(key).unwrap())
            .unwrap();
        ServerConnection::new(Arc::new(config)).unwrap()
    }

    fn settings(server: &str, trust: Trust, checks_name: bool) -> Settings {
        let (server, address) = (server.to_owned(), ("127.0.0.1".to_owned(), 443));
        let protocols = vec!["http/1.1".to_owned()];
        Settings { server, trust, checks_name, address, versions: Versions::TLS12 | Versions::TLS13, protocols }
    }

    /// Carries bytes in both directions until neither side has more to send.
    fn carry(session: &mut Session, server: &mut ServerConnection) -> Result<(), Error> {
        loop {
            let sent = session.outgoing();
            let mut rest = sent.as_slice();
            while !rest.is_empty() {
                server.read_tls(&mut rest).unwrap();
                let _ = server.process_new_packets();
            }
            let mut bytes = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut bytes).unwrap();
            }
            if sent.is_empty() && bytes.is_empty() {
                return Ok(());
            }
            let mut taken = 0;
            while taken < bytes.len() {
                let count = session.incoming(&bytes[taken..])?;
                assert!(count > 0 || session.read(1)?.is_some(), "bytes are taken, or data is there");
                taken += usize::try_from(count).unwrap();
            }
        }
    }

    fn handshake(settings: Settings) -> Result<(Session, ServerConnection), Error> {
        let (mut session, mut server) = (Session::new(settings)?, server());
        carry(&mut session, &mut server)?;
        Ok((session, server))
    }

    fn problem(settings: Settings) -> Option<CertificateProblem> {
        match handshake(settings) {
            Ok((session, _)) => {
                assert!(!session.is_handshaking());
                None
            }
            Err(Error::Certificate(RefusedCertificate { problem, .. })) => Some(problem),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn certificates_are_checked_as_far_as_asked_for() {
        let authority = || Trust::Authorities(vec![b"junk".to_vec(), der(AUTHORITY)]);
        for (server, trust, checks_name, expect) in [
            ("test.example", authority(), true, None),
            ("test.example.", authority(), true, None),
            ("test.example", Trust::Host(vec![der(AUTHORITY)]), true, None),
            ("other.example", authority(), true, Some(CertificateProblem::OtherName)),
            ("127.0.0.1", authority(), true, Some(CertificateProblem::OtherName)),
            ("other.example", authority(), false, None),
            ("test.example", Trust::Host(Vec::new()), true, Some(CertificateProblem::UnknownAuthority)),
            ("test.example", Trust::Host(Vec::new()), false, Some(CertificateProblem::UnknownAuthority)),
            ("other.example", Trust::Anything, false, None),
        ] {
            assert_eq!(problem(settings(server, trust, checks_name)), expect, "{server} {checks_name}");
        }
        assert!(matches!(
            Session::new(settings("a", Trust::Authorities(vec![b"junk".to_vec()]), true)),
            Err(Error::Invalid(_))
        ));
        let large = Trust::Host(vec![vec![0; 1 << 20], vec![0]]);
        assert!(matches!(Session::new(settings("a", large, true)), Err(Error::Invalid(_))));
        assert!(matches!(Session::new(settings("not a name", authority(), true)), Err(Error::Invalid(_))));
        let no_version = Settings { versions: Versions::empty(), ..settings("a", authority(), true) };
        assert!(matches!(Session::new(no_version), Err(Error::Invalid(_))));
    }

    #[test]
    fn a_server_that_has_signed_itself_is_accepted_where_it_is_named() {
        let result = |server: &str, trust: Trust| {
            let (mut session, mut own) = (Session::new(settings(server, trust, true))?, server_with(OWN, OWN_KEY));
            carry(&mut session, &mut own)
        };
        let named = || Trust::Authorities(vec![der(AUTHORITY), der(OWN)]);
        assert!(result("own.example", named()).is_ok());
        assert!(result("own.example", Trust::Host(vec![der(OWN)])).is_ok());
        assert!(matches!(
            result("other.example", named()),
            Err(Error::Certificate(RefusedCertificate { problem: CertificateProblem::OtherName, .. }))
        ));
        for other in [Trust::Authorities(vec![der(AUTHORITY)]), Trust::Host(Vec::new())] {
            assert!(matches!(result("own.example", other), Err(Error::Certificate(_))));
        }
    }

    #[test]
    fn data_passes_in_both_directions_in_bounded_pieces() {
        let trust = Trust::Authorities(vec![der(AUTHORITY)]);
        let (mut session, mut server) = handshake(settings("test.example", trust, true)).unwrap();
        let agreement = session.agreement().unwrap();
        assert_eq!((agreement.version, &agreement.certificates), (Versions::TLS13, &vec![der(SERVER)]));
        assert!(agreement.cipher.starts_with("TLS_AES_") || agreement.cipher.starts_with("TLS_CHACHA20"));
        let data = vec![7; 1 << 20];
        assert_eq!(session.write(&data).unwrap() as usize, MAX_WAITING);
        assert_eq!(session.write(&data).unwrap(), 0, "until it was sent");
        assert!(!session.outgoing().is_empty());
        assert_eq!(session.read(10).unwrap(), None);
        server.set_buffer_limit(None);
        server.writer().write_all(&data).unwrap();
        server.send_close_notify();
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        bytes.extend(b"dropped");
        let (mut read, mut rest) = (0, bytes.as_slice());
        loop {
            let taken = session.incoming(rest).unwrap() as usize;
            rest = &rest[taken..];
            match session.read(1 << 30).unwrap() {
                Some(part) if part.is_empty() => break,
                Some(part) => {
                    assert!(part.len() <= MAX_WAITING && part.iter().all(|byte| *byte == 7));
                    read += part.len();
                }
                None => assert!(taken > 0),
            }
        }
        assert_eq!(read, data.len());
    }

    #[test]
    fn a_server_of_another_protocol_is_told_apart() {
        let mut session = Session::new(settings("a", Trust::Anything, false)).unwrap();
        assert!(matches!(session.incoming(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Err(Error::NotTls)));
        let mut session = Session::new(settings("a", Trust::Anything, false)).unwrap();
        // A fatal alert, `handshake_failure`.
        assert!(matches!(session.incoming(&[0x15, 3, 3, 0, 2, 2, 40]), Err(Error::Alert(40))));
        assert!(session.incoming(&[1]).is_err(), "a failed session stays failed");
    }
}
