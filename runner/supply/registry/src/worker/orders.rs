//! What the monitor orders, as requests of the OCI distribution specification 1.1.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;

use ureq::http::header::LOCATION;
use ureq::http::{Response, Uri};
use ureq::{Body, http};

use crate::digest::Digest;
use crate::manifest::{INDEX, MANIFEST};
use crate::messages::{self, Answer, Event, Order, PIECE, Resource, TransferError};
use crate::worker::client::{Call, Client, Content};
use crate::worker::failure::{connection_error, host_of, status_error};

/// Types of manifests that the registry may answer with.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";

/// Number of redirects to content that are followed.
const MAX_REDIRECTS: usize = 5;

/// Header of a registry that has listed a manifest among the referrers of its subject.
const SUBJECT: &str = "oci-subject";

#[derive(Debug)]
pub(super) enum OrderError {
    /// The registry's.
    Transfer(TransferError),
    /// The monitor has ended.
    Channel(io::Error),
}

impl From<TransferError> for OrderError {
    fn from(error: TransferError) -> Self {
        Self::Transfer(error)
    }
}

/// Does what the monitor orders.
pub(super) fn perform(
    client: &mut Client,
    channel: &UnixStream,
    order: &Order,
    attached: &[u8],
    file: Option<&File>,
) -> Result<Answer, OrderError> {
    match order {
        Order::Fetch { resource, max } => fetch(client, channel, resource, *max),
        Order::Find(digest) => Ok(find(client, digest)?),
        Order::Send { digest, size } => {
            Ok(send(client, digest, file.map_or(Content::None, |file| Content::File(file, *size)))?)
        }
        Order::Put { reference, media_type } => Ok(put(client, reference, media_type, attached)?),
    }
}

/// Fetches content, and sends it on piece by piece.
fn fetch(client: &mut Client, channel: &UnixStream, resource: &Resource, max: u64) -> Result<Answer, OrderError> {
    let (path, accept) = match resource {
        Resource::Manifest(reference) => (format!("manifests/{reference}"), Some(MANIFESTS)),
        Resource::Blob(digest) => (format!("blobs/{digest}"), None),
        Resource::Referrers(digest) => (format!("referrers/{digest}"), Some(INDEX)),
    };
    let call = Call { accept, ..Call::new("GET", client.url(&path)) };
    let response = client.ask(&call)?;
    let (host, response) = match resource {
        Resource::Blob(_) => follow(client, call.url, response)?,
        _ => (client.host().to_owned(), response),
    };
    match (response.status().as_u16(), resource) {
        (200, _) => {}
        // A registry from before version 1.1 of the specification does not know the address of a list of referrers.
        (404, _) | (400 | 405 | 501, Resource::Referrers(_)) => return Ok(Answer::NotFound),
        _ => return Err(status_error(&host, response).into()),
    }
    if matches!(resource, Resource::Manifest(_)) {
        check_media_type(&host, &response)?;
    }
    pass_on(channel, &host, resource, response, max)?;
    Ok(Answer::Done)
}

/// Follows redirects to a blob. Nothing that proves who asks goes along.
fn follow(
    client: &Client,
    mut url: String,
    mut response: Response<Body>,
) -> Result<(String, Response<Body>), TransferError> {
    for _ in 0..MAX_REDIRECTS {
        let Some(target) = redirect(&url, &response)? else { return Ok((host_of(&url), response)) };
        let refused = |reason: &str| {
            let (host, target) = (host_of(&url).as_str().into(), target.as_str().into());
            Err(TransferError::Redirect { host, target, reason: reason.into() })
        };
        if !target.starts_with("https://") && !target.starts_with(&format!("{}/", client.origin())) {
            return refused("which has no TLS");
        }
        let next = client.ask_other(&Call::new("GET", target.clone()))?;
        if next.status() == http::StatusCode::UNAUTHORIZED {
            return refused("which asks for a password; modbox gives none to where a redirect leads");
        }
        (url, response) = (target, next);
    }
    let (host, target) = (host_of(&url).as_str().into(), url.as_str().into());
    Err(TransferError::Redirect { host, target, reason: format!("after {MAX_REDIRECTS} other redirects").into() })
}

/// Returns where a response leads.
fn redirect(url: &str, response: &Response<Body>) -> Result<Option<String>, TransferError> {
    match response.status().as_u16() {
        301 | 302 | 303 | 307 | 308 => location(url, response).map(Some),
        _ => Ok(None),
    }
}

