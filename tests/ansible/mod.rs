//! Tasks, collections, hosts and releases of Ansible.

pub(crate) mod task;
