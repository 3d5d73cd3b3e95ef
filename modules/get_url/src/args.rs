//! The options of `get_url`.

use modbox_sdk::{Args, Dict};

/// Downloads a file from a web server.
///
/// The download is checked before it replaces the existing file.
#[derive(Args)]
#[expect(dead_code, reason = "`fetch_url` looks at the options that it knows by itself")]
pub(crate) struct GetUrlArgs {
    /// The URL, with http or https.
    pub(crate) url: String,
    /// The file to write, or a folder. In a folder, the server or the URL determines the name.
    #[arg(type = "path", access = "write")]
    pub(crate) dest: String,
    /// The required checksum: an algorithm, a colon, and the digits or the URL of a file with checksums.
    #[arg(default = "")]
    pub(crate) checksum: String,
    /// Download even if the file exists. By default, only a newer file is downloaded.
    #[arg(default = false)]
    pub(crate) force: bool,
    /// Copy the old file to a backup next to it. This needs write access to its folder.
    #[arg(default = false)]
    pub(crate) backup: bool,
    /// The folder for the temporary file.
    #[arg(type = "path", access = "write")]
    pub(crate) tmp_dest: Option<String>,
    /// The longest silence of the server, in seconds.
    #[arg(default = 10)]
    pub(crate) timeout: i64,
    /// The header fields to send.
    pub(crate) headers: Option<Dict>,
    /// Header fields that are not sent after a redirect.
    #[arg(default = [])]
    pub(crate) unredirected_headers: Vec<String>,
    /// The user name for Basic authentication.
    #[arg(alias = "username")]
    pub(crate) url_username: Option<String>,
    /// The password.
    #[arg(alias = "password", no_log)]
    pub(crate) url_password: Option<String>,
    /// Send user name and password with the first request.
    #[arg(default = false)]
    pub(crate) force_basic_auth: bool,
    /// The value of the header field User-Agent.
    #[arg(default = "ansible-httpget")]
    pub(crate) http_agent: String,
    /// Decompress a response that is compressed with gzip.
    #[arg(default = true)]
    pub(crate) decompress: bool,
    /// Verify the server's certificate. The value no is not supported.
    #[arg(default = true)]
    pub(crate) validate_certs: bool,
    /// Accepted and ignored: no proxy is used.
    #[arg(default = true)]
    pub(crate) use_proxy: bool,
    /// Accepted and ignored: a sandbox has no such file.
    #[arg(default = true)]
    pub(crate) use_netrc: bool,
    /// Not supported.
    #[arg(type = "path")]
    pub(crate) client_cert: Option<String>,
    /// Not supported.
    #[arg(type = "path")]
    pub(crate) client_key: Option<String>,
    /// Not supported.
    pub(crate) ciphers: Option<Vec<String>>,
    /// Not supported.
    #[arg(default = false)]
    pub(crate) use_gssapi: bool,
}
