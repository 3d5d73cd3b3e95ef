//! The options of `uri`.

use modbox_sdk::{Args, Choice, Dict, Value};

/// Talks to a web service: sends a request, and says what came back.
#[derive(Args)]
#[expect(dead_code, reason = "`fetch_url` looks at the options that it knows by itself")]
#[args(mutually_exclusive("body", "src"))]
pub(crate) struct UriArgs {
    /// The address, by http or https.
    pub(crate) url: String,
    /// The method, such as GET or POST.
    #[arg(default = "GET")]
    pub(crate) method: String,
    /// What is sent along: text, or with body_format data.
    pub(crate) body: Option<Value>,
    /// What the body is made into.
    #[arg(default = "raw")]
    pub(crate) body_format: BodyFormat,
    /// A file of the host that is sent along. Excludes body.
    #[arg(type = "path", access = "read")]
    pub(crate) src: Option<String>,
    /// The fields that are sent.
    pub(crate) headers: Option<Dict>,
    /// Fields that do not go with redirects.
    #[arg(default = [])]
    pub(crate) unredirected_headers: Vec<String>,
    /// The statuses that are no failure.
    #[arg(default = [200])]
    pub(crate) status_code: Vec<i64>,
    /// Return the body of the answer as content.
    #[arg(default = false)]
    pub(crate) return_content: bool,
    /// Write the body of the answer to this file, or into this folder.
    #[arg(type = "path", access = "write")]
    pub(crate) dest: Option<String>,
    /// Do nothing when this exists.
    #[arg(type = "path", access = "read")]
    pub(crate) creates: Option<String>,
    /// Do nothing when this does not exist.
    #[arg(type = "path", access = "read")]
    pub(crate) removes: Option<String>,
    /// Which redirects are followed.
    #[arg(default = "safe")]
    pub(crate) follow_redirects: Follow,
    /// How many seconds the server may be silent.
    #[arg(default = 30)]
    pub(crate) timeout: i64,
    /// The user's name, for Basic authentication.
    #[arg(alias = "user")]
    pub(crate) url_username: Option<String>,
    /// The password.
    #[arg(alias = "password", no_log)]
    pub(crate) url_password: Option<String>,
    /// Send name and password without being asked for them.
    #[arg(default = false)]
    pub(crate) force_basic_auth: bool,
    /// Ask for what no cache has; without it, dest that exists is only replaced by what is newer.
    #[arg(default = false)]
    pub(crate) force: bool,
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
    /// Taken, and does nothing: there is no controller, so src is a file of the host.
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

/// What a body is made into.
#[derive(Choice, Clone, Copy, PartialEq)]
pub(crate) enum BodyFormat {
    /// What a form of HTML sends.
    #[choice(name = "form-urlencoded")]
    Form,
    /// JSON, unless it is text already.
    Json,
    /// What it is.
    Raw,
    /// What a form of HTML with files sends.
    #[choice(name = "form-multipart")]
    Multipart,
}

/// Which redirects are followed.
#[derive(Choice, Clone, Copy, PartialEq)]
pub(crate) enum Follow {
    /// All.
    All,
    /// None, by its old name.
    No,
    /// None.
    None,
    /// Those of GET and HEAD.
    Safe,
    /// Those that Python follows by itself.
    Urllib2,
    /// All, by its old name.
    Yes,
}
