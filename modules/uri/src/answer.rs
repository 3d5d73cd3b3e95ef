//! Makes the result from a response.

use std::path::{Path, PathBuf};

use modbox_sdk::http::{ErrorKind, Fetched, Headers, Response, Url, mask_url, unquoted};
use modbox_sdk::json::decode;
use modbox_sdk::{Dict, Exit, Failure, Module, Value};

use crate::args::UriArgs;
use crate::save::{self, Content};

/// The longest body in a result or to be read as JSON. A runner limits results too.
const MAX_CONTENT: u64 = 32 << 20;

/// The keys of a result that have a meaning for callers. Header fields of a server must not set them.
const OURS: [&str; 20] = [
    "ansible_facts",
    "changed",
    "content",
    "deprecations",
    "dest",
    "diff",
    "exception",
    "failed",
    "invocation",
    "json",
    "msg",
    "path",
    "rc",
    "skipped",
    "src",
    "state",
    "stderr",
    "stdout",
    "warnings",
    "results",
];

/// The content type of a body.
struct Kind {
    json: bool,
    charset: String,
}

pub(crate) fn tell(args: &UriArgs, module: &mut Module, fetched: Fetched, elapsed: u64) -> Result<Exit, Failure> {
    let Fetched { mut info, mut response, refusal } = fetched;
    let status = info.get("status").and_then(Value::as_int).unwrap_or(-1);
    let (refused, refusal) = refusal.unzip();
    let from = response.as_ref().or(refused.as_ref());
    let dest = args.dest.as_deref().map(Path::new).zip(from).map(|(dest, from)| destination(dest, from));
    let kind = from.map_or_else(Kind::unknown, |from| Kind::of(&from.headers));
    let expected = args.status_code.contains(&status);
    let masked = mask_url(&args.url);
    // The original has read the body of an error status before, as `body` of its result, and finds nothing more to write.
    let is_read = expected && !kind.json && !args.return_content;
    let (refusal, read) = if is_read { (None, refusal) } else { (refusal, None) };
    let content = if !is_read {
        match (&mut response, refusal) {
            (Some(response), _) => Some(body(response, &masked)?),
            (None, refusal) => Some(refusal.unwrap_or_default()),
        }
    } else {
        None
    };
    let mut entries = Dict::new();
    let redirected = info.get("url").and_then(Value::as_str) != Some(&masked);
    let outcome = info.shift_remove("msg").unwrap_or_default();
    entries.insert("redirected".to_owned(), redirected.into());
    entries
        .extend(info.into_iter().map(|(name, value)| (name.replace('-', "_"), value)).filter(|(key, _)| is_free(key)));
    entries.insert("redirected".to_owned(), redirected.into());
    entries.extend(read.map(|bytes| ("body".to_owned(), Value::from_os_bytes(&bytes))));
    entries.insert("msg".to_owned(), outcome.clone());
    entries.insert("elapsed".to_owned(), elapsed.into());
    let mut changed = false;
    if let Some(dest) = dest {
        if expected && status != 304 {
            let content = match (&content, &mut response) {
                (Some(bytes), _) => Content::Bytes(bytes),
                (None, Some(response)) => Content::Coming(response),
                (None, None) => Content::Bytes(&[]),
            };
            save::write(module, &dest, content, outcome.as_str().unwrap_or_default())?;
            let wanted = module.load_file_common_arguments(Some(&dest))?.unwrap_or_default();
            changed = module.set_fs_attributes_if_different(&wanted, true, None)?;
        }
        entries.insert("path".to_owned(), Value::from_os_bytes(dest.as_os_str().as_encoded_bytes()));
    }
    if let Some(location) = entries.get("location").and_then(Value::as_str)
        && Url::parse(location).scheme.is_empty()
    {
        let joined = Url::parse(&masked).join(location).to_string();
        entries.insert("location".to_owned(), joined.into());
    }
    let text = content.map(|bytes| kind.text(bytes));
    if kind.json
        && let Some(data) = text.as_ref().and_then(Value::as_str).and_then(|text| decode(text).ok())
    {
        entries.insert("json".to_owned(), data);
    }
    if args.return_content {
        entries.insert("content".to_owned(), text.unwrap_or_default());
    }
    entries.insert("changed".to_owned(), changed.into());
    if expected {
        return Ok(entries.into_iter().fold(Exit::default(), |exit, (key, value)| exit.with(key, value)));
    }
    let expected: Vec<String> = args.status_code.iter().map(i64::to_string).collect();
    let outcome = outcome.as_str().unwrap_or_default();
    let why = format!("Status code was {status} and not [{}]: {outcome}", expected.join(", "));
    entries.shift_remove("msg");
    Err(entries.into_iter().fold(Failure::new(why), |failure, (key, value)| failure.with(key, value)))
}

fn is_free(key: &str) -> bool {
    !OURS.contains(&key) && !key.starts_with("ansible_") && !key.starts_with('_')
}

fn body(response: &mut Response, url: &str) -> Result<Vec<u8>, Failure> {
    response.bytes(MAX_CONTENT).map_err(|error| match (error.kind, response.headers.content_length()) {
        (ErrorKind::Incomplete, Some(length)) => {
            let (read, left) = (response.received(), length.saturating_sub(response.received()));
            let why = format!("IncompleteRead({read} bytes read, {left} more expected)");
            Failure::new(format!("HTTP Error while fetching {url}: {why}"))
        }
        (ErrorKind::TooLong, _) => Failure::new(format!("{error}; set dest to write it to a file")),
        _ => Failure::new(format!("HTTP Error while fetching {url}: {error}")),
    })
}

/// Returns the file to write: `dest`, or if that is a folder, a file in it, with the name from the server or the URL.
fn destination(dest: &Path, from: &Response) -> PathBuf {
    if !dest.is_dir() {
        return dest.to_owned();
    }
    let in_url = unquoted(Url { path: from.url.path.trim_end_matches('/').to_owned(), ..Url::default() }.file_name());
    // A quoted slash separates names too, and a server must not choose a path outside the folder.
    let in_url = in_url.rsplit('/').next().unwrap_or_default().to_owned();
    let name = from.headers.file_name().unwrap_or(in_url);
    dest.join(if matches!(name.as_str(), "" | "." | "..") || name.contains('\0') { "index.html" } else { &name })
}

impl Kind {
    fn unknown() -> Self {
        Self { json: false, charset: "utf-8".to_owned() }
    }

    fn of(headers: &Headers) -> Self {
        let kind = headers.content_type();
        let sub = kind.split('/').nth(1).unwrap_or_default().split(',').next().unwrap_or_default();
        let sub = sub.split_once('+').map_or(sub, |(_, suffix)| suffix);
        let charset = headers.parameter("content-type", "charset").unwrap_or_else(|| "utf-8".to_owned());
        let charset = charset.split(',').next().unwrap_or_default().to_ascii_lowercase();
        Self { json: matches!(sub, "json" | "javascript"), charset }
    }

    /// Returns a body as text. Bytes outside its charset become U+FFFD, since ansible-core refuses other results.
    fn text(&self, bytes: Vec<u8>) -> Value {
        match self.charset.as_str() {
            "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" => {
                Value::from(bytes.into_iter().map(char::from).collect::<String>())
            }
            _ => String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
                .into(),
        }
    }
}
