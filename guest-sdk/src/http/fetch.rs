//! `fetch_url` for modules of Ansible (ansible-core 2.19, `module_utils/urls.py`): sends a request with the options
//! that such modules share, and returns the entries for their results.

use std::time::Duration;

use modbox_python_json::{Dict, Value};

use super::body::Body;
use super::date;
use super::error::{ErrorKind, HttpError};
use super::redirect::Redirects;
use super::request::Request;
use super::response::Response;
use super::url::mask_url;
use crate::module::Module;
use crate::result::Failure;

/// The longest body of a response with an error status.
pub const MAX_ERROR_BODY: u64 = 4 << 20;

/// Options that a sandboxed module cannot support, with the reason.
const REFUSED: [(&str, &str); 6] = [
    ("client_cert", "the host does TLS, without a client certificate"),
    ("client_key", "the host does TLS, without a client certificate"),
    ("ca_path", "the host chooses the certificate authorities"),
    ("ciphers", "the host does TLS, and chooses the ciphers"),
    ("unix_socket", "a sandbox does not reach Unix sockets"),
    ("use_gssapi", "a sandbox has no Kerberos"),
];

/// A request to send.
#[derive(Debug, Clone)]
pub struct FetchOptions<'a> {
    /// The absolute URL, as the caller wrote it.
    pub url: &'a str,
    /// The method, such as `GET`; it is sent as it is written here.
    pub method: &'a str,
    /// The header fields, in the order in which they are set.
    pub headers: &'a Dict,
    /// Header fields that are not sent after a redirect.
    pub unredirected: &'a [String],
    /// What is sent after the header; empty for most methods.
    pub body: Body,
    /// The redirects to follow.
    pub redirects: Redirects,
    /// The longest silence of the server, in seconds.
    pub timeout: i64,
    /// Whether to ask for a response that is not cached.
    pub force: bool,
    /// The time of the caller's copy, in seconds since 1970: the server sends only a newer one.
    pub newer_than: Option<u64>,
    /// Whether to decompress a compressed response.
    pub decompress: bool,
}

/// The result of a request.
#[derive(Debug)]
pub struct Fetched {
    /// The entries for a result: `status`, which is -1 if there was no response, `url`, `msg`, `cookies`,
    /// `cookies_string`, and the response's header fields with names in lower case.
    pub info: Dict,
    /// The response, if its status is between 200 and 299.
    pub response: Option<Response>,
    /// A response with another status, and its body. The body is empty if it is incomplete or longer than
    /// [`MAX_ERROR_BODY`].
    pub refusal: Option<(Response, Vec<u8>)>,
}

/// Sends a request with the options that modules with URLs share: `url_username`, `url_password`, `force_basic_auth`,
/// `http_agent`, `validate_certs`, `use_proxy`, and those that are refused.
///
/// # Errors
///
/// An option is not supported, or the URL or a header field is invalid. Other failures are in `info`, as in Ansible's
/// modules.
pub fn fetch_url(module: &mut Module, wanted: FetchOptions<'_>) -> Result<Fetched, Failure> {
    let masked = mask_url(wanted.url);
    refuse_options(module)?;
    let mut info =
        Dict::from_iter([("url".to_owned(), Value::from(masked.as_str())), ("status".to_owned(), Value::from(-1))]);
    let request = request(module, wanted);
    match request.send() {
        Ok(response) if (200..300).contains(&response.status) => {
            tell_answer(&mut info, &response);
            Ok(Fetched { info, response: Some(response), refusal: None })
        }
        Ok(mut response) => {
            info.extend(response.headers.iter().map(|(name, value)| (name.to_owned(), Value::from(value))));
            // A header field must not replace the URL.
            info.insert("url".to_owned(), masked.into());
            let (status, reason) = (response.status, &response.reason);
            info.insert("msg".to_owned(), format!("HTTP Error {status}: {reason}").into());
            info.insert("status".to_owned(), i32::from(status).into());
            // The failed status is reported even if its body cannot be read.
            let body = response.bytes(MAX_ERROR_BODY).unwrap_or_default();
            Ok(Fetched { info, response: None, refusal: Some((response, body)) })
        }
        Err(error) => {
            tell_error(&mut info, &error)?;
            Ok(Fetched { info, response: None, refusal: None })
        }
    }
}

