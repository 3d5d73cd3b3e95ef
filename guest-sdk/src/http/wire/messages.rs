//! A request to send, and its response.

use std::time::Duration;

use crate::http::body::Body;
use crate::http::headers::Headers;
use crate::http::url::Url;

/// A request to send.
#[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "there is no HTTP in a build for the host"))]
pub(in crate::http) struct Outgoing<'a> {
    pub(in crate::http) method: &'a str,
    pub(in crate::http) url: &'a Url,
    pub(in crate::http) fields: &'a [(String, String)],
    pub(in crate::http) body: &'a Body,
    pub(in crate::http) timeout: Duration,
}

/// A response: its head, and its body as a stream.
pub(in crate::http) struct Incoming<B> {
    pub(in crate::http) status: u16,
    pub(in crate::http) headers: Headers,
    pub(in crate::http) body: B,
}
