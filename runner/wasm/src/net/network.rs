//! The network as one run may reach it: the rules, what was looked up so far, and what was refused.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use modbox_policy::Policy;
use modbox_policy::net::{ListenRule, Name, NetRule, Transport};
use modbox_vocabulary::{DenialLog, LimitKind, Limits};
use tokio::sync::Semaphore;
use wasmtime_wasi::WasiCtxBuilder;

use crate::net::resolver::Resolver;

/// Connections that `wasi:http` may have open at a time.
const MAX_CONNECTIONS: usize = 32;

/// What one run may reach, and what it has looked up so far. Shared by all that ask on the guest's behalf.
#[derive(Debug)]
pub(crate) struct Network {
    pub(super) everything: bool,
    pub(super) rules: Vec<NetRule>,
    pub(super) listen: Vec<ListenRule>,
    pub(super) timeout: Duration,
    pub(super) max_descriptors: usize,
    /// Sockets, files and directories open at a time, at the most, when a socket was opened.
    pub(super) most_open: AtomicU64,
    pub(super) denials: Mutex<DenialLog>,
    pub(super) resolver: Resolver,
    pub(super) connections: Arc<Semaphore>,
    pub(super) seen: Mutex<Seen>,
    pub(super) hit: OnceLock<LimitKind>,
}

/// What happened so far. Everything in it is bounded.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The addresses of each name, as far as a rule admits them.
    pub(super) names: BTreeMap<Name, Vec<IpAddr>>,
    /// The names behind each of them.
    pub(super) addresses: BTreeMap<IpAddr, BTreeSet<Name>>,
    /// Whether a UDP socket was bound where the guest may listen.
    pub(super) udp_listens: bool,
    /// Who has sent to it, and may be answered.
    pub(super) peers: HashSet<SocketAddr>,
}

impl Network {
    /// Takes the rules of a policy.
    pub(crate) fn new(policy: &Policy, limits: &Limits) -> Arc<Self> {
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
    pub(crate) fn is_granted(&self) -> bool {
        self.grants(Transport::Tcp) || self.grants(Transport::Udp)
    }

    pub(super) fn grants(&self, transport: Transport) -> bool {
        self.everything
            || self.rules.iter().any(|rule| rule.transport() == transport)
            || self.listen.iter().any(|rule| rule.transport() == transport)
    }

    /// Opens a context's sockets as far as they are granted.
    pub(crate) fn open(self: &Arc<Self>, builder: &mut WasiCtxBuilder) {
        builder.allow_tcp(self.grants(Transport::Tcp)).allow_udp(self.grants(Transport::Udp));
        let network = Arc::clone(self);
        builder.socket_addr_check(move |address, reason| {
            let allowed = network.check(address, reason);
            Box::pin(async move { allowed })
        });
    }

    /// Returns what the guest tried and was refused.
    pub(crate) fn denials(&self) -> DenialLog {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many sockets, files and directories were open at a time, at the most, counted when a socket was.
    pub(crate) fn most_open(&self) -> u64 {
        self.most_open.load(Ordering::Relaxed)
    }

    /// Returns the limit that was hit here, if one was.
    pub(crate) fn hit(&self) -> Option<LimitKind> {
        self.hit.get().copied()
    }

    pub(super) fn hit_descriptors(&self) {
        let _ = self.hit.set(LimitKind::Descriptors);
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
