//! The process that speaks with a registry: TLS, HTTP, tokens and redirects.
//!
//! It reads what a registry sends, so it gives up everything first: it opens no file, makes no connection and starts no
//! program. The monitor connects it, gives it what proves who asks, and checks what it says. It knows nothing of modules.

mod challenge;
mod client;
mod connection;
mod failure;
mod orders;
mod token;

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use modbox_channel::descriptor;
use modbox_kernel::{NetPlan, Plan, ProcessLimits, Profile};

use crate::messages::{self, Event, Opening, Order};
use crate::worker::client::Client;

/// Limits beyond what the process has. It holds pieces and manifests, and never a module.
const LIMITS: ProcessLimits = ProcessLimits {
    memory: 128 << 20,
    cpu_time: Some(Duration::from_secs(600)),
    descriptors: 64,
    file_size: Some(0),
    processes: None,
};

/// Serves orders until the monitor closes its end.
///
/// # Errors
///
/// The process cannot be confined, or the monitor does not follow the protocol.
pub fn serve(socket: UnixStream) -> io::Result<()> {
    let plan = Plan {
        profile: Profile::Transfer,
        paths: Vec::new(),
        net: NetPlan::default(),
        counted_memory: false,
        limits: Some(LIMITS),
    };
    modbox_kernel::confine_process(&plan).map_err(io::Error::other)?;
    let channel = Arc::new(socket);
    let (opening, authorities) = messages::receive_required::<Opening>(&channel)?.with_one()?;
    let mut client = Client::new(opening, &authorities, Arc::clone(&channel));
    while let Some((order, attached)) = next_order(&channel)? {
        let file = match order {
            Order::Send { .. } => Some(descriptor::receive(&*channel)?.into()),
            _ => None,
        };
        let event = match &mut client {
            Ok(client) => match orders::perform(client, &channel, &order, &attached, file.as_ref()) {
                Ok(answer) => Event::Done(answer),
                Err(orders::OrderError::Transfer(error)) => Event::Failed(error),
                Err(orders::OrderError::Channel(error)) => return Err(error),
            },
            Err(error) => Event::Failed(error.clone()),
        };
        messages::send(&channel, &event, &[])?;
    }
    Ok(())
}

/// Receives an order with what is attached to it.
fn next_order(channel: &UnixStream) -> io::Result<Option<(Order, Vec<u8>)>> {
    let Some(parcel) = messages::receive(channel)? else { return Ok(None) };
    let mut attached = parcel.attached.into_iter();
    Ok(Some((parcel.message, attached.next().unwrap_or_default())))
}
