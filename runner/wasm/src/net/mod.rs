//! The network of one guest: sockets, name lookup and `wasi:http`, by the policy's rules.
//!
//! The sockets are wasmtime-wasi's own; this is the guard around them. Every address that a socket is about to use is
//! asked about in `Network::check`. Names are looked up by our own host, and an address that came from a
//! name may be used only by the rules for that name, only if this run's lookup returned it, and only if it passes the check
//! for special addresses: whoever answers for a name cannot lead a guest elsewhere, not even by a second answer.
//! HTTP requests go through the same two questions.
//!
//! The interfaces are linked for every module, since modules that were adapted from WASI 0.1 import them unused. Without
//! a grant no socket is ever made.

mod create;
mod decision;
pub(super) mod http;
mod lookup;
mod network;
mod resolver;
mod tcp;
mod view;

use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::sockets;

pub(super) use self::http::{HttpState, HttpView};
pub(super) use self::network::Network;
use self::view::Guarded;
pub(super) use self::view::NetView;

/// Finds what host calls work on in a store's data.
type View<T> = fn(&mut T) -> NetView<'_>;

/// Links `wasi:sockets/tcp`.
pub(super) fn add_tcp<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    sockets::tcp::add_to_linker::<_, Guarded>(linker, view)
}

/// Links `wasi:sockets/tcp-create-socket`.
pub(super) fn add_tcp_create<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    sockets::tcp_create_socket::add_to_linker::<_, Guarded>(linker, view)
}

/// Links `wasi:sockets/udp-create-socket`.
pub(super) fn add_udp_create<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    sockets::udp_create_socket::add_to_linker::<_, Guarded>(linker, view)
}

/// Links `wasi:sockets/ip-name-lookup`.
pub(super) fn add_name_lookup<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    sockets::ip_name_lookup::add_to_linker::<_, Guarded>(linker, view)
}
