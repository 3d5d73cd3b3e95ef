//! The system's resolver, off the guest's thread. A lookup cannot be taken back once it has begun, so there is one at a
//! time, each has a time limit, and a run has only so many.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{io, thread};

use modbox_policy::net::Name;
use tokio::sync::{Semaphore, oneshot};

/// Longer than resolvers try by default.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Lookups of one run that reach the system. Names that were found are not looked up again.
const MAX_LOOKUPS: usize = 256;

/// Addresses that are kept of one answer.
const MAX_ADDRESSES: usize = 32;

/// Looks names up for one run.
#[derive(Debug)]
pub(super) struct Resolver {
    gate: Arc<Semaphore>,
    begun: AtomicUsize,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupError {
    /// There is no such name, or it has no address.
    Unknown,
    /// The resolver does not answer, or another lookup keeps it busy.
    Slow,
    /// The run has looked up too many names.
    TooMany,
}

impl Default for Resolver {
    fn default() -> Self {
        Self { gate: Arc::new(Semaphore::new(1)), begun: AtomicUsize::new(0) }
    }
}

impl Resolver {
    /// Asks the system. `known` is asked once more when it is this lookup's turn.
    pub(super) async fn look_up(
        &self,
        name: &Name,
        known: impl Fn() -> Option<Vec<IpAddr>>,
    ) -> Result<Vec<IpAddr>, LookupError> {
        let ask = async {
            let gate = Arc::clone(&self.gate);
            // Nobody closes the gate.
            let permit = gate.acquire_owned().await.map_err(|_| LookupError::Slow)?;
            if let Some(addresses) = known() {
                return Ok(addresses);
            }
            if self.begun.fetch_add(1, Ordering::Relaxed) >= MAX_LOOKUPS {
                return Err(LookupError::TooMany);
            }
            let (sender, receiver) = oneshot::channel();
            let name = name.clone();
            let spawned = thread::Builder::new().name("resolver".to_owned()).spawn(move || {
                let answer = system(&name);
                // Only now may the next one begin: there is never a second thread.
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
