//! The rules that profiles are made of: for each, the commands by which Ansible's modules change a machine.
//!
//! No rule has a program that runs what a file or an argument says: shells, `pip`, `make`, `dpkg -i`. `tests` has commands that
//! pass and that do not.

mod accounts;
mod cron;
mod firewall;
mod host;
mod kernel;
mod packages;
mod section;
mod services;

pub use self::accounts::ACCOUNTS;
pub use self::cron::CRON;
pub use self::firewall::FIREWALL;
pub use self::host::HOST;
pub use self::kernel::KERNEL;
pub use self::packages::{PACKAGES, UPDATES};
pub use self::section::{ShippedRule, ShippedRules};
pub use self::services::SERVICES;
