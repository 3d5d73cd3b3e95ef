//! Modules as tools of agents, for a client of npm.

pub(crate) mod npm_clients;
