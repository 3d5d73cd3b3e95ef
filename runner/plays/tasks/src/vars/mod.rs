//! Variables, in the order in which Ansible lets one hide another.
//!
//! All variables are in shared layers. The scope of a task is a list of them, so building it copies no values and costs
//! the same whatever the size of facts.

pub mod facts;
pub mod host;
pub mod interpreters;
pub mod job_folder;
pub mod layer;
pub mod magic;
pub mod stack;
