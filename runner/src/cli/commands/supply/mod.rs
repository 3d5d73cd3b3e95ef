//! Commands that bring, send, sign and verify modules.

pub(crate) mod install;
pub(crate) mod load;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod save;
pub(crate) mod sign;
pub(crate) mod update;
pub(crate) mod verify;
