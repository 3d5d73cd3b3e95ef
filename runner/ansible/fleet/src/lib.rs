//! Tasks that a controller sends to modbox on a target.
//!
//! A task is an envelope on standard input: the digest of a module and its arguments. modbox runs the module if the target
//! has it; else it answers what it needs, and the controller sends that and asks again. So a target keeps nothing but
//! modules, by their digests, and a task that is known takes one round trip.
//!
//! | module | content |
//! |---|---|
//! | [`envelope`] | the task, as the controller writes it |
//! | [`need`] | the answer of a target that lacks something |
//! | [`module_digest`] | the name of a module |
//! | [`modules`] | the modules that a target keeps |
//! | [`shipment`] | a module as it is sent: compressed or not |
//!
//! The crate runs no module and opens no connection.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod envelope;
pub mod module_digest;
pub mod modules;
pub mod need;
pub mod shipment;
