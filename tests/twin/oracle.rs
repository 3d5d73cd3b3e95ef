//! Random calls and tasks by modbox and by what it stands for. What of it is compared with the real ansible-core.

pub(crate) mod twin_modules;
pub(crate) mod twin_observed;
pub(crate) mod twin_python;
pub(crate) mod twin_runs;
pub(crate) mod twin_sandbox;
