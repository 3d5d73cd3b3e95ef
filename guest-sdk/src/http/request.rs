//! Builds a request, and sends it with the redirects and the authentication that may follow.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::body::Body;
use super::cookies::Cookies;
use super::error::{ErrorKind, HttpError};
use super::redirect::{Redirects, Trail, outlives_body};
use super::response::{Body as ResponseBody, Response};
use super::url::Url;
use super::wire;

/// The longest silence of a server by default.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
struct Field {
    name: String,
    value: String,
    /// Whether it is sent after a redirect.
    redirected: bool,
}

#[derive(Debug, Clone)]
struct Credentials {
    value: String,
    /// Whether they are sent with the first request.
    at_once: bool,
}

/// A request to a server.
///
/// ```no_run
/// # use modbox_sdk::Failure;
/// # use modbox_sdk::http::{Body, Redirects, Request};
/// # fn main() -> Result<(), Failure> {
/// let mut response = Request::new("GET", "https://example.org/list").redirects(Redirects::All).send()?;
/// let mut names: Vec<String> = response.json(1 << 20)?;
/// names.push("new".to_owned());
/// Request::new("PUT", "https://example.org/list").body(Body::json(&names)?).send()?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Request {
    method: String,
    url: Url,
    fields: Vec<Field>,
    body: Body,
    redirects: Redirects,
    timeout: Duration,
    credentials: Option<Credentials>,
    decompress: bool,
}

impl Request {
    /// Starts a request. Credentials are removed from the URL, and sent when the server asks for them.
    pub fn new(method: impl Into<String>, url: &str) -> Self {
        let mut url = Url::parse(url);
        let found = url
            .credentials()
            .map(|(user, password)| (super::url::unquoted(user), super::url::unquoted(password.unwrap_or_default())));
        url.authority = url.host_and_port().to_owned();
        let request = Self {
            method: method.into(),
            url,
            fields: Vec::new(),
            body: Body::None,
            redirects: Redirects::default(),
            timeout: TIMEOUT,
            credentials: None,
            decompress: true,
        };
        match found {
            Some((user, password)) if !user.is_empty() => request.basic_auth(&user, &password, false),
            _ => request,
        }
    }

