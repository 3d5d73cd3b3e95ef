//! Names that every template has: functions and `omit`.

mod functions;
mod table;

pub(crate) use table::globals;