fn refuse_options(module: &mut Module) -> Result<(), Failure> {
    let given = |name: &str| module.parameters.get(name).is_some_and(Value::is_truthy);
    for (name, why) in REFUSED {
        if given(name) {
            return Err(Failure::new(format!("the option `{name}` is not supported: {why}")));
        }
    }
    if module.parameters.get("validate_certs") == Some(&Value::Bool(false)) {
        let why = "validate_certs=no is not supported: the host verifies the certificate of every server";
        return Err(Failure::new(why));
    }
    let proxy = ["http_proxy", "https_proxy"].into_iter().find(|name| std::env::var_os(name).is_some());
    if let Some(name) = proxy.filter(|_| given("use_proxy")) {
        module.warn(format!("the variable `{name}` is ignored: requests of a module use no proxy"));
    }
    Ok(())
}

fn request(module: &Module, wanted: FetchOptions<'_>) -> Request {
    let text = |name: &str| module.parameters.get(name).and_then(Value::as_str).unwrap_or_default();
    let truth = |name: &str| module.parameters.get(name) == Some(&Value::Bool(true));
    let seconds = u64::try_from(wanted.timeout).unwrap_or(0);
    let mut request = Request::new(wanted.method, wanted.url.trim())
        .redirects(wanted.redirects)
        .timeout(Duration::from_secs(seconds))
        .decompress(wanted.decompress)
        .body(wanted.body);
    if !text("http_agent").is_empty() {
        request = request.header("User-Agent", text("http_agent"));
    }
    if wanted.force {
        request = request.header("cache-control", "no-cache");
    } else if let Some(moment) = wanted.newer_than {
        request = request.header("If-Modified-Since", date::write(moment));
    }
    for (name, value) in wanted.headers {
        let value = modbox_python_json::str(value);
        let stays = wanted.unredirected.iter().any(|other| other.eq_ignore_ascii_case(name));
        request = if stays { request.unredirected_header(name, value) } else { request.header(name, value) };
    }
    if text("url_username").is_empty() {
        return if truth("force_basic_auth") { request.auth_at_once() } else { request };
    }
    request.basic_auth(text("url_username"), text("url_password"), truth("force_basic_auth"))
}

/// Adds the entries for a response. Header fields with the same name are joined.
fn tell_answer(info: &mut Dict, response: &Response) {
    let mut fields = Dict::new();
    for (name, value) in response.headers.iter() {
        let joined = match fields.get(name).and_then(Value::as_str) {
            Some(before) => format!("{before}, {value}"),
            None => value.to_owned(),
        };
        fields.insert(name.to_owned(), joined.into());
    }
    info.extend(fields);
    let pair = |(name, value): &(String, Option<String>)| format!("{name}={}", value.as_deref().unwrap_or("None"));
    let cookies = response.cookies.iter().map(|(name, value)| (name.clone(), Value::from(value.clone())));
    info.insert("cookies_string".to_owned(), response.cookies.iter().map(pair).collect::<Vec<_>>().join("; ").into());
    info.insert("cookies".to_owned(), Value::Dict(cookies.collect()));
    let length = response.headers.get("content-length").unwrap_or("unknown");
    info.insert("msg".to_owned(), format!("OK ({length} bytes)").into());
    info.insert("url".to_owned(), response.url.masked().into());
    info.insert("status".to_owned(), i32::from(response.status).into());
}

/// Adds the entries for a failed request, in Python's words if it has some.
fn tell_error(info: &mut Dict, error: &HttpError) -> Result<(), Failure> {
    let urlopen = |why: &str| format!("Request failed: <urlopen error {why}>");
    let message = match error.kind {
        ErrorKind::Header | ErrorKind::Unsupported | ErrorKind::Body => return Err(failed(info, error.to_string())),
        ErrorKind::Url => return Err(failed(info, error.detail.clone())),
        ErrorKind::Scheme => urlopen(&error.detail),
        ErrorKind::Refused => urlopen("[Errno 111] Connection refused"),
        ErrorKind::ConnectTimeout => urlopen("timed out"),
        ErrorKind::Lookup => urlopen("[Errno -2] Name or service not known"),
        ErrorKind::Tls | ErrorKind::Denied | ErrorKind::DeniedAddress => urlopen(&error.to_string()),
        ErrorKind::Closed => "Connection failure: Remote end closed connection without response".to_owned(),
        ErrorKind::Timeout => "Connection failure: timed out".to_owned(),
        ErrorKind::Target | ErrorKind::TooLong | ErrorKind::Incomplete | ErrorKind::Protocol => {
            format!("An unknown error occurred: {error}")
        }
    };
    info.insert("msg".to_owned(), message.into());
    Ok(())
}

fn failed(info: &Dict, message: String) -> Failure {
    info.iter().fold(Failure::new(message), |failure, (key, value)| failure.with(key.clone(), value.clone()))
}
