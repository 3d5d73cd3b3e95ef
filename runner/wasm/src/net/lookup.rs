//! `wasi:sockets/ip-name-lookup`: only names that a rule names, and only their addresses that a rule admits.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::vec;

use modbox_policy::net::Name;
use modbox_vocabulary::{Capability, Operation};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{Host, HostResolveAddressStream, ResolveAddressStream};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, Network as NetworkHandle};
use wasmtime_wasi::p2::{DynPollable, Pollable, SocketResult, subscribe};
use wasmtime_wasi::runtime::poll_noop;

use crate::net::network::Network;
use crate::net::resolver::LookupError;
use crate::net::view::NetView;

/// The operation that denials name.
const OPERATION: Operation = Operation::ResolveAddresses;

/// A lookup under way, or its answer.
enum Lookup {
    Asking(Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, ErrorCode>> + Send>>),
    Answered(Result<vec::IntoIter<IpAddr>, ErrorCode>),
}

#[wasmtime_wasi::async_trait]
impl Pollable for Lookup {
    async fn ready(&mut self) {
        if let Self::Asking(asking) = self {
            *self = Self::Answered(asking.await.map(Vec::into_iter));
        }
    }
}

/// The table knows entries by number and type. The linker knows wasmtime-wasi's type for a lookup, which cannot be made
/// here, so that its handles carry the numbers of ours.
fn ours(stream: &Resource<ResolveAddressStream>) -> Resource<Lookup> {
    Resource::new_borrow(stream.rep())
}

impl Host for NetView<'_> {
    fn resolve_addresses(
        &mut self,
        network: Resource<NetworkHandle>,
        name: String,
    ) -> SocketResult<Resource<ResolveAddressStream>> {
        self.sockets.table.get(&network)?;
        let lookup = match literal(&name) {
            Some(address) => Lookup::Answered(Ok(vec![address].into_iter())),
            None => {
                let name = Name::parse(&name).ok_or(ErrorCode::InvalidArgument)?;
                if !self.network.names(&name) {
                    self.network.deny(Capability::Net, name.to_string(), OPERATION, format!("--allow-net {name}"));
                    return Err(ErrorCode::AccessDenied.into());
                }
                let network = Arc::clone(self.network);
                Lookup::Asking(Box::pin(async move { network.resolve(&name, OPERATION).await.map_err(error_code) }))
            }
        };
        Ok(Resource::new_own(self.sockets.table.push(lookup)?.rep()))
    }
}

impl HostResolveAddressStream for NetView<'_> {
    fn resolve_next_address(&mut self, stream: Resource<ResolveAddressStream>) -> SocketResult<Option<IpAddress>> {
        let lookup = self.sockets.table.get_mut(&ours(&stream))?;
        if let Lookup::Asking(asking) = lookup {
            let answer = poll_noop(Pin::new(asking)).ok_or(ErrorCode::WouldBlock)?;
            *lookup = Lookup::Answered(answer.map(Vec::into_iter));
        }
        match lookup {
            Lookup::Answered(Ok(addresses)) => Ok(addresses.next().map(IpAddress::from)),
            Lookup::Answered(Err(error)) => Err((*error).into()),
            Lookup::Asking(_) => Err(ErrorCode::WouldBlock.into()),
        }
    }

    fn subscribe(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(self.sockets.table, ours(&stream))
    }

    fn drop(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<()> {
        self.sockets.table.delete(Resource::<Lookup>::new_own(stream.rep()))?;
        Ok(())
    }
}

/// An address instead of a name; it needs no lookup, and says nothing about whether it may be reached.
fn literal(text: &str) -> Option<IpAddr> {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(text).parse().ok()
}

fn error_code(error: ResolveError) -> ErrorCode {
    match error {
        ResolveError::Refused => ErrorCode::AccessDenied,
        ResolveError::Lookup(LookupError::Unknown) => ErrorCode::NameUnresolvable,
        ResolveError::Lookup(LookupError::Slow) => ErrorCode::TemporaryResolverFailure,
        ResolveError::Lookup(LookupError::TooMany) => ErrorCode::PermanentResolverFailure,
    }
}

/// Why a name has no address for a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResolveError {
    /// It has some, and no rule admits one of them.
    Refused,
    /// It has none.
    Lookup(LookupError),
}

impl Network {
    /// Looks up a name that a rule names. The answer holds for the whole run.
    pub(super) async fn resolve(&self, name: &Name, operation: Operation) -> Result<Vec<IpAddr>, ResolveError> {
        let known = || self.seen().names.get(name).cloned();
        let addresses = match known() {
            Some(addresses) => addresses,
            None => {
                // What another lookup has found in the meantime has been through the check, and passes it again.
                let found = self.resolver.look_up(name, known).await.map_err(ResolveError::Lookup)?;
                self.admit(name, found, operation)
            }
        };
        if addresses.is_empty() { Err(ResolveError::Refused) } else { Ok(addresses) }
    }
}
