//! Requests to servers, for modules: a builder, bodies as they come, redirects by rules that one chooses, and errors that say
//! whom and what about it. With the crate's feature `http`.
//!
//! A component has no sockets of its own in this: the host does names, connections and TLS (`wasi:http`), proves every server's
//! name, and refuses whatever `--allow-net` does not grant, each redirect, too. [`ErrorKind::Denied`] is what that looks like, and its
//! message names the switch. In a build for a Unix host there is no HTTP: each request is an [`ErrorKind::Unsupported`].
//!
//! - [`Request`] is one by hand.
//! - [`fetch_url`] is what modules of Ansible have under that name: it returns what their results say of an answer.
//!
//! What is not here: proxies, client certificates, servers without a valid certificate, Digest and Kerberos authentication, and
//! connections that are used again.

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
pub use self::fetch::{Fetched, MAX_ERROR_BODY, Wanted, fetch_url};
pub use self::headers::Headers;
pub use self::redirect::Redirects;
pub use self::request::Request;
pub use self::response::Response;
pub use self::status::reason;
pub use self::url::{Url, form_quoted, mask_url, unquoted};
