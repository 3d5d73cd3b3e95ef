//! Modules as tools of agents, for clients of others.

pub(crate) mod oracle_clients;
