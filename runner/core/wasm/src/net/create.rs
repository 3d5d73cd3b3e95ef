//! Creation of sockets: refusals are recorded, and created sockets are counted.

use modbox_policy::net::Transport;
use modbox_vocabulary::{Capability, Operation};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, HostNetwork, IpAddressFamily, Network};
use wasmtime_wasi::p2::bindings::sockets::{tcp_create_socket, udp_create_socket};
use wasmtime_wasi::p2::{IoError, SocketError, SocketResult, TcpSocket, UdpSocket};

use crate::net::view::NetView;

impl NetView<'_> {
    /// Refuses a socket if no grant makes it useful, or if too many are open.
    fn admit_socket(&mut self, transport: Transport, operation: Operation) -> SocketResult<()> {
        if !self.network.grants(transport) {
            let (subject, prefix) = match transport {
                Transport::Tcp => ("tcp", ""),
                Transport::Udp => ("udp", "udp:"),
            };
            // The destination is not known yet.
            self.network.deny(Capability::Net, subject.to_owned(), operation, format!("--allow-net {prefix}HOST:PORT"));
            return Err(ErrorCode::AccessDenied.into());
        }
        if self.network.stub.is_some() {
            // A test without a network.
            return Err(ErrorCode::AccessDenied.into());
        }
        if self.has_room() { Ok(()) } else { Err(ErrorCode::NewSocketLimit.into()) }
    }
}

impl tcp_create_socket::Host for NetView<'_> {
    fn create_tcp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        self.admit_socket(Transport::Tcp, Operation::CreateTcpSocket)?;
        self.sockets.create_tcp_socket(family)
    }
}

impl udp_create_socket::Host for NetView<'_> {
    async fn create_udp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        self.admit_socket(Transport::Udp, Operation::CreateUdpSocket)?;
        self.sockets.create_udp_socket(family).await
    }
}

// Conversion of errors, for the other interfaces: from the host's type to the guest's.
impl network::Host for NetView<'_> {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        self.sockets.convert_error_code(error)
    }

    fn network_error_code(&mut self, error: Resource<IoError>) -> wasmtime::Result<Option<ErrorCode>> {
        self.sockets.network_error_code(error)
    }
}

impl HostNetwork for NetView<'_> {
    fn drop(&mut self, network: Resource<Network>) -> wasmtime::Result<()> {
        HostNetwork::drop(&mut self.sockets, network)
    }
}