    /// Sets a header field. It replaces one with the same name.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.field(name.into(), value.into(), true)
    }

    /// Sets a header field that is not sent after a redirect.
    pub fn unredirected_header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.field(name.into(), value.into(), false)
    }

    fn field(mut self, name: String, value: String, redirected: bool) -> Self {
        self.fields.retain(|field| !field.name.eq_ignore_ascii_case(&name));
        self.fields.push(Field { name, value, redirected });
        self
    }

    /// Returns whether a header field is set.
    #[must_use]
    pub fn has_header(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// Sets the body: bytes, text, JSON ([`Body::json`]) or a file.
    pub fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the redirects to follow. By default, those of `GET` and `HEAD` are followed. Each redirect is a new
    /// request, which must be granted.
    pub fn redirects(mut self, redirects: Redirects) -> Self {
        self.redirects = redirects;
        self
    }

    /// Sets the longest silence of the server: until it accepts the connection, until it responds, and between two
    /// parts of a body. The time limit of the run bounds the whole request.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets user name and password for Basic authentication. They are sent only to this host and port: when it asks for
    /// them, or with the first request if `at_once` is set.
    pub fn basic_auth(mut self, user: &str, password: &str, at_once: bool) -> Self {
        let value = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        self.credentials = Some(Credentials { value, at_once });
        self
    }

    /// Sends the credentials of the URL with the first request.
    pub(super) fn auth_at_once(mut self) -> Self {
        self.credentials.iter_mut().for_each(|credentials| credentials.at_once = true);
        self
    }

    /// Sets whether a body that is compressed with gzip is decompressed. By default, it is.
    pub fn decompress(mut self, decompress: bool) -> Self {
        self.decompress = decompress;
        self
    }

    /// Sends the request, and follows redirects. Any status counts as a response.
    ///
    /// # Errors
    ///
    /// There was no response: see [`ErrorKind`].
    pub fn send(mut self) -> Result<Response, HttpError> {
        let first = self.url.host_and_port().to_ascii_lowercase();
        let (mut trail, mut cookies) = (Trail::default(), Cookies::default());
        let mut authorize = self.credentials.as_ref().is_some_and(|credentials| credentials.at_once);
        let mut asked = authorize;
        loop {
            let at_first = self.url.host_and_port().eq_ignore_ascii_case(&first);
            let mut response = self.exchange(&mut cookies, authorize && at_first)?;
            let is_basic = |challenge: &str| challenge.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("basic"));
            let basic = response.headers.all("www-authenticate").any(is_basic);
            if response.status == 401 && basic && at_first && !asked && self.credentials.is_some() {
                (asked, authorize) = (true, true);
                continue;
            }
            if !(300..400).contains(&response.status) {
                return Ok(response);
            }
            let location = response.headers.get("location");
            match trail.next(self.redirects, &self.method, &self.url, response.status, location) {
                Ok(next) => self.follow(next),
                Err(why) => {
                    response.reason = why.unwrap_or(response.reason);
                    return Ok(response);
                }
            }
        }
    }

    fn follow(&mut self, next: super::redirect::NextRequest) {
        let elsewhere = !next.url.host_and_port().eq_ignore_ascii_case(self.url.host_and_port());
        self.fields.retain(|field| {
            let secret = ["authorization", "cookie"].iter().any(|name| field.name.eq_ignore_ascii_case(name));
            field.redirected && (next.keep_body || outlives_body(&field.name)) && !(secret && elsewhere)
        });
        if !next.keep_body {
            self.body = Body::None;
        }
        (self.method, self.url) = (next.method, next.url);
    }

    /// Sends one request, and reads the head of its response.
    fn exchange(&self, cookies: &mut Cookies, authorize: bool) -> Result<Response, HttpError> {
        self.check_url()?;
        let mut fields: Vec<(String, String)> =
            self.fields.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
        let mut add = |name: &str, value: String| {
            if !fields.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                fields.push((name.to_owned(), value));
            }
        };
        if let Some(credentials) = self.credentials.as_ref().filter(|_| authorize) {
            add("authorization", credentials.value.clone());
        }
        add("accept-encoding", "identity".to_owned());
        if let Some(cookie) = cookies.header(&self.url) {
            add("cookie", cookie);
        }
        if let Some(length) = self.body_length()? {
            add("content-length", length.to_string());
        }
        if let Some(content_type) = self.body.content_type() {
            add("content-type", content_type.to_owned());
        }
        let outgoing = wire::Outgoing {
            method: &self.method,
            url: &self.url,
            fields: &fields,
            body: &self.body,
            timeout: self.timeout,
        };
        let incoming = wire::exchange(&outgoing)?;
        for cookie in incoming.headers.all("set-cookie") {
            cookies.take(&self.url, cookie);
        }
        let (status, headers) = (incoming.status, incoming.headers);
        Ok(Response {
            status,
            reason: super::status::reason(status).to_owned(),
            url: self.url.clone(),
            cookies: cookies.list(),
            body: ResponseBody::new(incoming.body, &headers, self.decompress),
            headers,
        })
    }

    /// Refuses an invalid URL, in the words of `urllib`.
    fn check_url(&self) -> Result<(), HttpError> {
        let url = &self.url;
        let wrong = |kind, why: String| Err(HttpError::new(kind, url.host_and_port(), why));
        let target = url.target();
        match url.scheme.as_str() {
            "" => wrong(
                ErrorKind::Url,
                format!("unknown url type: {}", modbox_python_json::repr(&url.to_string().into())),
            ),
            "http" | "https" if url.host().is_empty() => wrong(ErrorKind::Scheme, "no host given".to_owned()),
            "http" | "https" if !target.is_ascii() => {
                wrong(ErrorKind::Url, format!("'{target}' has characters that are not ASCII"))
            }
            "http" | "https" => match target.chars().find(|letter| *letter <= ' ' || *letter == '\u{7f}') {
                Some(found) => {
                    let text = |text: &str| modbox_python_json::repr(&text.into());
                    let (target, found) = (text(&target), text(&found.to_string()));
                    let why = format!("URL can't contain control characters. {target} (found at least {found})");
                    wrong(ErrorKind::Target, why)
                }
                None => Ok(()),
            },
            scheme => wrong(ErrorKind::Scheme, format!("unknown url type: {scheme}")),
        }
    }

    /// Returns the body's length for the header field. It is 0 for a missing body if the method requires one.
    fn body_length(&self) -> Result<Option<u64>, HttpError> {
        match &self.body {
            Body::None => Ok(matches!(self.method.as_str(), "POST" | "PUT" | "PATCH").then_some(0)),
            Body::Bytes(bytes) => Ok(u64::try_from(bytes.len()).ok()),
            Body::Json(text) => Ok(u64::try_from(text.len()).ok()),
            Body::File(path) => {
                let about = |error: std::io::Error| {
                    format!("failed to read `{}`: {}", path.display(), crate::fs::words(&error))
                };
                let metadata = std::fs::metadata(path)
                    .map_err(|error| HttpError::new(ErrorKind::Body, self.url.host_and_port(), about(error)))?;
                Ok(Some(metadata.len()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> HttpError {
        Request::new("GET", url).send().unwrap_err()
    }

    #[test]
    fn invalid_urls_are_not_requested() {
        for (url, kind, detail) in [
            ("no address", ErrorKind::Url, "unknown url type: 'no address'"),
            ("file:///etc/passwd", ErrorKind::Scheme, "unknown url type: file"),
            ("http:///path", ErrorKind::Scheme, "no host given"),
            ("http://h/a b", ErrorKind::Target, "URL can't contain control characters. '/a b' (found at least ' ')"),
            ("http://h/ü", ErrorKind::Url, "'/ü' has characters that are not ASCII"),
        ] {
            let error = refused(url);
            assert_eq!((error.kind, error.detail.as_str()), (kind, detail), "{url}");
        }
    }

    #[test]
    fn a_build_for_the_host_says_that_it_has_no_http() {
        let error = refused("http://example.org/");
        assert_eq!(error.kind, ErrorKind::Unsupported);
        assert!(error.to_string().contains("modbox run"), "{error}");
    }
}
