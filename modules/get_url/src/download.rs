//! Gets what an address has into a temporary file, which is gone when this is over.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use modbox_sdk::http::{Body, ErrorKind, Fetched, Redirects, Response, Url, Wanted, fetch_url, mask_url};
use modbox_sdk::{Dict, Exit, Failure, Module, Value};

use crate::args::GetUrlArgs;
use crate::result::exit;

/// What is asked for.
pub(crate) struct Source<'a> {
    pub(crate) url: &'a str,
    /// When what is there was written, in seconds since 1970.
    pub(crate) newer_than: Option<u64>,
    /// Whether it is asked for however old it is.
    pub(crate) force: bool,
    /// Whether only its head is asked for.
    pub(crate) head_only: bool,
}

/// What came.
pub(crate) struct Got {
    /// The temporary file.
    pub(crate) file: Temporary,
    /// The status of the answer.
    pub(crate) status: i64,
    /// What became of the request.
    pub(crate) msg: Value,
    /// The name that the server gives, or that its address has.
    pub(crate) name: String,
    pub(crate) elapsed: u64,
    /// Whether the server says that what is there is as new as what it has.
    pub(crate) is_known: bool,
}

/// A file that is gone with this value.
pub(crate) struct Temporary(PathBuf);

impl std::ops::Deref for Temporary {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It is not there when it was moved to its place.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the name that a file has by its address.
pub(crate) fn name_in(url: &Url) -> String {
    match url.file_name() {
        "" | "." | ".." => "index.html".to_owned(),
        name => name.to_owned(),
    }
}

/// Asks for a file and writes it into a temporary one.
pub(crate) fn get(args: &GetUrlArgs, module: &mut Module, source: &Source<'_>) -> Result<Got, Failure> {
    let started = Instant::now();
    let headers = args.headers.clone().unwrap_or_default();
    let fetched = fetch_url(
        module,
        Wanted {
            url: source.url,
            method: if source.head_only { "HEAD" } else { "GET" },
            headers: &headers,
            unredirected: &args.unredirected_headers,
            body: Body::None,
            redirects: Redirects::Urllib,
            timeout: args.timeout,
            force: source.force,
            newer_than: source.newer_than,
            decompress: args.decompress,
        },
    )?;
    let elapsed = started.elapsed().as_secs();
    let url = mask_url(source.url);
    let Fetched { mut info, response, .. } = fetched;
    let status = info.get("status").and_then(Value::as_int).unwrap_or(-1);
    let msg = info.shift_remove("msg").unwrap_or_default();
    let failed = |why: &str| {
        let failure = Failure::new(why).with("url", url.as_str()).with("dest", args.dest.as_str());
        failure.with("elapsed", elapsed)
    };
    let folder = args.tmp_dest.as_ref().map_or_else(|| module.tmpdir(), PathBuf::from);
    match (status, response) {
        (304, _) => {
            let file = Temporary(PathBuf::new());
            Ok(Got { file, status, msg, name: String::new(), elapsed, is_known: true })
        }
        (-1, _) => Err(failed(msg.as_str().unwrap_or_default())),
        (200, Some(mut response)) => {
            let file = save(&mut response, &folder, args, source.head_only, elapsed)?;
            let name = response.headers.file_name().unwrap_or_else(|| name_in(&response.url));
            Ok(Got { file, status, msg, name, elapsed, is_known: false })
        }
        _ => Err(failed("Request failed").with("status_code", status).with("response", msg)),
    }
}

fn save(
    response: &mut Response,
    folder: &Path,
    args: &GetUrlArgs,
    head_only: bool,
    elapsed: u64,
) -> Result<Temporary, Failure> {
    let failed = |why: String| Failure::new(why).with("elapsed", elapsed);
    if let Some(folder) = &args.tmp_dest {
        let path = Path::new(folder);
        if !path.is_dir() {
            let why = if path.exists() { "is a file but should be a directory." } else { "directory does not exist." };
            return Err(failed(format!("{folder} {why}")));
        }
    }
    let no_temporary =
        |error: &dyn std::fmt::Display| failed(format!("failed to create temporary content file: {error}"));
    let (path, mut file) = modbox_sdk::fs::temporary(folder).map_err(|error| no_temporary(&error))?;
    let temporary = Temporary(path);
    if head_only {
        return Ok(temporary);
    }
    let copied = response.copy_to(&mut file).map_err(|error| match (error.kind, response.headers.content_length()) {
        (ErrorKind::Incomplete, Some(length)) => {
            let (size, left) = (response.received(), length.saturating_sub(response.received()));
            let shown = format!("rsp.length={left}, cl={length}, st.st_size={size}");
            Failure::new(format!("Incomplete read, ({shown}) failed to read remaining {left} bytes"))
        }
        _ => no_temporary(&error),
    });
    copied.map(|_| temporary)
}

/// The result when the server has nothing newer.
pub(crate) fn known(args: &GetUrlArgs, got: &Got) -> Exit {
    let entries = Dict::from_iter([
        ("changed".to_owned(), Value::from(false)),
        ("url".to_owned(), mask_url(&args.url).into()),
        ("dest".to_owned(), args.dest.as_str().into()),
        ("status_code".to_owned(), got.status.into()),
        ("elapsed".to_owned(), got.elapsed.into()),
        ("msg".to_owned(), got.msg.clone()),
    ]);
    exit(entries)
}
