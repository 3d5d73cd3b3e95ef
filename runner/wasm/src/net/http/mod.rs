//! `wasi:http`: outgoing requests, each checked by the rules and sent to the very address that was checked.
//!
//! wasmtime-wasi-http does the protocol's types; sending is ours, because its own way to send looks the name up again.
//! Redirects are the guest's business: it gets the response, and what it asks for next is checked like any request.
//! There are no incoming requests. What the host holds is bounded: messages in number (they count like open files),
//! fields, methods and addresses of each in bytes, bodies by the one chunk that is on its way.

mod messages;
mod response;
mod send;
mod tls;
mod view;

use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};

use self::view::Guarded;
pub(crate) use self::view::{HttpState, HttpView, MAX_FIELDS, is_too_large};

/// Finds what host calls work on in a store's data.
type View<T> = fn(&mut T) -> HttpView<'_>;

/// Links `wasi:http/outgoing-handler`.
pub(crate) fn add_handler<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<_, Guarded>(linker, view)
}

/// Links `wasi:http/types`.
pub(crate) fn add_types<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    types::add_to_linker::<_, Guarded>(linker, &types::LinkOptions::default(), view)
}
