//! New-style Python modules, natively and in the sandbox. What of it is compared with the real ansible-core.

pub(crate) mod oracle_advice;
pub(crate) mod oracle_facts;
pub(crate) mod oracle_names;
pub(crate) mod oracle_path_uses;
pub(crate) mod oracle_python_files;
pub(crate) mod oracle_python_machine;
pub(crate) mod oracle_python_outside;
pub(crate) mod oracle_python_places;
pub(crate) mod oracle_python_program;
pub(crate) mod oracle_python_secrets;
pub(crate) mod oracle_secrets;
pub(crate) mod python_closure;
pub(crate) mod python_confined;
pub(crate) mod python_embeds;
pub(crate) mod python_interpreters;
pub(crate) mod python_modules;
pub(crate) mod python_runs;
