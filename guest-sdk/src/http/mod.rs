//! HTTP requests for modules: a builder, streamed bodies, rules for redirects, and errors that name host and remedy.
//! Needs the crate's feature `http`.
//!
//! A component opens no sockets for this: the host looks up names, connects, does TLS (`wasi:http`) and verifies
//! certificates. It refuses each request and redirect that `--allow-net` does not grant; the error is
//! [`ErrorKind::Denied`], whose message names the switch. In a build for a Unix host, each request is
//! [`ErrorKind::Unsupported`].
//!
//! - [`Request`] builds a request.
//! - [`fetch_url`] is the function of that name for modules of Ansible: it returns the entries for their results.
//!
//! Proxies, client certificates, servers without a valid certificate, Digest and Kerberos authentication, and reuse of
//! connections are not supported.

mod body;
mod cookies;
mod date;
mod error;
mod fetch;
mod headers;
mod redirect;
mod request;
mod response;
mod status;
mod url;
mod wire;

pub use self::body::Body;
pub use self::date::write as date;
pub use self::error::{ErrorKind, HttpError};
pub use self::fetch::{FetchOptions, Fetched, MAX_ERROR_BODY, fetch_url};
pub use self::headers::Headers;
pub use self::redirect::Redirects;
pub use self::request::Request;
pub use self::response::Response;
pub use self::status::reason;
pub use self::url::{Url, form_quoted, mask_url, unquoted};
