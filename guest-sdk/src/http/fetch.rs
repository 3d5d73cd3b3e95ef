//! What modules of Ansible have as `fetch_url` (ansible-core 2.19, `module_utils/urls.py`): a request by the options that such modules
//! share, and what their results say of the answer.

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

/// How long the body of an answer may be that says what went wrong.
pub const MAX_ERROR_BODY: u64 = 4 << 20;

/// Options that no module in a sandbox can keep, and why.
const REFUSED: [(&str, &str); 6] = [
    ("client_cert", "no module has a certificate of its own: the host does TLS"),
    ("client_key", "no module has a certificate of its own: the host does TLS"),
    ("ca_path", "the host trusts the certificate authorities that it trusts"),
    ("ciphers", "the host does TLS by its own rules"),
    ("unix_socket", "no module reaches sockets of this machine that have a path"),
    ("use_gssapi", "there is no Kerberos in a sandbox"),
];

/// What a module asks for.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// Where.
    pub url: &'a str,
    /// How.
    pub method: &'a str,
    /// The fields, in the order in which they are set.
    pub headers: &'a Dict,
    /// Fields that do not go with redirects.
    pub unredirected: &'a [String],
    /// What is sent along.
    pub body: Body,
    /// Which redirects are followed.
    pub redirects: Redirects,
    /// How long the server may be silent, in seconds.
    pub timeout: i64,
    /// Whether the server is asked for what no cache has.
    pub force: bool,
    /// When the caller's copy was made, in seconds since 1970: the server is to send what is newer.
    pub newer_than: Option<u64>,
    /// Whether a packed answer is unpacked.
    pub decompress: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Fetched {
    /// What a result says: `status`, which is -1 when there was no answer, `url`, `msg`, `cookies`, `cookies_string`, and the fields of the
    /// answer's head by their names in lower case.
    pub info: Dict,
    /// The answer, when its status is one from 200 to 299.
    pub response: Option<Response>,
    /// An answer with another status, and its body; an empty one when it has more than [`MAX_ERROR_BODY`] bytes or breaks off.
    pub refusal: Option<(Response, Vec<u8>)>,
}

/// Sends a request by the options that modules with addresses share: `url_username`, `url_password`, `force_basic_auth`, `http_agent`,
/// `validate_certs`, `use_proxy`, and those that are refused.
///
/// # Errors
///
/// Options that cannot be kept, addresses and fields that are none. Other failures are in
/// `info`, as Ansible's modules have it.
pub fn fetch_url(module: &mut Module, wanted: Wanted<'_>) -> Result<Fetched, Failure> {
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
            // No field of an answer says where it came from.
            info.insert("url".to_owned(), masked.into());
            let (status, reason) = (response.status, &response.reason);
            info.insert("msg".to_owned(), format!("HTTP Error {status}: {reason}").into());
            info.insert("status".to_owned(), i32::from(status).into());
            // That it went wrong counts for more than what is said about it.
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
        let why = "validate_certs=no is not supported: the host has every server prove its name, and no module turns that off";
        return Err(Failure::new(why));
    }
    let proxy = ["http_proxy", "https_proxy"].into_iter().find(|name| std::env::var_os(name).is_some());
    if let Some(name) = proxy.filter(|_| given("use_proxy")) {
        module.warn(format!("the variable `{name}` is not used: requests of a module go to their host, by no proxy"));
    }
    Ok(())
}

fn request(module: &Module, wanted: Wanted<'_>) -> Request {
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

/// What a result says of an answer. Fields of one name are joined.
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

/// What a result says of no answer, in Python's words where it has some.
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
