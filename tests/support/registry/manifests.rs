//! Manifests: reading one, checking and putting one, and the referrers of one.

use serde_json::{Value, json};

use super::answer::{Answer, DIGEST_FIELD};
use super::endpoints::Call;
use super::route::{is_digest, is_tag};
use super::store::{Store, digest, subject};

/// The media type of lists of manifests.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Answers with a manifest.
pub(super) fn get(store: &Store, name: &str, reference: &str) -> Answer {
    match store.manifest(name, reference) {
        Some(manifest) => {
            Answer::content(&manifest.media_type, manifest.bytes.clone()).field(DIGEST_FIELD, &manifest.digest)
        }
        None => Answer::error(404, "MANIFEST_UNKNOWN", format!("{name} has no manifest {reference}")),
    }
}

/// Puts a manifest under a tag or its digest.
pub(super) fn put(store: &mut Store, call: &Call<'_>, reference: &str) -> Answer {
    let document = match checked(store, call, reference) {
        Ok(document) => document,
        Err(error) => return error,
    };
    let media_type = call.request.header("content-type").unwrap_or_default();
    let digest = store.put_manifest(call.route.name, reference, media_type, call.body);
    let location = format!("/v2/{}/manifests/{digest}", call.route.name);
    let answer = Answer::new(201).field("Location", location).field(DIGEST_FIELD, digest);
    match subject(&document) {
        Some(subject) if call.referrers => answer.field("OCI-Subject", subject),
        _ => answer,
    }
}

/// Answers with the manifests that have another one as their subject, of one type if the query has that.
pub(super) fn referrers(store: &Store, call: &Call<'_>, digest: &str) -> Answer {
    if !call.referrers {
        return Answer::error(404, "UNSUPPORTED", "this registry has no referrers API");
    }
    if !is_digest(digest) {
        return Answer::error(400, "DIGEST_INVALID", format!("`{digest}` is not a digest"));
    }
    let mut manifests = store.referrers(call.route.name, digest);
    let kind = call.request.query("artifactType");
    if let Some(kind) = &kind {
        manifests.retain(|descriptor| descriptor["artifactType"] == kind.as_str());
    }
    let answer = Answer::json(INDEX, &json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}));
    if kind.is_some() { answer.field("OCI-Filters-Applied", "artifactType") } else { answer }
}

/// Returns the document of a manifest that may be put.
fn checked(store: &Store, call: &Call<'_>, reference: &str) -> Result<Value, Answer> {
    let refused = |code, message: String| Err(Answer::error(400, code, message));
    if reference.contains(':') && reference != digest(call.body) {
        return refused("DIGEST_INVALID", format!("the manifest does not have the digest {reference}"));
    }
    if !reference.contains(':') && !is_tag(reference) {
        return refused("MANIFEST_INVALID", format!("`{reference}` is not a tag"));
    }
    let Ok(document) = serde_json::from_slice::<Value>(call.body) else {
        return refused("MANIFEST_INVALID", "the manifest is not JSON".to_owned());
    };
    let header = call.request.header("content-type");
    let own = document["mediaType"].as_str().or(header);
    if !document.is_object() || header.is_none() || own != header {
        return refused("MANIFEST_INVALID", format!("the manifest has the media type {own:?}, sent as {header:?}"));
    }
    check_content(store, call.route.name, &document)?;
    Ok(document)
}

/// Checks that the registry has all content that a manifest names, in the sizes that it names.
fn check_content(store: &Store, name: &str, document: &Value) -> Result<(), Answer> {
    let listed =
        |key: &'static str| document[key].as_array().into_iter().flatten().map(move |descriptor| (descriptor, key));
    let config = document.get("config").map(|config| (config, "config"));
    for (descriptor, key) in config.into_iter().chain(listed("layers")).chain(listed("manifests")) {
        let digest = descriptor["digest"].as_str().unwrap_or_default();
        let size = match key {
            "manifests" => store.manifest(name, digest).map(|manifest| manifest.bytes.len()),
            _ => store.blobs.get(digest).map(Vec::len),
        };
        let Some(size) = size else {
            return Err(Answer::error(400, "MANIFEST_BLOB_UNKNOWN", format!("{key}: `{digest}` is unknown")));
        };
        if descriptor["size"] != size {
            return Err(Answer::error(400, "SIZE_INVALID", format!("{key}: {digest} has {size} bytes")));
        }
    }
    Ok(())
}
