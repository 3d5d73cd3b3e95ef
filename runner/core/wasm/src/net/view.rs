//! The state that host calls of sockets use: a guest's sockets, and the network that decides about them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wasmtime::component::HasData;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::sockets::WasiSocketsCtxView;

use crate::net::network::Network;

/// The data for host calls of sockets and name lookup.
pub(crate) struct NetView<'a> {
    /// wasmtime-wasi's own host.
    pub(crate) sockets: WasiSocketsCtxView<'a>,
    /// The rules, which are checked before a call is passed on.
    pub(crate) network: &'a Arc<Network>,
}

impl NetView<'_> {
    /// Returns whether one more socket may be opened. Sockets, files and directories share one limit.
    pub(super) fn has_room(&mut self) -> bool {
        let open = self.sockets.table.iter_mut().filter(|entry| {
            entry.is::<wasmtime_wasi::p2::TcpSocket>()
                || entry.is::<wasmtime_wasi::p2::UdpSocket>()
                || entry.is::<Descriptor>()
        });
        let open = open.count();
        let room = open < self.network.max_descriptors;
        if room {
            self.network.peak_open.fetch_max(open as u64 + 1, Ordering::Relaxed);
        } else {
            self.network.hit_descriptors();
        }
        room
    }
}

/// Type that names [`NetView`] to the linker.
pub(super) struct SocketData;

impl HasData for SocketData {
    type Data<'a> = NetView<'a>;
}
