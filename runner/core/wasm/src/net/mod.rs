//! The network of one guest: sockets, name lookup and `wasi:http`, restricted by the policy's rules.
//!
//! The sockets are wasmtime-wasi's own; this module guards them. `Network::check` decides about every address that a
//! socket is about to use. Our own host looks up names. An address that came from a name may be used only if a rule for
//! that name allows it, if a lookup of this run returned it, and if it passes the check for special addresses. So a
//! hostile name server cannot lead a guest elsewhere, not even with a second answer. HTTP requests pass the same two
//! checks. `tls` encrypts what a guest sends by its own sockets.
//!
//! The interfaces are linked for every module, because modules adapted from WASI 0.1 import them without using them.
//! Without a grant, no socket is ever created.

mod create;
mod decision;
pub(super) mod http;
mod lookup;
mod network;
mod resolver;
mod stub;
mod tcp;
pub(super) mod tls;
mod view;

use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::sockets;

pub(super) use self::http::{HttpState, HttpView};
pub(super) use self::network::Network;
pub(super) use self::view::NetView;
use self::view::SocketData;

/// Returns the data that host calls need, from the data of a store.
type View<T> = fn(&mut T) -> NetView<'_>;

/// Links `wasi:sockets/tcp`.
pub(super) fn add_tcp<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    sockets::tcp::add_to_linker::<_, SocketData>(linker, view)
}

/// Links `wasi:sockets/tcp-create-socket`.
pub(super) fn add_tcp_create<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    sockets::tcp_create_socket::add_to_linker::<_, SocketData>(linker, view)
}

/// Links `wasi:sockets/udp-create-socket`.
pub(super) fn add_udp_create<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    sockets::udp_create_socket::add_to_linker::<_, SocketData>(linker, view)
}

/// Links `wasi:sockets/ip-name-lookup`.
pub(super) fn add_name_lookup<T: Send + 'static>(linker: &mut Linker<T>, view: View<T>) -> wasmtime::Result<()> {
    sockets::ip_name_lookup::add_to_linker::<_, SocketData>(linker, view)
}
