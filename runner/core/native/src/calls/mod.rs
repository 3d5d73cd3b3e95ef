//! Calls of a module that the kernel reports to the launcher: observed, counted, or made in the module's place.

pub(crate) mod attribute_calls;
pub(crate) mod charges;
pub(crate) mod denied_uses;
pub(crate) mod observe;
pub(crate) mod observed_commands;
pub(crate) mod observed_run;
pub(crate) mod owner_grants;
pub(crate) mod owners;
mod recorded_uses;
pub(crate) mod renames;
pub(crate) mod report_filter;
pub(crate) mod reported_calls;
pub(crate) mod set_id;
pub(crate) mod storage_flags;
pub(crate) mod written_programs;
