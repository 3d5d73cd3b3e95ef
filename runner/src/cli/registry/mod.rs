//! Registries, as commands use them.
//!
//! | file | content |
//! |---|---|
//! | `access` | sessions with registries: logins, authorities, limits |
//! | `authorities` | certificates of those who vouch for servers |
//! | `logins` | the files of docker's and podman's logins |
//! | `found` | the module that a reference names |
//! | `installation` | the user's library |
//! | `judged` | judges modules by the trust rules |
//! | `progress` | the bar while content comes |

mod access;
mod authorities;
mod found;
mod installation;
mod judged;
mod logins;
mod progress;
mod proxies;

pub(crate) use self::access::RegistryAccess;
pub(crate) use self::found::{ReferenceLookup, check_locked, is_reference};
pub(crate) use self::installation::UserLibrary;
pub(crate) use self::judged::{JudgedModule, ModuleJudge, say_left_out};
