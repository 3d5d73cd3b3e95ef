//! Python's view of minijinja's values: kinds, text, truth, equality, order and hashing.
//!
//! minijinja compares and prints values by its own rules. The functions here are Python's. They bound their depth and
//! their work, because a template can build values that are small in memory and huge to walk.

mod dates;
mod equality;
mod hashing;
mod json;
mod mutable;
mod number;
mod opaque;
mod ordering;
mod text;
mod view;
mod walk;

pub use dates::{Calendar, Clock, Duration, Moment, Offset};
pub use equality::{contains, equal};
pub use hashing::{Key, Table};
pub use json::{from_json, to_json};
pub use mutable::{MutableDict, MutableList, mutable};
pub use number::{Number, parse_float, parse_int};
pub use opaque::{LongInteger, SurrogateText};
pub use ordering::{compare, less, sort};
pub use text::{repr, text};
pub use view::{View, entries, is_true, items, type_name, view};
pub use walk::{ValueError, Walk};
