//! Which task comes next, and which handlers run.

pub mod after_commit;
pub mod handlers;
pub mod iterator;
pub mod late_handlers;
