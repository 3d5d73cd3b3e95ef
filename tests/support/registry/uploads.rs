//! Uploads of blobs: in one request, in two, or in parts one after the other. A blob that another repository has can be
//! mounted.
//!
//! The URL of an upload is relative and has a query, and the client must keep both.

use super::answer::{Answer, DIGEST_FIELD};
use super::endpoints::Call;
use super::store::{Store, digest};

/// The query of an upload's URL, as a name and a value.
const STATE: (&str, &str) = ("state", "x");

/// Begins an upload, or takes the blob if the request has its digest.
pub(super) fn begin(store: &mut Store, call: &Call<'_>) -> Answer {
    if let Some(mounted) = call.request.query("mount").filter(|digest| store.blobs.contains_key(digest)) {
        return created(call, &mounted);
    }
    if let Some(expected) = call.request.query("digest") {
        return put(store, call, &expected, call.body);
    }
    let id = store.begin_upload();
    accepted(store, call, 202, &id)
}

/// Says how many bytes of an upload have come.
pub(super) fn progress(store: &Store, call: &Call<'_>, id: &str) -> Answer {
    match unknown(store, call, id) {
        Some(error) => error,
        None => accepted(store, call, 204, id),
    }
}

/// Takes a part of a blob.
pub(super) fn extend(store: &mut Store, call: &Call<'_>, id: &str) -> Answer {
    if let Some(error) = unknown(store, call, id) {
        return error;
    }
    let upload = store.uploads.get_mut(id).unwrap();
    let start = call.request.header("content-range").and_then(|range| range.split('-').next()?.parse().ok());
    if start.is_some_and(|start: usize| start != upload.len()) {
        return accepted(store, call, 416, id);
    }
    upload.extend_from_slice(call.body);
    accepted(store, call, 202, id)
}

/// Takes the last part of a blob, or all of it, and the digest.
pub(super) fn finish(store: &mut Store, call: &Call<'_>, id: &str) -> Answer {
    if let Some(error) = unknown(store, call, id) {
        return error;
    }
    let Some(expected) = call.request.query("digest") else {
        return Answer::error(400, "DIGEST_INVALID", "the query has no digest");
    };
    let bytes = [&store.uploads.remove(id).unwrap(), call.body].concat();
    put(store, call, &expected, &bytes)
}

/// Forgets an upload.
pub(super) fn cancel(store: &mut Store, call: &Call<'_>, id: &str) -> Answer {
    if let Some(error) = unknown(store, call, id) {
        return error;
    }
    store.uploads.remove(id);
    Answer::new(204)
}

fn unknown(store: &Store, call: &Call<'_>, id: &str) -> Option<Answer> {
    let known = store.uploads.contains_key(id) && call.request.query(STATE.0).is_some_and(|state| state == STATE.1);
    (!known).then(|| Answer::error(404, "BLOB_UPLOAD_UNKNOWN", format!("the upload {} is unknown", call.request.path)))
}

fn put(store: &mut Store, call: &Call<'_>, expected: &str, bytes: &[u8]) -> Answer {
    let actual = digest(bytes);
    if actual != expected {
        return Answer::error(400, "DIGEST_INVALID", format!("the content has the digest {actual}, not {expected}"));
    }
    store.put_blob(bytes);
    created(call, &actual)
}

fn created(call: &Call<'_>, digest: &str) -> Answer {
    let location = format!("/v2/{}/blobs/{digest}", call.route.name);
    Answer::new(201).field("Location", location).field(DIGEST_FIELD, digest)
}

fn accepted(store: &Store, call: &Call<'_>, status: u16, id: &str) -> Answer {
    let location = format!("/v2/{}/blobs/uploads/{id}?{}={}", call.route.name, STATE.0, STATE.1);
    let last = store.uploads[id].len().saturating_sub(1);
    let answer = Answer::new(status).field("Location", location).field("Range", format!("0-{last}"));
    answer.field("Docker-Upload-UUID", id)
}
