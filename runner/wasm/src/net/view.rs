//! A guest's sockets, and the network that decides about them, as host calls see both.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wasmtime::component::HasData;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::sockets::WasiSocketsCtxView;

use crate::net::network::Network;

/// What the host calls of sockets and name lookup work on.
pub(crate) struct NetView<'a> {
    /// wasmtime-wasi's own host.
    pub(crate) sockets: WasiSocketsCtxView<'a>,
    /// What asks before it.
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
            self.network.most_open.fetch_max(open as u64 + 1, Ordering::Relaxed);
        } else {
            self.network.hit_descriptors();
        }
        room
    }
}

/// Stands for [`NetView`] in the linker.
pub(super) struct Guarded;

impl HasData for Guarded {
    type Data<'a> = NetView<'a>;
}
