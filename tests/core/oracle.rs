//! What a run is made of and what confines it. What of it is compared with the real ansible-core.

#[path = "contract/oracle.rs"]
pub(crate) mod contract;
#[path = "native/oracle_outside.rs"]
pub(crate) mod oracle_outside;
#[path = "native/oracle_system_modules.rs"]
mod oracle_system_modules;
