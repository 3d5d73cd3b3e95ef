//! Guesses a file's MIME type by its extension. The table has the common types of Python's `mimetypes`.

/// The type of an unknown extension.
const UNKNOWN: &str = "application/octet-stream";

/// Extensions and their types.
const KNOWN: [(&str, &str); 46] = [
    ("avi", "video/x-msvideo"),
    ("bin", UNKNOWN),
    ("bmp", "image/bmp"),
    ("bz2", UNKNOWN),
    ("c", "text/x-c"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("eml", "message/rfc822"),
    ("gif", "image/gif"),
    ("gz", UNKNOWN),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("jpe", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("m3u", "audio/x-mpegurl"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("p12", "application/x-pkcs12"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("ps", "application/postscript"),
    ("rtf", "application/rtf"),
    ("sh", "application/x-sh"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tgz", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("wav", "audio/x-wav"),
    ("webm", "video/webm"),
    ("xls", "application/vnd.ms-excel"),
    ("xml", "text/xml"),
    ("xz", UNKNOWN),
    ("zip", "application/zip"),
];

/// Returns the most likely type of a file with this name.
pub(crate) fn guess(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    KNOWN.iter().find(|(known, _)| *known == end).map_or(UNKNOWN, |(_, kind)| kind)
}
