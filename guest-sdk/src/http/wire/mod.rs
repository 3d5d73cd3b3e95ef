//! Sends one request and reads the head of its response. For a component, the host does HTTP through `wasi:http`.

#[cfg_attr(target_family = "wasm", path = "component.rs")]
#[cfg_attr(not(target_family = "wasm"), path = "nowhere.rs")]
mod here;

mod messages;

pub(super) use self::here::{IncomingBody, exchange};
pub(super) use self::messages::Outgoing;
