//! What a registry does wrong: instead of an answer, and to a right answer.

use std::iter;

use serde_json::Value;

use super::answer::{Answer, DIGEST_FIELD, Manner};
use super::behavior::Fault;
use super::request::Request;
use super::route::{Resource, Route};

/// Size of a huge manifest.
const HUGE: usize = 64 << 20;

/// Number and size of many header fields.
const MANY_FIELDS: usize = 1 << 10;

/// Bytes that are not HTTP.
pub(super) const GARBAGE: &[u8] = b"\x00\xff\xfe220 this is not HTTP\r\n\x07\r\n\r\n";

/// Returns the answer to a request while `busy` requests were answered so before it.
pub(super) fn busy(fault: Option<&Fault>, busy: &mut usize) -> Option<Answer> {
    let Some(Fault::Busy(status, requests)) = fault else { return None };
    if *busy >= *requests {
        return None;
    }
    *busy += 1;
    let answer = match status {
        429 => Answer::error(429, "TOOMANYREQUESTS", "too many requests"),
        status => Answer::error(*status, "UNKNOWN", "the registry is busy"),
    };
    Some(if matches!(status, 429 | 503) { answer.field("Retry-After", "0") } else { answer })
}

/// Makes an answer wrong. `host` is the host of the registry, with its port.
pub(super) fn change(fault: &Fault, host: &str, request: &Request, route: &Route<'_>, answer: Answer) -> Answer {
    match fault {
        Fault::HugeHeaders => many_fields(answer),
        Fault::NoDigestHeader => without_digest(answer),
        _ if request.method != "GET" => answer,
        _ => match route.resource {
            Resource::Manifest(_) if answer.status == 200 => change_manifest(fault, answer),
            Resource::Blob(_) if matches!(answer.status, 200 | 404) => change_blob(fault, host, &request.path, answer),
            _ => answer,
        },
    }
}

fn change_manifest(fault: &Fault, mut answer: Answer) -> Answer {
    match fault {
        Fault::OtherManifest => answer.body = other_json(&answer.body),
        Fault::HugeManifest => {
            let spaces = HUGE.saturating_sub(answer.body.len());
            answer.body.splice(..0, iter::repeat_n(b' ', spaces));
        }
        Fault::WrongMediaType(media_type) => return answer.with_field("Content-Type", media_type),
        _ => {}
    }
    answer
}

fn change_blob(fault: &Fault, host: &str, path: &str, mut answer: Answer) -> Answer {
    let redirect = |to: String| Answer::new(307).field("Location", to);
    match fault {
        Fault::RedirectBlobs(prefix) => return redirect(format!("{prefix}{path}")),
        Fault::RedirectLoop => return redirect(path.to_owned()),
        Fault::RedirectToPlain => return redirect(format!("http://{host}{path}")),
        _ if answer.status != 200 => {}
        Fault::OtherBlob => match answer.body.last_mut() {
            Some(last) => *last ^= 1,
            None => answer.body.push(0),
        },
        Fault::LongBlob => answer.manner = Manner::Endless,
        Fault::ShortBlob => answer.manner = Manner::Half,
        Fault::Slow => answer.manner = Manner::Slow,
        _ => {}
    }
    answer
}

/// Changes the last letter or digit that can be another one in JSON, so that the end of the document differs rather
/// than its version.
fn other_json(document: &[u8]) -> Vec<u8> {
    let changed = (0..document.len()).rev().filter(|at| document[*at].is_ascii_alphanumeric()).map(|at| {
        let mut other = document.to_owned();
        other[at] = if document[at] == b'1' { b'2' } else { b'1' };
        other
    });
    let mut json = changed.filter(|other| serde_json::from_slice::<Value>(other).is_ok());
    json.next().expect("a manifest has a digit")
}

fn many_fields(answer: Answer) -> Answer {
    let value = "x".repeat(MANY_FIELDS);
    (0..MANY_FIELDS).fold(answer, |answer, _| answer.field("X-Filler", value.as_str()))
}

fn without_digest(mut answer: Answer) -> Answer {
    answer.fields.retain(|(name, _)| *name != DIGEST_FIELD);
    answer
}
