//! Policies as people and controllers write them: files, keys and sections, and how several sources become one.

pub(crate) mod allow;
pub(crate) mod file;
pub(crate) mod file_error;
pub(crate) mod merge;
pub(crate) mod module_key;
pub(crate) mod node;
pub(crate) mod path_text;
pub(crate) mod profile;
pub(crate) mod profile_list;
pub(crate) mod reader;
pub(crate) mod restrictions;
pub(crate) mod sent_policy;
pub(crate) mod task_key;
pub(crate) mod tools;
pub(crate) mod trust_rules;
mod trust_section;
