//! Credentials: Basic authentication, and Bearer tokens of a service. Passwords are compared as text, and tokens are
//! not signed: a token is its scopes in base64.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::json;

use super::answer::Answer;
use super::behavior::{Behavior, TokenService};
use super::request::{Request, form_value};
use super::route::{Resource, Route};

/// The name of each registry in its requests for tokens.
const SERVICE: &str = "registry.example";

/// What a token begins with.
const TOKEN: &str = "token-";

/// Returns the answer to a request without the credentials that it needs. `origin` is the scheme and the host of the
/// registry.
pub(super) fn refusal(behavior: &Behavior, origin: &str, request: &Request, route: &Route<'_>) -> Option<Answer> {
    if let Some(service) = &behavior.token {
        return (!has_token(request, route)).then(|| unauthorized(&challenge(service, origin, request, route)));
    }
    refused_user(behavior.user.as_ref(), request)
}

/// Gives a token for the scopes that a request asks for.
pub(super) fn token(service: &TokenService, request: &Request, body: &[u8]) -> Answer {
    if let ("POST", Some(identity)) = (request.method.as_str(), &service.identity) {
        return identity_token(identity, &String::from_utf8_lossy(body));
    }
    if let Some(refused) = refused_user(service.user.as_ref(), request) {
        return refused;
    }
    if request.method != "GET" || request.query("service").as_deref() != Some(SERVICE) {
        return Answer::error(405, "UNSUPPORTED", format!("tokens are given to GET with service={SERVICE}"));
    }
    given("token", &scopes(request).join(" "))
}

/// Returns the scopes that a request for a token asks for.
pub(super) fn scopes(request: &Request) -> Vec<String> {
    request.query_values("scope").iter().flat_map(|scopes| scopes.split(' ')).map(str::to_owned).collect()
}

/// Gives a token to a form with the identity token.
fn identity_token(identity: &str, form: &str) -> Answer {
    let wanted = [("grant_type", "refresh_token"), ("service", SERVICE), ("refresh_token", identity)];
    if wanted.iter().any(|(name, value)| form_value(form, name).as_deref() != Some(*value)) {
        return Answer::error(400, "UNSUPPORTED", "the form has another identity token");
    }
    given("access_token", &form_value(form, "scope").unwrap_or_default())
}

fn given(key: &str, scopes: &str) -> Answer {
    let token = format!("{TOKEN}{}", URL_SAFE.encode(scopes));
    Answer::json("application/json", &json!({key: token, "expires_in": 300}))
}

fn refused_user(user: Option<&(String, String)>, request: &Request) -> Option<Answer> {
    let (name, password) = user?;
    let expected = STANDARD.encode(format!("{name}:{password}"));
    (credentials(request, "Basic") != Some(&expected)).then(|| unauthorized(r#"Basic realm="x""#))
}

fn unauthorized(challenge: &str) -> Answer {
    Answer::error(401, "UNAUTHORIZED", "authentication required").field("WWW-Authenticate", challenge)
}

/// Returns the credentials of a request that has those of a scheme.
fn credentials<'a>(request: &'a Request, scheme: &str) -> Option<&'a str> {
    let (given, credentials) = request.header("authorization")?.split_once(' ')?;
    given.eq_ignore_ascii_case(scheme).then_some(credentials)
}

fn challenge(service: &TokenService, origin: &str, request: &Request, route: &Route<'_>) -> String {
    let own = || format!("{origin}/token");
    let realm = service.realm.clone().unwrap_or_else(own);
    let scope = match route.name {
        "" => String::new(),
        name => format!(r#",scope="repository:{name}:{}""#, if reads(request) { "pull" } else { "pull,push" }),
    };
    format!(r#"Bearer realm="{realm}",service="{SERVICE}"{scope}"#)
}

/// Returns whether a request has a token for what it wants. For what belongs to no repository, each token does.
fn has_token(request: &Request, route: &Route<'_>) -> bool {
    let token = credentials(request, "Bearer").and_then(|token| token.strip_prefix(TOKEN));
    let Some(scopes) = token.and_then(|token| URL_SAFE.decode(token).ok()) else { return false };
    let action = if reads(request) { "pull" } else { "push" };
    let grants = |scope: &str| {
        let actions =
            scope.strip_prefix("repository:").and_then(|rest| rest.strip_prefix(route.name)?.strip_prefix(':'));
        actions.is_some_and(|actions| actions.split(',').any(|granted| granted == action))
    };
    route.resource == Resource::Root || String::from_utf8_lossy(&scopes).split(' ').any(grants)
}

fn reads(request: &Request) -> bool {
    matches!(request.method.as_str(), "GET" | "HEAD")
}
