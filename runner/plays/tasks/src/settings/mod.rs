//! Settings of ansible-core: the table of them, and their values as variables of the environment and `ansible.cfg` give them.
//!
//! Finding and reading the file, and doing what settings say, is the work of the caller.

mod file;
mod setting;
mod table;
mod value;
mod variables;

pub use file::{FileSettings, read_file};
pub use setting::{Key, Kind, Setting, Status};
pub use table::{ALL, find};
pub use value::parse;
pub use variables::VARIABLES;
