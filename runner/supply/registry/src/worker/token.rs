//! Tokens of a registry's token service ("Token Authentication Specification" and "OAuth2" of distribution).

use serde::Deserialize;
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::http::header::AUTHORIZATION;

use crate::messages::{Opening, Proof, TransferError};
use crate::worker::failure::{connection_error, host_of, status_error};

/// Maximum size of an answer with a token.
const MAX_ANSWER: u64 = 256 << 10;

/// What a registry says about the token that it wants.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenRequest<'a> {
    pub(super) realm: &'a str,
    pub(super) service: Option<&'a str>,
    pub(super) scope: Option<&'a str>,
}

/// A token, by either name.
#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

/// Asks a token service for a token. Returns the value of the header `Authorization`.
///
/// # Errors
///
/// The service is at a place where a password is not sent, cannot be reached, or refuses.
pub(super) fn fetch(
    agent: &Agent,
    opening: &Opening,
    request: &TokenRequest<'_>,
    proof: Option<&Proof>,
) -> Result<String, TransferError> {
    check(opening, request.realm)?;
    let host = host_of(request.realm);
    let parameters = [("service", request.service), ("scope", request.scope)];
    let parameters = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let response = match proof {
        Some(Proof::IdentityToken(token)) => {
            let fixed = [("grant_type", "refresh_token"), ("client_id", "modbox"), ("refresh_token", token)];
            agent.post(request.realm).send_form(fixed.into_iter().chain(parameters))
        }
        other => {
            let mut call = agent.get(request.realm);
            for (name, value) in parameters {
                call = call.query(name, value);
            }
            if let Some(Proof::Basic(header)) = other {
                call = call.header(AUTHORIZATION, header);
            }
            call.call()
        }
    };
    let mut response = response.map_err(|error| connection_error(&host, &error))?;
    if response.status() == StatusCode::UNAUTHORIZED {
        // Logins are kept for the registry, wherever its token service is.
        return Err(TransferError::Unauthorized { host: opening.host.as_str().into() });
    }
    if !response.status().is_success() {
        return Err(status_error(&host, response));
    }
    let wrong = |reason: String| TransferError::Protocol { host: host.as_str().into(), reason: reason.into() };
    let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
    let body = body.map_err(|error| connection_error(&host, &error))?;
    let answer: Option<TokenAnswer> = serde_json::from_slice(&body).ok();
    let token = answer.and_then(|answer| answer.token.or(answer.access_token));
    let token = token.filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
    token.map(|token| format!("Bearer {token}")).ok_or_else(|| wrong("its token service gives no token".to_owned()))
}

/// Refuses a service that would get a password without TLS, unless it is the registry itself, which has none.
fn check(opening: &Opening, realm: &str) -> Result<(), TransferError> {
    let own = opening.is_plain && host_of(realm) == opening.host && realm.starts_with("http://");
    if own || realm.starts_with("https://") {
        return Ok(());
    }
    Err(TransferError::Redirect {
        host: opening.host.as_str().into(),
        target: realm.into(),
        reason: "a token service that has no TLS; modbox sends nothing to it".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_without_tls_is_refused() {
        let opening = |is_plain| Opening {
            host: "registry.example:5000".to_owned(),
            repository: "a".to_owned(),
            is_plain,
            proof: None,
        };
        for (is_plain, realm, is_taken) in [
            (false, "https://auth.example/token", true),
            (true, "https://auth.example/token", true),
            (true, "http://registry.example:5000/token", true),
            (false, "http://registry.example:5000/token", false),
            (true, "http://auth.example/token", false),
            (true, "http://registry.example:5000@auth.example/token", false),
            (true, "file:///etc/passwd", false),
        ] {
            assert_eq!(check(&opening(is_plain), realm).is_ok(), is_taken, "{realm}");
        }
    }
}
