//! The options of `get_url`.

use modbox_sdk::{Args, Dict};

/// Gets a file from a web server.
///
/// What comes is checked before it takes the place of what is there.
#[derive(Args)]
#[expect(dead_code, reason = "`fetch_url` looks at the options that it knows by itself")]
pub(crate) struct GetUrlArgs {
    /// The address, by http or https.
    pub(crate) url: String,
    /// The file to write, or the folder to write into, by the name that the server gives or that the address has.
    #[arg(type = "path", access = "write")]
    pub(crate) dest: String,
    /// What the file's checksum must be: its algorithm, a colon, and its digits or the address of a file that has them.
    #[arg(default = "")]
    pub(crate) checksum: String,
    /// Get it also when the file is there; without it, only what is newer.
    #[arg(default = false)]
    pub(crate) force: bool,
    /// Keep the old file under another name beside it; needs write access to its folder.
    #[arg(default = false)]
    pub(crate) backup: bool,
    /// The folder for the temporary file.
    #[arg(type = "path", access = "write")]
    pub(crate) tmp_dest: Option<String>,
    /// How many seconds the server may be silent.
    #[arg(default = 10)]
    pub(crate) timeout: i64,
    /// The fields that are sent.
    pub(crate) headers: Option<Dict>,
    /// Fields that do not go with redirects.
    #[arg(default = [])]
    pub(crate) unredirected_headers: Vec<String>,
    /// The user's name, for Basic authentication.
    #[arg(alias = "username")]
    pub(crate) url_username: Option<String>,
    /// The password.
    #[arg(alias = "password", no_log)]
    pub(crate) url_password: Option<String>,
    /// Send name and password without being asked for them.
    #[arg(default = false)]
    pub(crate) force_basic_auth: bool,
    /// What the module calls itself.
    #[arg(default = "ansible-httpget")]
    pub(crate) http_agent: String,
    /// Unpack an answer that comes packed by gzip.
    #[arg(default = true)]
    pub(crate) decompress: bool,
    /// Have the server prove its name; no is not supported.
    #[arg(default = true)]
    pub(crate) validate_certs: bool,
    /// Taken, and does nothing: no proxy is used.
    #[arg(default = true)]
    pub(crate) use_proxy: bool,
    /// Taken, and does nothing: a sandbox has no such file.
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
