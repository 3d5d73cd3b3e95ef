//! The engine's errors, in the terms of the interface.

use rustls::{CertificateError, Error as EngineError, InvalidMessage};

use crate::bindings::tls_guest::modbox::host::tls::{CertificateProblem, Error, RefusedCertificate};

/// Converts an error.
pub(super) fn error(error: &EngineError) -> Error {
    match error {
        EngineError::InvalidCertificate(cause) => {
            Error::Certificate(RefusedCertificate { problem: problem(cause), reason: cause.to_string() })
        }
        EngineError::AlertReceived(alert) => Error::Alert(u8::from(*alert)),
        // What a server of another protocol sends does not begin like a record.
        EngineError::InvalidMessage(InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion) => {
            Error::NotTls
        }
        other => Error::Failed(other.to_string()),
    }
}

fn problem(cause: &CertificateError) -> CertificateProblem {
    match cause {
        CertificateError::UnknownIssuer => CertificateProblem::UnknownAuthority,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => CertificateProblem::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => CertificateProblem::NotYetValid,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            CertificateProblem::OtherName
        }
        CertificateError::Revoked => CertificateProblem::Revoked,
        _ => CertificateProblem::Invalid,
    }
}
