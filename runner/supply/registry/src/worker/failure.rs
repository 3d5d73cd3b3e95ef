//! The errors of requests: failed connections, and answers with an unexpected status.

use std::io;

use ureq::Body;
use ureq::http::Response;

use crate::messages::{Text, TransferError};

/// Maximum size of what a server says about an error.
const MAX_REASON: u64 = 64 << 10;

/// Describes an answer with an unexpected status.
pub(super) fn status_error(host: &str, mut response: Response<Body>) -> TransferError {
    let status = response.status().as_u16();
    let text = response.body_mut().with_config().limit(MAX_REASON).read_to_vec().unwrap_or_default();
    let (host, reason) = (host.into(), reason(&text));
    match status {
        401 => TransferError::Unauthorized { host },
        403 => TransferError::Forbidden { host, status, reason },
        _ => TransferError::Status { host, status, reason },
    }
}

/// Returns what a registry says about an error: the text in the JSON of the distribution specification, or all of it.
fn reason(body: &[u8]) -> Text {
    let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &json["errors"][0];
    let parts = ["code", "message"].map(|key| error[key].as_str().unwrap_or_default());
    match parts {
        ["", ""] if body.is_empty() => "it says no reason".into(),
        ["", ""] => String::from_utf8_lossy(body).as_ref().into(),
        [code, message] => format!("{code} {message}").trim().into(),
    }
}

/// Describes a failed connection.
pub(super) fn connection_error(host: &str, error: &ureq::Error) -> TransferError {
    let host = Text::from(host);
    match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::NotConnected => {
            TransferError::Connect { host, cause: error.to_string().into() }
        }
        ureq::Error::RequireHttpsOnly(target) => {
            TransferError::Redirect { host, target: target.as_str().into(), reason: "which has no TLS".into() }
        }
        ureq::Error::Protocol(_) | ureq::Error::Http(_) | ureq::Error::LargeResponseHeader(..) => {
            TransferError::Protocol { host, reason: error.to_string().into() }
        }
        error => TransferError::Connection { host, cause: words(error).into() },
    }
}

/// Returns an error of a connection in words, with what the user can do about TLS.
fn words(error: &ureq::Error) -> String {
    let tls = match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()),
        _ => None,
    };
    match tls {
        Some(rustls::Error::InvalidCertificate(_)) => {
            format!("{error}; if its authority is one of your own, name the authority's certificate by --ca")
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            format!("{error}; if it has no TLS, and that is right, name it by --plain-http")
        }
        _ => error.to_string(),
    }
}

/// Returns the host of an address, for messages.
pub(super) fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest).to_owned()
}
