//! Frames, messages and descriptors between the processes of modbox.
//!
//! A frame is a four-byte little-endian length and that many bytes. A message is a frame of JSON. A stream of bytes that goes
//! with a message is a frame of its own. With a length, a receiver never reads past the end of a frame or looks for a
//! delimiter, and it refuses a frame that is too long before it reads it.
//!
//! A peer may be a process that a module has taken over. So every channel has a longest frame, and no receiver allocates more
//! than has arrived: the length is only a claim.
//!
//! | module | what it knows |
//! |---|---|
//! | [`framing`] | frames and messages, over streams that block |
//! | [`incoming`] | frames out of a stream that is polled |
//! | [`descriptor`] | file descriptors, over a Unix socket |
//! | [`turn`] | the byte by which one process lets the other go on |
//!
//! The crate knows no message of modbox and starts no process.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod descriptor;
pub mod framing;
pub mod incoming;
pub mod turn;

pub use framing::Framing;
pub use incoming::Incoming;
