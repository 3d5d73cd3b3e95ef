//! One request over the line and the head of its answer, by whoever does HTTP here: the host, by `wasi:http`, for a component.

#[cfg_attr(target_family = "wasm", path = "component.rs")]
#[cfg_attr(not(target_family = "wasm"), path = "nowhere.rs")]
mod here;

mod messages;

pub(super) use self::here::{IncomingBody, exchange};
pub(super) use self::messages::Outgoing;
