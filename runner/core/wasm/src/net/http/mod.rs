//! `wasi:http`: outgoing requests. Each is checked against the rules, and sent to the address that was checked.
//!
//! wasmtime-wasi-http implements the types of the protocol. Sending is our own, because its implementation looks up the
//! name a second time. Redirects are left to the guest: it gets the response, and its next request is checked like any
//! other. There are no incoming requests. The host's memory is bounded: by the number of messages (they count like open
//! files), by the bytes of each one's fields, method and address, and for bodies by the one chunk in transit.

mod messages;
mod response;
mod send;
mod stubbed;
mod tls;
mod view;

use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};

use self::view::HttpData;
pub(crate) use self::view::{HttpState, HttpView, MAX_FIELDS, is_too_large};

/// Returns the data that host calls need, from the data of a store.
type View<T> = fn(&mut T) -> HttpView<'_>;

/// Links `wasi:http/outgoing-handler`.
pub(crate) fn add_handler<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<_, HttpData>(linker, view)
}

/// Links `wasi:http/types`.
pub(crate) fn add_types<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    types::add_to_linker::<_, HttpData>(linker, &types::LinkOptions::default(), view)
}
