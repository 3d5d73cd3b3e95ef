//! Runs the system's resolver on a separate thread. A started lookup cannot be cancelled. So only one runs at a time,
//! each has a time limit, and their number per run is limited.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{io, thread};

use modbox_policy::net::Name;
use tokio::sync::{Semaphore, oneshot};

/// Longest wait for an answer: longer than resolvers try by default.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Most lookups per run that use the system's resolver. A name that was found is not looked up again.
const MAX_LOOKUPS: usize = 256;

/// Most addresses kept of one answer.
const MAX_ADDRESSES: usize = 32;

/// Resolves names for one run.
#[derive(Debug)]
pub(super) struct Resolver {
    gate: Arc<Semaphore>,
    lookups: AtomicUsize,
}

/// Why a lookup failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupError {
    /// The name does not exist, or has no address.
    Unknown,
    /// The resolver does not answer, or is busy with another lookup.
    Slow,
    /// The run has looked up too many names.
    TooMany,
}

impl Default for Resolver {
    fn default() -> Self {
        Self { gate: Arc::new(Semaphore::new(1)), lookups: AtomicUsize::new(0) }
    }
}

impl Resolver {
    /// Asks the system's resolver. Checks `cached` again when this lookup's turn comes.
    pub(super) async fn look_up(
        &self,
        name: &Name,
        cached: impl Fn() -> Option<Vec<IpAddr>>,
    ) -> Result<Vec<IpAddr>, LookupError> {
        let ask = async {
            let gate = Arc::clone(&self.gate);
            // The semaphore is never closed.
            let permit = gate.acquire_owned().await.map_err(|_| LookupError::Slow)?;
            if let Some(addresses) = cached() {
                return Ok(addresses);
            }
            if self.lookups.fetch_add(1, Ordering::Relaxed) >= MAX_LOOKUPS {
                return Err(LookupError::TooMany);
            }
            let (sender, receiver) = oneshot::channel();
            let name = name.clone();
            let spawned = thread::Builder::new().name("resolver".to_owned()).spawn(move || {
                let answer = system(&name);
                // The next lookup may start now, so there is never a second thread.
                drop(permit);
                let _ = sender.send(answer);
            });
            spawned.map_err(|_| LookupError::Slow)?;
            match receiver.await {
                Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
                Ok(_) => Err(LookupError::Unknown),
                Err(_) => Err(LookupError::Slow),
            }
        };
        tokio::time::timeout(TIMEOUT, ask).await.unwrap_or(Err(LookupError::Slow))
    }
}

fn system(name: &Name) -> io::Result<Vec<IpAddr>> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in (name.as_str(), 0).to_socket_addrs()? {
        if addresses.len() < MAX_ADDRESSES && !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    Ok(addresses)
}
