//! What Ansible starts modbox for: components, Python modules, playbooks, and tasks that a controller sends.

pub(crate) mod ansible_call;
pub(crate) mod ansible_form;
pub(crate) mod installed_release;
pub(crate) mod playbook_program;
pub(crate) mod python_program;
pub(crate) mod python_rule;
pub(crate) mod sent_module;
