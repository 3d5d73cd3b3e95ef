//! `wasi:sockets/ip-name-lookup`, restricted to names that a rule covers and to addresses that these rules admit.

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

/// The operation in denials.
const OPERATION: Operation = Operation::ResolveAddresses;

/// A lookup in progress, or its answer.
enum Lookup {
    Pending(Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, ErrorCode>> + Send>>),
    Finished(Result<vec::IntoIter<IpAddr>, ErrorCode>),
}

#[wasmtime_wasi::async_trait]
impl Pollable for Lookup {
    async fn ready(&mut self) {
        if let Self::Pending(pending) = self {
            *self = Self::Finished(pending.await.map(Vec::into_iter));
        }
    }
}

/// Converts a handle to our own lookup type. The table identifies entries by number and type. The linker requires
/// wasmtime-wasi's type for lookups, which cannot be constructed here, so its handles carry the numbers of our entries.
fn lookup_handle(stream: &Resource<ResolveAddressStream>) -> Resource<Lookup> {
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
            Some(address) => Lookup::Finished(Ok(vec![address].into_iter())),
            None => {
                let name = Name::parse(&name).ok_or(ErrorCode::InvalidArgument)?;
                if !self.network.names(&name) {
                    self.network.deny(Capability::Net, name.to_string(), OPERATION, format!("--allow-net {name}"));
                    return Err(ErrorCode::AccessDenied.into());
                }
                let network = Arc::clone(self.network);
                Lookup::Pending(Box::pin(async move { network.resolve(&name, OPERATION).await.map_err(error_code) }))
            }
        };
        Ok(Resource::new_own(self.sockets.table.push(lookup)?.rep()))
    }
}

impl HostResolveAddressStream for NetView<'_> {
    fn resolve_next_address(&mut self, stream: Resource<ResolveAddressStream>) -> SocketResult<Option<IpAddress>> {
        let lookup = self.sockets.table.get_mut(&lookup_handle(&stream))?;
        if let Lookup::Pending(pending) = lookup {
            let answer = poll_noop(Pin::new(pending)).ok_or(ErrorCode::WouldBlock)?;
            *lookup = Lookup::Finished(answer.map(Vec::into_iter));
        }
        match lookup {
            Lookup::Finished(Ok(addresses)) => Ok(addresses.next().map(IpAddress::from)),
            Lookup::Finished(Err(error)) => Err((*error).into()),
            Lookup::Pending(_) => Err(ErrorCode::WouldBlock.into()),
        }
    }

    fn subscribe(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(self.sockets.table, lookup_handle(&stream))
    }

    fn drop(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<()> {
        self.sockets.table.delete(Resource::<Lookup>::new_own(stream.rep()))?;
        Ok(())
    }
}

/// Parses an address given in place of a name. It needs no lookup, and does not decide whether it may be reached.
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

/// Why a guest gets no address for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResolveError {
    /// The name has addresses, but no rule admits one.
    Refused,
    /// The lookup failed.
    Lookup(LookupError),
}

impl Network {
    /// Looks up a name that a rule covers. The answer is valid for the whole run.
    pub(super) async fn resolve(&self, name: &Name, operation: Operation) -> Result<Vec<IpAddr>, ResolveError> {
        if self.stub.is_some() {
            // A test without a network.
            return Err(ResolveError::Lookup(LookupError::Unknown));
        }
        let cached = || self.state().names.get(name).cloned();
        let addresses = match cached() {
            Some(addresses) => addresses,
            None => {
                // An address found by a concurrent lookup has already passed this check, and passes it again.
                let found = self.resolver.look_up(name, cached).await.map_err(ResolveError::Lookup)?;
                self.admit(name, found, operation)
            }
        };
        if addresses.is_empty() { Err(ResolveError::Refused) } else { Ok(addresses) }
    }
}
