//! `wasi:sockets/tcp`: wasmtime-wasi's own host, except for `accept`, which creates a socket that must be counted.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Network};
use wasmtime_wasi::p2::bindings::sockets::tcp::{Duration, Host, HostTcpSocket, ShutdownType};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, SocketResult, TcpSocket};

use crate::net::view::NetView;

/// Delegates calls unchanged.
macro_rules! hand_on {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&mut self, socket: Resource<TcpSocket>, $($arg: $type),*) -> $result {
            HostTcpSocket::$name(&mut self.sockets, socket, $($arg),*)
        })*
    };
}

impl Host for NetView<'_> {}

impl HostTcpSocket for NetView<'_> {
    async fn start_bind(
        &mut self,
        socket: Resource<TcpSocket>,
        network: Resource<Network>,
        address: IpSocketAddress,
    ) -> SocketResult<()> {
        self.sockets.start_bind(socket, network, address).await
    }

    async fn start_listen(&mut self, socket: Resource<TcpSocket>) -> SocketResult<()> {
        self.sockets.start_listen(socket).await
    }

    fn accept(
        &mut self,
        socket: Resource<TcpSocket>,
    ) -> SocketResult<(Resource<TcpSocket>, Resource<DynInputStream>, Resource<DynOutputStream>)> {
        if !self.has_room() {
            return Err(ErrorCode::NewSocketLimit.into());
        }
        self.sockets.accept(socket)
    }

    hand_on! {
        fn finish_bind() -> SocketResult<()>;
        fn start_connect(network: Resource<Network>, address: IpSocketAddress) -> SocketResult<()>;
        fn finish_connect() -> SocketResult<(Resource<DynInputStream>, Resource<DynOutputStream>)>;
        fn finish_listen() -> SocketResult<()>;
        fn local_address() -> SocketResult<IpSocketAddress>;
        fn remote_address() -> SocketResult<IpSocketAddress>;
        fn is_listening() -> wasmtime::Result<bool>;
        fn address_family() -> wasmtime::Result<IpAddressFamily>;
        fn set_listen_backlog_size(value: u64) -> SocketResult<()>;
        fn keep_alive_enabled() -> SocketResult<bool>;
        fn set_keep_alive_enabled(value: bool) -> SocketResult<()>;
        fn keep_alive_idle_time() -> SocketResult<Duration>;
        fn set_keep_alive_idle_time(value: Duration) -> SocketResult<()>;
        fn keep_alive_interval() -> SocketResult<Duration>;
        fn set_keep_alive_interval(value: Duration) -> SocketResult<()>;
        fn keep_alive_count() -> SocketResult<u32>;
        fn set_keep_alive_count(value: u32) -> SocketResult<()>;
        fn hop_limit() -> SocketResult<u8>;
        fn set_hop_limit(value: u8) -> SocketResult<()>;
        fn receive_buffer_size() -> SocketResult<u64>;
        fn set_receive_buffer_size(value: u64) -> SocketResult<()>;
        fn send_buffer_size() -> SocketResult<u64>;
        fn set_send_buffer_size(value: u64) -> SocketResult<()>;
        fn subscribe() -> wasmtime::Result<Resource<DynPollable>>;
        fn shutdown(kind: ShutdownType) -> SocketResult<()>;
        fn drop() -> wasmtime::Result<()>;
    }
}
