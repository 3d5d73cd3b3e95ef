//! The endpoints of the distribution specification, without credentials and faults. Lists come on one page, and blobs
//! in one part.

use serde_json::json;

use super::answer::{Answer, DIGEST_FIELD};
use super::manifests;
use super::request::Request;
use super::route::{Resource, Route, is_digest, is_name};
use super::store::Store;
use super::uploads;

/// A request with its body, and what its path stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) request: &'a Request,
    pub(super) route: Route<'a>,
    pub(super) body: &'a [u8],
    /// Whether the registry has the referrers API.
    pub(super) referrers: bool,
}

/// Answers a request.
pub(super) fn answer(store: &mut Store, call: &Call<'_>) -> Answer {
    let (name, method) = (call.route.name, call.request.method.as_str());
    if !name.is_empty() && !is_name(name) {
        return Answer::error(400, "NAME_INVALID", format!("`{name}` is not a name of a repository"));
    }
    // What is read by HEAD is what is read by GET; only the body is not sent.
    match (if method == "HEAD" { "GET" } else { method }, call.route.resource) {
        (_, Resource::Unknown) => Answer::error(404, "NAME_UNKNOWN", "the path is unknown"),
        ("GET", Resource::Root) => Answer::json("application/json", &json!({})),
        ("GET", Resource::Tags) => tags(store, name),
        ("GET", Resource::Blob(digest)) => blob(store, digest),
        ("GET", Resource::Manifest(reference)) => manifests::get(store, name, reference),
        ("PUT", Resource::Manifest(reference)) => manifests::put(store, call, reference),
        ("GET", Resource::Referrers(digest)) => manifests::referrers(store, call, digest),
        ("POST", Resource::Uploads) => uploads::begin(store, call),
        ("GET", Resource::Upload(id)) => uploads::progress(store, call, id),
        ("PATCH", Resource::Upload(id)) => uploads::extend(store, call, id),
        ("PUT", Resource::Upload(id)) => uploads::finish(store, call, id),
        ("DELETE", Resource::Upload(id)) => uploads::cancel(store, call, id),
        _ => Answer::error(405, "UNSUPPORTED", format!("the path has no method {method}")),
    }
}

fn tags(store: &Store, name: &str) -> Answer {
    match store.tags(name) {
        Some(tags) => Answer::json("application/json", &json!({"name": name, "tags": tags})),
        None => Answer::error(404, "NAME_UNKNOWN", format!("the repository `{name}` is unknown")),
    }
}

fn blob(store: &Store, digest: &str) -> Answer {
    match store.blobs.get(digest) {
        Some(bytes) => Answer::content("application/octet-stream", bytes.clone()).field(DIGEST_FIELD, digest),
        None if is_digest(digest) => Answer::error(404, "BLOB_UNKNOWN", format!("the blob {digest} is unknown")),
        None => Answer::error(400, "DIGEST_INVALID", format!("`{digest}` is not a digest")),
    }
}
