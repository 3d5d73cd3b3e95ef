//! How a registry behaves: what it has, which credentials it asks for, and what it does wrong. What that means for an
//! answer is in `auth.rs` and `fault.rs`.

/// What a registry does wrong, or asks for.
#[derive(Debug, Clone, Default)]
pub struct Behavior {
    /// Whether it has the referrers API. Without it, each request for referrers gets 404.
    pub referrers: bool,
    /// The user and the password that it asks for by Basic authentication. A token service takes precedence.
    pub user: Option<(String, String)>,
    /// The service whose tokens it asks for.
    pub token: Option<TokenService>,
    /// What it does wrong.
    pub fault: Option<Fault>,
    /// Whether it speaks TLS, as `localhost`. A request without TLS is then recorded and gets 400.
    pub tls: bool,
}

/// A service at `/token` that gives Bearer tokens.
///
/// A token holds its scopes, so each registry takes the tokens of each other registry.
#[derive(Debug, Clone, Default)]
pub struct TokenService {
    /// The user and the password that the service asks for. Without them it gives tokens to all clients.
    pub user: Option<(String, String)>,
    /// The identity token for which the service gives tokens, to POST (the grant `refresh_token` of OAuth 2).
    pub identity: Option<String>,
    /// Another URL that the registry names as the service, instead of its own.
    pub realm: Option<String>,
}

/// What a registry does wrong.
///
/// A fault of a manifest or a blob is in the answer to GET of one that exists; HEAD gets the right answer. Redirects
/// also lead to blobs that only the other server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A manifest has one other byte than its digest says, and is still JSON.
    OtherManifest,
    /// A blob has one other byte than its digest says.
    OtherBlob,
    /// A blob goes on after its end, in chunks, up to 1 GiB.
    LongBlob,
    /// A blob ends after half of its bytes, although `Content-Length` is that of the whole.
    ShortBlob,
    /// A manifest has 64 MiB: spaces, and then its JSON.
    HugeManifest,
    /// A manifest has this `Content-Type`.
    WrongMediaType(String),
    /// Requests for blobs are sent to this prefix, followed by the path.
    RedirectBlobs(String),
    /// Requests for blobs are sent to the same URL.
    RedirectLoop,
    /// Requests for blobs are sent to the same host and path without TLS.
    RedirectToPlain,
    /// The first requests since the behavior was set get this status: as many as the number says. 429 and 503 come with
    /// `Retry-After: 0`.
    Busy(u16, usize),
    /// A blob comes with one byte each 200 ms.
    Slow,
    /// Requests are read and never answered.
    Silent,
    /// Each answer has 1 MiB of header fields.
    HugeHeaders,
    /// Each request gets bytes that are not HTTP, and the connection ends.
    NotHttp,
    /// No answer has `Docker-Content-Digest`.
    NoDigestHeader,
    /// Each connection ends at once.
    Down,
}
