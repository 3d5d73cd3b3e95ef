//! What the end of a task means: its result, facts, counters, and the words of failures.

pub mod errors;
pub mod facts;
pub mod names;
pub mod projections;
pub mod result;
pub mod settle;
