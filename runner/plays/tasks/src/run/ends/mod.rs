//! What the end of a task means for variables: facts, and what `register` makes of the result.

pub mod facts;
pub mod projections;
