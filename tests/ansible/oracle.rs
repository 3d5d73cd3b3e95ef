//! Tasks, collections, hosts and releases of Ansible. What of it is compared with the real ansible-core.

pub(crate) mod oracle_become;
pub(crate) mod oracle_collection;
pub(crate) mod oracle_containers;
pub(crate) mod oracle_controller;
pub(crate) mod oracle_fleet;
pub(crate) mod oracle_hosts;
pub(crate) mod oracle_playbook;
pub(crate) mod oracle_sanity;
pub(crate) mod oracle_wheels;
