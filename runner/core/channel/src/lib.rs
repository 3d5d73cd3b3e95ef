//! Frames, messages and descriptors between the processes of modbox.
//!
//! A frame is a four-byte little-endian length and that many bytes. A message is a frame of JSON. Raw bytes that belong
//! to a message are sent in a frame of their own. Because the length comes first, a receiver never reads past the end
//! of a frame, needs no delimiter, and refuses a frame that is too long before it reads it.
//!
//! A module may have taken over the process at the other end. So every channel limits the length of a frame, and no
//! receiver allocates more than has arrived: the length is only a claim.
//!
//! | module | content |
//! |---|---|
//! | [`framing`] | frames and messages over blocking streams |
//! | [`incoming`] | frames from a polled stream |
//! | [`parcel`] | messages with byte strings, in one frame |
//! | [`descriptor`] | file descriptors over a Unix socket |
//! | [`turn`] | the byte with which one process tells the other to continue |
//!
//! The crate does not define modbox's messages and starts no process.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod descriptor;
pub mod framing;
pub mod incoming;
pub mod parcel;
pub mod turn;

pub use framing::Framing;
pub use incoming::Incoming;
pub use parcel::Parcel;