/// Returns the address in the header `Location`, which can be relative to the address of the request.
fn location(url: &str, response: &Response<Body>) -> Result<String, TransferError> {
    let wrong = |reason: &str| TransferError::Protocol { host: host_of(url).as_str().into(), reason: reason.into() };
    let value = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let value = value.ok_or_else(|| wrong("it names no location"))?;
    if value.starts_with('/') && !value.starts_with("//") {
        let base: Uri = url.parse().map_err(|_| wrong("its address is wrong"))?;
        let (scheme, authority) =
            (base.scheme_str().unwrap_or("https"), base.authority().map_or("", |host| host.as_str()));
        return Ok(format!("{scheme}://{authority}{value}"));
    }
    if value.starts_with("https://") || value.starts_with("http://") {
        return Ok(value.to_owned());
    }
    Err(wrong("its location is neither a path nor an address of HTTP"))
}

/// Refuses content that is not said to be a manifest or an index.
fn check_media_type(host: &str, response: &Response<Body>) -> Result<(), TransferError> {
    let found = response.body().mime_type().unwrap_or("none");
    if [MANIFEST, INDEX].contains(&found) {
        return Ok(());
    }
    let reason = format!("the type of the manifest is `{found}`, not `{MANIFEST}`");
    Err(TransferError::Protocol { host: host.into(), reason: reason.into() })
}

fn pass_on(
    channel: &UnixStream,
    host: &str,
    resource: &Resource,
    response: Response<Body>,
    max: u64,
) -> Result<(), OrderError> {
    let too_large = || TransferError::TooLarge { host: host.into(), what: word(resource).into(), max };
    if response.body().content_length().is_some_and(|length| length > max) {
        return Err(too_large().into());
    }
    let (mut body, mut piece, mut total) = (response.into_body().into_reader(), vec![0; PIECE], 0);
    loop {
        let read = match body.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|error| connection_error(host, &ureq::Error::from(error)))?,
        };
        if read == 0 {
            return Ok(());
        }
        total += read as u64;
        if total > max {
            return Err(too_large().into());
        }
        messages::send(channel, &Event::Piece, &[&piece[..read]]).map_err(OrderError::Channel)?;
    }
}

fn word(resource: &Resource) -> &'static str {
    match resource {
        Resource::Manifest(_) => "a manifest",
        Resource::Blob(_) => "this content",
        Resource::Referrers(_) => "a list of signatures",
    }
}

/// Asks whether the registry has a blob.
fn find(client: &mut Client, digest: &Digest) -> Result<Answer, TransferError> {
    let response = client.ask(&Call::new("HEAD", client.url(&format!("blobs/{digest}"))))?;
    match response.status().as_u16() {
        200 => Ok(Answer::Done),
        // Some registries lead to where the blob is.
        301 | 302 | 303 | 307 | 308 => Ok(Answer::Done),
        404 => Ok(Answer::NotFound),
        _ => Err(status_error(client.host(), response)),
    }
}

/// Sends a blob, in two requests.
fn send(client: &mut Client, digest: &Digest, content: Content<'_>) -> Result<Answer, TransferError> {
    let begin = Call { content: Content::Bytes(b""), ..Call::new("POST", client.url("blobs/uploads/")) };
    let response = client.ask(&begin)?;
    if response.status().as_u16() != 202 {
        return Err(status_error(client.host(), response));
    }
    let url = location(&begin.url, &response)?;
    drop(response);
    let own = url.starts_with(&format!("{}/", client.origin()));
    let join = if url.contains('?') { '&' } else { '?' };
    let call = Call {
        media_type: Some("application/octet-stream"),
        content,
        ..Call::new("PUT", format!("{url}{join}digest={digest}"))
    };
    // What proves who asks stays with the registry.
    let response = if own { client.ask(&call)? } else { client.ask_other(&call)? };
    match response.status().as_u16() {
        201 | 202 | 204 => Ok(Answer::Done),
        _ => Err(status_error(&host_of(&url), response)),
    }
}

/// Puts a manifest under a tag or its digest.
fn put(client: &mut Client, reference: &str, media_type: &str, manifest: &[u8]) -> Result<Answer, TransferError> {
    let url = client.url(&format!("manifests/{reference}"));
    let call = Call { media_type: Some(media_type), content: Content::Bytes(manifest), ..Call::new("PUT", url) };
    let response = client.ask(&call)?;
    match response.status().as_u16() {
        200..=204 if response.headers().contains_key(SUBJECT) => Ok(Answer::Referred),
        200..=204 => Ok(Answer::Done),
        _ => Err(status_error(client.host(), response)),
    }
}
