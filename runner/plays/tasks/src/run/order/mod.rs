//! Which task comes next, and which handlers run.

pub mod handlers;
pub mod iterator;
pub mod late_handlers;
