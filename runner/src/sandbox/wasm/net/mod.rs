//! The network of one guest: sockets, name lookup and `wasi:http`, by the policy's rules.
//!
//! The sockets are wasmtime-wasi's own; this is the guard around them. Every address that a socket is about to use is
//! asked about in [`Network::check`]. Names are looked up by our own host, and an address that came from a
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
mod resolver;
mod tcp;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::p2::bindings::sockets;
use wasmtime_wasi::sockets::WasiSocketsCtxView;
use wasmtime_wasi::{WasiCtxBuilder, filesystem::Descriptor};

pub(super) use self::http::{HttpState, HttpView};
use self::resolver::Resolver;
use crate::sandbox::invocation::{DenialLog, LimitKind};
use crate::sandbox::limits::Limits;
use crate::sandbox::policy::Policy;
use crate::sandbox::policy::net::{ListenRule, Name, NetRule, Transport};
use crate::sandbox::wasm::store::State;

/// Connections that `wasi:http` may have open at a time.
const MAX_CONNECTIONS: usize = 32;

/// What one run may reach, and what it has looked up so far. Shared by all that ask on the guest's behalf.
#[derive(Debug)]
pub(super) struct Network {
    everything: bool,
    rules: Vec<NetRule>,
    listen: Vec<ListenRule>,
    timeout: Duration,
    max_descriptors: usize,
    /// Sockets, files and directories open at a time, at the most, when a socket was opened.
    most_open: AtomicU64,
    denials: Mutex<DenialLog>,
    resolver: Resolver,
    connections: Arc<Semaphore>,
    seen: Mutex<Seen>,
    hit: OnceLock<LimitKind>,
}

/// What happened so far. Everything in it is bounded.
#[derive(Debug, Default)]
struct Seen {
    /// The addresses of each name, as far as a rule admits them.
    names: BTreeMap<Name, Vec<IpAddr>>,
    /// The names behind each of them.
    addresses: BTreeMap<IpAddr, BTreeSet<Name>>,
    /// Whether a UDP socket was bound where the guest may listen.
    udp_listens: bool,
    /// Who has sent to it, and may be answered.
    peers: HashSet<SocketAddr>,
}

impl Network {
    /// Takes the rules of a policy.
    pub(super) fn new(policy: &Policy, limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            everything: policy.allows_everything(),
            rules: policy.net().iter().map(|grant| grant.rule.clone()).collect(),
            listen: policy.listen().iter().map(|grant| grant.rule.clone()).collect(),
            timeout: limits.timeout,
            max_descriptors: usize::try_from(limits.max_descriptors).unwrap_or(usize::MAX),
            most_open: AtomicU64::new(0),
            denials: Mutex::default(),
            resolver: Resolver::default(),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            seen: Mutex::default(),
            hit: OnceLock::new(),
        })
    }

    /// Returns whether a guest may have sockets at all.
    pub(super) fn is_granted(&self) -> bool {
        self.grants(Transport::Tcp) || self.grants(Transport::Udp)
    }

    fn grants(&self, transport: Transport) -> bool {
        self.everything
            || self.rules.iter().any(|rule| rule.transport() == transport)
            || self.listen.iter().any(|rule| rule.transport() == transport)
    }

    /// Opens a context's sockets as far as they are granted.
    pub(super) fn open(self: &Arc<Self>, builder: &mut WasiCtxBuilder) {
        builder.allow_tcp(self.grants(Transport::Tcp)).allow_udp(self.grants(Transport::Udp));
        let network = Arc::clone(self);
        builder.socket_addr_check(move |address, reason| {
            let allowed = network.check(address, reason);
            Box::pin(async move { allowed })
        });
    }

    /// Returns what the guest tried and was refused.
    pub(super) fn denials(&self) -> DenialLog {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many sockets, files and directories were open at a time, at the most, counted when a socket was.
    pub(super) fn most_open(&self) -> u64 {
        self.most_open.load(Ordering::Relaxed)
    }

    /// Returns the limit that was hit here, if one was.
    pub(super) fn hit(&self) -> Option<LimitKind> {
        self.hit.get().copied()
    }

    fn hit_descriptors(&self) {
        let _ = self.hit.set(LimitKind::Descriptors);
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the host calls of sockets and name lookup work on.
pub(super) struct NetView<'a> {
    /// wasmtime-wasi's own host.
    pub(super) sockets: WasiSocketsCtxView<'a>,
    /// What asks before it.
    pub(super) network: &'a Arc<Network>,
}

impl NetView<'_> {
    /// Returns whether one more socket may be opened. Sockets, files and directories share one limit.
    fn has_room(&mut self) -> bool {
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
struct Guarded;

impl HasData for Guarded {
    type Data<'a> = NetView<'a>;
}

/// Links `wasi:sockets/tcp`.
pub(super) fn add_tcp(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    sockets::tcp::add_to_linker::<_, Guarded>(linker, State::net)
}

/// Links `wasi:sockets/tcp-create-socket`.
pub(super) fn add_tcp_create(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    sockets::tcp_create_socket::add_to_linker::<_, Guarded>(linker, State::net)
}

/// Links `wasi:sockets/udp-create-socket`.
pub(super) fn add_udp_create(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    sockets::udp_create_socket::add_to_linker::<_, Guarded>(linker, State::net)
}

/// Links `wasi:sockets/ip-name-lookup`.
pub(super) fn add_name_lookup(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    sockets::ip_name_lookup::add_to_linker::<_, Guarded>(linker, State::net)
}
