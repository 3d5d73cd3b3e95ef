//! What interpreters answered, and the stamps of the files that answers and other cached results depend on.

pub(super) mod facts;
pub(super) mod probes;
pub(super) mod routings;
pub(super) mod stamp;
