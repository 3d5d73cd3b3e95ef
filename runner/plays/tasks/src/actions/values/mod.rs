//! Actions about variables, facts, groups and conditions.

pub mod add_host;
pub mod assert;
pub mod debug;
pub mod fail;
pub mod gather_facts;
pub mod group_by;
pub mod include_vars;
pub mod set_fact;
pub mod set_stats;
pub mod validate_argument_spec;
