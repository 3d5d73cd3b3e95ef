//! What is prepared for one run, its execution in the sandbox of its kind, and the judgement of its outcome.

pub(crate) mod apt_settings;
pub(crate) mod closure_search;
pub(crate) mod commands;
pub(crate) mod engines;
pub(crate) mod execute;
pub(crate) mod execute_guest;
pub(crate) mod execute_native;
pub(crate) mod judge;
pub(crate) mod outside_request;
pub(crate) mod prepare;
mod provider_verdict;
pub(crate) mod replaced_paths;
