//! One request over the line and the head of its answer, by whoever does HTTP here: the host, by `wasi:http`, for a component.

#[cfg_attr(target_family = "wasm", path = "component.rs")]
#[cfg_attr(not(target_family = "wasm"), path = "nowhere.rs")]
mod here;

use std::time::Duration;

pub(super) use self::here::{IncomingBody, exchange};
use super::request::Body;
use super::url::Url;
use crate::http::headers::Headers;

/// What is sent.
#[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "there is no HTTP in a build for the host"))]
pub(super) struct Outgoing<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    pub(super) fields: &'a [(String, String)],
    pub(super) body: &'a Body,
    pub(super) timeout: Duration,
}

/// What comes back: the head, and the body as it is read.
pub(super) struct Incoming {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: IncomingBody,
}
