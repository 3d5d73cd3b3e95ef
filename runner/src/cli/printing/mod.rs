//! Output for people and programs: text, colours, pages, and the changes of runs on layers.

pub(crate) mod clean;
pub(crate) mod diff_lines;
pub(crate) mod effect_output;
pub(crate) mod folded_yaml;
pub(crate) mod html;
pub(crate) mod job_summary;
pub(crate) mod output;
pub(crate) mod resource_output;
pub(crate) mod usage_tips;
