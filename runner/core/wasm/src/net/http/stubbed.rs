//! Answers requests from a list, for tests of modules. Grants hold as for the network; names are not looked up, and nothing is
//! sent. A request that the list has no answer for fails, and is recorded as every other.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, Uri};
use modbox_vocabulary::{StubAnswer, StubbedRequest};
use wasmtime_wasi_http::{Error, WasiBody};

use super::send::{Target, check};
use crate::net::network::Network;
use crate::net::stub::{MAX_REQUESTS, Stub, TooManyRequests};

/// Most bytes of a request's body.
const MAX_BODY: usize = 1 << 20;

/// Answers a request, if it is granted and expected.
pub(super) async fn answer(
    network: &Network,
    stub: &Stub,
    request: Request<WasiBody>,
) -> Result<Response<WasiBody>, Error> {
    check(network, &Target::of(request.uri())?)?;
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY).collect().await;
    let body = body.map_err(|_| internal(format!("a test takes bodies of at most {MAX_BODY} bytes")))?.to_bytes();
    let request = StubbedRequest {
        method: head.method.as_str().to_owned(),
        url: shown(&head.uri),
        headers: fields(&head.headers),
        body: String::from_utf8_lossy(&body).into_owned(),
        answer: None,
    };
    let too_many = |TooManyRequests| internal(format!("a test takes at most {MAX_REQUESTS} requests"));
    // The test itself names a request that it does not expect.
    stub.record(request).map_err(too_many)?.map_or(Err(Error::ConnectionRefused), response)
}

/// Returns a URL as [`StubbedRequest::url`] has it.
fn shown(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let usual = if scheme == "https" { 443 } else { 80 };
    let port = uri.port_u16().filter(|port| *port != usual).map(|port| format!(":{port}")).unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    format!("{scheme}://{host}{port}{path}")
}

fn fields(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let field = fields.entry(name.as_str().to_owned());
        field.and_modify(|earlier| *earlier = format!("{earlier}, {value}")).or_insert(value);
    }
    fields
}

fn response(answer: &StubAnswer) -> Result<Response<WasiBody>, Error> {
    let body = Full::new(Bytes::copy_from_slice(answer.body.as_bytes()));
    let body: WasiBody = body.map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        let name = HeaderName::try_from(name).map_err(|_| internal(format!("`{name}` is not a header field")))?;
        let value = HeaderValue::from_bytes(value.as_bytes());
        response = response.header(&name, value.map_err(|_| internal(format!("the value of `{name}` is invalid")))?);
    }
    response.body(body).map_err(|_| internal(format!("{} is not a status", answer.status)))
}

fn internal(why: String) -> Error {
    Error::InternalError(Some(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_the_usual_port() {
        for (uri, expect) in [
            ("https://API.example.org:443/v1?a=b", "https://api.example.org/v1?a=b"),
            ("http://h:8080", "http://h:8080/"),
            ("http://[::1]:80/x", "http://[::1]/x"),
        ] {
            assert_eq!(shown(&uri.parse().unwrap()), expect);
        }
    }
}
