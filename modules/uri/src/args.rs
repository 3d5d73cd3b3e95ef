//! The options of `uri`.

use modbox_sdk::{Args, Choice, Dict, Value};

/// Sends a request to a web service, and returns the response.
#[derive(Args)]
#[expect(dead_code, reason = "`fetch_url` looks at the options that it knows by itself")]
#[args(mutually_exclusive("body", "src"))]
pub(crate) struct UriArgs {
    /// The URL, with http or https.
    pub(crate) url: String,
    /// The method, such as GET or POST.
    #[arg(default = "GET")]
    pub(crate) method: String,
    /// The body to send: text, or data with body_format.
    pub(crate) body: Option<Value>,
    /// The format of the body.
    #[arg(default = "raw")]
    pub(crate) body_format: BodyFormat,
    /// A file of the host to send as the body. Excludes body.
    #[arg(type = "path", access = "read")]
    pub(crate) src: Option<String>,
    /// The header fields to send.
    pub(crate) headers: Option<Dict>,
    /// Header fields that are not sent after a redirect.
    #[arg(default = [])]
    pub(crate) unredirected_headers: Vec<String>,
    /// The statuses that count as success.
    #[arg(default = [200])]
    pub(crate) status_code: Vec<i64>,
    /// Return the body of the response as content.
    #[arg(default = false)]
    pub(crate) return_content: bool,
    /// Write the body of the response to this file, or into this folder.
    #[arg(type = "path", access = "write")]
    pub(crate) dest: Option<String>,
    /// Do nothing if this path exists.
    #[arg(type = "path", access = "read")]
    pub(crate) creates: Option<String>,
    /// Do nothing if this path does not exist.
    #[arg(type = "path", access = "read")]
    pub(crate) removes: Option<String>,
    /// The redirects to follow.
    #[arg(default = "safe")]
    pub(crate) follow_redirects: Follow,
    /// The longest silence of the server, in seconds.
    #[arg(default = 30)]
    pub(crate) timeout: i64,
    /// The user name for Basic authentication.
    #[arg(alias = "user")]
    pub(crate) url_username: Option<String>,
    /// The password.
    #[arg(alias = "password", no_log)]
    pub(crate) url_password: Option<String>,
    /// Send user name and password with the first request.
    #[arg(default = false)]
    pub(crate) force_basic_auth: bool,
    /// Ask for an answer that is not cached. By default, an existing dest is replaced only by a newer file.
    #[arg(default = false)]
    pub(crate) force: bool,
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
    /// Accepted and ignored: there is no controller, so src is a file of the host.
    #[arg(default = false)]
    pub(crate) remote_src: bool,
    /// Not supported.
    #[arg(type = "path")]
    pub(crate) client_cert: Option<String>,
    /// Not supported.
    #[arg(type = "path")]
    pub(crate) client_key: Option<String>,
    /// Not supported.
    #[arg(type = "path")]
    pub(crate) ca_path: Option<String>,
    /// Not supported.
    pub(crate) ciphers: Option<Vec<String>>,
    /// Not supported.
    #[arg(type = "path")]
    pub(crate) unix_socket: Option<String>,
    /// Not supported.
    #[arg(default = false)]
    pub(crate) use_gssapi: bool,
}

#[derive(Choice, Clone, Copy, PartialEq)]
pub(crate) enum BodyFormat {
    /// A form of HTML.
    #[choice(name = "form-urlencoded")]
    Form,
    /// JSON, unless the body is text already.
    Json,
    /// The body unchanged.
    Raw,
    /// A form of HTML with files.
    #[choice(name = "form-multipart")]
    Multipart,
}

/// The redirects to follow.
#[derive(Choice, Clone, Copy, PartialEq)]
pub(crate) enum Follow {
    /// All redirects.
    All,
    /// No redirects, by an old name.
    No,
    /// No redirects.
    None,
    /// Redirects of GET and HEAD.
    Safe,
    /// The redirects that Python follows by default.
    Urllib2,
    /// All redirects, by an old name.
    Yes,
}
