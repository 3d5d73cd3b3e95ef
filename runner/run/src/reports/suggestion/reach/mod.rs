//! What an observed run needs in confinement: profiles for the commands that they cover, commands outside for a person to decide,
//! and few paths.
//!
//! A run is judged by what its record says of the host: nothing here looks at the machine on which it is called. Without commands in
//! the record, such as in one of an older modbox, paths are all that is known.

mod commands;
mod learned;
mod limits;
mod needs;
mod page;
mod paths;
#[cfg(test)]
mod tests;
mod unconfinable;

pub use self::learned::{LearnedPolicy, LearnedTask};
pub use self::page::render_learned;
