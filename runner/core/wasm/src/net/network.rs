//! A run's view of the network: the rules, the addresses looked up so far, and the denials.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use modbox_policy::Policy;
use modbox_policy::net::{ListenRule, Name, NetRule, Transport};
use modbox_vocabulary::{DenialLog, HttpStub, LimitKind, Limits, StubbedRequest};
use tokio::sync::Semaphore;
use wasmtime_wasi::WasiCtxBuilder;

use crate::net::resolver::Resolver;
use crate::net::stub::Stub;

/// Most connections that `wasi:http` may have open at a time.
const MAX_CONNECTIONS: usize = 32;

/// The rules of one run, and the addresses that it has looked up. All host calls that use the network share it.
#[derive(Debug)]
pub(crate) struct Network {
    pub(super) everything: bool,
    pub(super) rules: Vec<NetRule>,
    pub(super) listen: Vec<ListenRule>,
    pub(super) timeout: Duration,
    pub(super) max_descriptors: usize,
    /// Peak number of open sockets, files and directories, counted when a socket is opened.
    pub(super) peak_open: AtomicU64,
    pub(super) denials: Mutex<DenialLog>,
    pub(super) resolver: Resolver,
    pub(super) connections: Arc<Semaphore>,
    pub(super) state: Mutex<NetworkState>,
    pub(super) hit: OnceLock<LimitKind>,
    /// What answers HTTP requests in place of the network.
    pub(super) stub: Option<Stub>,
}

/// The state collected during a run. All parts are bounded.
#[derive(Debug, Default)]
pub(super) struct NetworkState {
    /// The addresses of each name that a rule admits.
    pub(super) names: BTreeMap<Name, Vec<IpAddr>>,
    /// The names that resolved to each address.
    pub(super) addresses: BTreeMap<IpAddr, BTreeSet<Name>>,
    /// Whether a UDP socket was bound where the guest may listen.
    pub(super) udp_listens: bool,
    /// Addresses that have sent to this socket, and that it may answer.
    pub(super) peers: HashSet<SocketAddr>,
}

impl Network {
    /// Creates the network of a run from the rules of its policy.
    pub(crate) fn new(policy: &Policy, limits: &Limits, http: Option<HttpStub>) -> Arc<Self> {
        Arc::new(Self {
            everything: policy.allows_everything(),
            rules: policy.net().iter().map(|grant| grant.rule.clone()).collect(),
            listen: policy.listen().iter().map(|grant| grant.rule.clone()).collect(),
            timeout: limits.timeout,
            max_descriptors: usize::try_from(limits.max_descriptors).unwrap_or(usize::MAX),
            peak_open: AtomicU64::new(0),
            denials: Mutex::default(),
            resolver: Resolver::default(),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            state: Mutex::default(),
            hit: OnceLock::new(),
            stub: http.map(Stub::new),
        })
    }

    /// Returns whether a guest may have sockets at all.
    pub(crate) fn is_granted(&self) -> bool {
        self.grants(Transport::Tcp) || self.grants(Transport::Udp)
    }

    pub(super) fn grants(&self, transport: Transport) -> bool {
        self.everything
            || self.rules.iter().any(|rule| rule.transport() == transport)
            || self.listen.iter().any(|rule| rule.transport() == transport)
    }

    /// Allows sockets in a WASI context, as far as they are granted.
    pub(crate) fn open(self: &Arc<Self>, builder: &mut WasiCtxBuilder) {
        builder.allow_tcp(self.grants(Transport::Tcp)).allow_udp(self.grants(Transport::Udp));
        let network = Arc::clone(self);
        builder.socket_addr_check(move |address, reason| {
            let allowed = network.check(address, reason);
            Box::pin(async move { allowed })
        });
    }

    /// Returns the requests that a stub has answered or refused.
    pub(crate) fn stubbed_requests(&self) -> Vec<StubbedRequest> {
        self.stub.as_ref().map(Stub::requests).unwrap_or_default()
    }

    /// Returns the denials so far.
    pub(crate) fn denials(&self) -> DenialLog {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the peak number of open sockets, files and directories, counted when a socket was opened.
    pub(crate) fn peak_open(&self) -> u64 {
        self.peak_open.load(Ordering::Relaxed)
    }

    /// Returns the limit that a host call of the network hit, if any.
    pub(crate) fn hit(&self) -> Option<LimitKind> {
        self.hit.get().copied()
    }

    pub(super) fn hit_descriptors(&self) {
        let _ = self.hit.set(LimitKind::Descriptors);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, NetworkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
