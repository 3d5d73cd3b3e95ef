//! Downloads into a temporary file, which is removed at the end of the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use modbox_sdk::http::{Body, ErrorKind, FetchOptions, Fetched, Redirects, Response, Url, fetch_url, mask_url};
use modbox_sdk::{Dict, Exit, Failure, Module, Value};

use crate::args::GetUrlArgs;
use crate::result::exit;

/// A download to make.
pub(crate) struct Source<'a> {
    pub(crate) url: &'a str,
    /// The time of the existing file, in seconds since 1970.
    pub(crate) newer_than: Option<u64>,
    /// Whether to download a file of any age.
    pub(crate) force: bool,
    /// Whether to request only the head.
    pub(crate) head_only: bool,
}

/// The result of a download.
pub(crate) struct Download {
    /// The temporary file.
    pub(crate) file: Temporary,
    /// The status of the response.
    pub(crate) status: i64,
    /// The message about the response.
    pub(crate) msg: Value,
    /// The file's name, from the server or from the URL.
    pub(crate) name: String,
    pub(crate) elapsed: u64,
    /// Whether the server says that the existing file is current.
    pub(crate) is_known: bool,
}

/// A file that is removed with this value.
pub(crate) struct Temporary(PathBuf);

impl std::ops::Deref for Temporary {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The file does not exist if it was moved to its place.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the file name in a URL.
pub(crate) fn name_in(url: &Url) -> String {
    match url.file_name() {
        "" | "." | ".." => "index.html".to_owned(),
        name => name.to_owned(),
    }
}

/// Downloads into a temporary file.
pub(crate) fn get(args: &GetUrlArgs, module: &mut Module, source: &Source<'_>) -> Result<Download, Failure> {
    let started = Instant::now();
    let headers = args.headers.clone().unwrap_or_default();
    let fetched = fetch_url(
        module,
        FetchOptions {
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
            Ok(Download { file, status, msg, name: String::new(), elapsed, is_known: true })
        }
        (-1, _) => Err(failed(msg.as_str().unwrap_or_default())),
        (200, Some(mut response)) => {
            let file = save(&mut response, &folder, args, source.head_only, elapsed)?;
            let name = response.headers.file_name().unwrap_or_else(|| name_in(&response.url));
            Ok(Download { file, status, msg, name, elapsed, is_known: false })
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
    let (path, mut file) =
        modbox_sdk::fs::temporary(folder).map_err(|error| no_temporary(&modbox_sdk::fs::words(&error)))?;
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

/// Returns the result if the server has nothing newer.
pub(crate) fn known(args: &GetUrlArgs, got: &Download) -> Exit {
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
