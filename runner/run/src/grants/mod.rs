//! What a run may reach: the operator's policy, what arguments designate, and what the run lacks.

pub(crate) mod checked_arguments;
pub(crate) mod confine;
pub(crate) mod designation;
pub(crate) mod grant;
pub(crate) mod managed;
pub(crate) mod native;
pub(crate) mod observed_variables;
pub(crate) mod outside_programs;
pub(crate) mod outward_links;
pub(crate) mod real_run;
pub(crate) mod requests;
pub(crate) mod run_user;
pub(crate) mod way;
