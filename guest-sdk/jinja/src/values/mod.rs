//! Python's view of minijinja's values: kinds, text, truth, equality, order and hashing.
//!
//! minijinja compares and prints values by its own rules. The functions here are Python's. They bound their depth and
//! their work, because a template can build values that are small in memory and huge to walk.

mod access;
mod dates;
mod decimal;
mod equality;
mod group;
mod json;
mod mutable;
mod number;
mod opaque;
mod ordering;
mod range;
mod table;
mod text;
mod view;
mod walk;

pub use access::get_item;
pub use dates::{Calendar, Clock, Duration, Moment, Offset, ParseError, strptime};
pub use decimal::decimal_digit;
pub use equality::{ContainsError, Key, contains, equal};
pub use group::Group;
pub use json::{from_json, to_json};
pub use mutable::{MutableDict, MutableList, mutable};
pub use number::{Number, parse_float, parse_int, whole_number};
pub use opaque::{LongInteger, SurrogateText};
pub use ordering::{compare, less, sort};
pub use range::{MAX_RANGE, Range, RangeItems};
pub use table::Table;
pub use text::{repr, text};
pub use view::{View, entries, is_true, items, type_name, view};
pub use walk::{ValueError, Walk};

pub(crate) use access::{identity, position};
pub(crate) use dates::{Fields, strftime};
pub(crate) use decimal::is_python_space;
pub(crate) use json::key_text;
pub(crate) use number::integer;
