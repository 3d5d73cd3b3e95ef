//! `uri`: sends a request to a web service.
//!
//! Parameters: `url`, `method`, `body` or `src`, `body_format`, `headers`, `status_code`, `return_content`, `dest`, and
//! the other fields of the struct below.
//! Returns: `status`, `msg`, `url`, `redirected`, `elapsed`, `content`, `json`, `cookies`, `cookies_string`, `path`,
//! and the response's header fields, in lower case and with `_` for `-`.
//! Capabilities: requests to the host of `url` and to hosts that it redirects to; write access to `dest`, read access
//! to `src`.

#![forbid(unsafe_code)]

mod answer;
mod args;
mod body;
mod mime;
mod multipart;
mod save;

use std::path::Path;
use std::time::{Instant, UNIX_EPOCH};

use modbox_sdk::http::{Body, FetchOptions, Redirects, fetch_url};
use modbox_sdk::{Deprecation, Exit, Failure, Module};

use crate::args::{Follow, UriArgs};

modbox_sdk::module! {
    args = UriArgs,
    run = run,
    check_mode = false,
    file_args = true,
    returns = [
        status: int = "The status of the response; -1 if there was none.",
        msg: str = "The message about the response.",
        url: str = "The URL of the response.",
        redirected: bool = "Whether the request was redirected.",
        elapsed: int = "The duration in seconds.",
        content: str if "return_content" = "The body of the response.",
        body: str if "an error status is accepted without return_content" = "The body of the response. A file at dest is empty.",
        json: raw if "the response is JSON" = "The decoded body.",
        cookies: dict if "success" = "The cookies that were set.",
        cookies_string: str if "success" = "The cookies in the form of a request's header field.",
        path: str if "dest" = "The file that was written.",
    ],
    examples = [
        "modbox run --allow-net api.example.org:443 uri url=https://api.example.org/v1 return_content=yes",
        "modbox run --allow-net api.example.org:443 -a '{\"url\": \"https://api.example.org/v1\", \"method\": \"POST\", \"body_format\": \"json\", \"body\": {\"a\": 1}}' uri",
    ],
}

fn run(args: UriArgs, module: &mut Module) -> Result<Exit, Failure> {
    let method = args.method.to_uppercase();
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(Failure::new("Parameter 'method' needs to be a single word in uppercase, like GET or POST."));
    }
    let mut headers = args.headers.clone().unwrap_or_default();
    let mut made = body::make(args.body.as_ref(), args.body_format, &mut headers);
    // Of any other body that cannot be sent, the original learns when it sends it.
    if body::is_converted(args.body.as_ref(), args.body_format) {
        made = Ok(made?);
    }
    if let Some(why) = not_needed(&args) {
        return Ok(Exit::unchanged().with("stdout", why));
    }
    let body = match &args.src {
        Some(src) if Path::new(src).is_file() => Body::File(src.into()),
        Some(src) => return Err(Failure::new(format!("Unable to open source file {src}")).with("elapsed", 0)),
        None => made?,
    };
    let redirects = redirects(args.follow_redirects, module);
    let started = Instant::now();
    let wanted = FetchOptions {
        url: &args.url,
        method: &method,
        headers: &headers,
        unredirected: &args.unredirected_headers,
        body,
        redirects,
        timeout: args.timeout,
        force: args.force,
        newer_than: args.dest.as_deref().and_then(made_at),
        decompress: args.decompress,
    };
    let fetched = fetch_url(module, wanted)?;
    let elapsed = started.elapsed().as_secs();
    answer::tell(&args, module, fetched, elapsed)
}

/// Returns why nothing needs to be done, if so.
fn not_needed(args: &UriArgs) -> Option<String> {
    let exists = |path: &Option<String>| path.as_deref().map(|path| (path.to_owned(), Path::new(path).exists()));
    match (exists(&args.creates), exists(&args.removes)) {
        (Some((path, true)), _) => Some(format!("skipped, since '{path}' exists")),
        (_, Some((path, false))) => Some(format!("skipped, since '{path}' does not exist")),
        _ => None,
    }
}

fn redirects(follow: Follow, module: &mut Module) -> Redirects {
    if matches!(follow, Follow::Yes | Follow::No) {
        module.deprecate(Deprecation {
            message: "Using 'yes' or 'no' for 'follow_redirects' parameter is deprecated.".to_owned(),
            version: Some("2.22".to_owned()),
            ..Deprecation::default()
        });
    }
    match follow {
        Follow::All | Follow::Yes => Redirects::All,
        Follow::None | Follow::No => Redirects::None,
        Follow::Safe => Redirects::Safe,
        Follow::Urllib2 => Redirects::Urllib,
    }
}

/// Returns when a file was last written, in seconds since 1970.
fn made_at(path: &str) -> Option<u64> {
    let metadata = Path::new(path).metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}
