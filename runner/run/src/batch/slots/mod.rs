//! Slots: the places in which jobs run, each with a worker or a thread.

pub(crate) mod background;
pub(crate) mod guest_slot;
pub(crate) mod layered_slot;
pub(crate) mod pace;
pub(crate) mod running_command;
pub(crate) mod slot;
pub(crate) mod slot_context;
pub(crate) mod slot_worker;
pub(crate) mod thread_slot;
