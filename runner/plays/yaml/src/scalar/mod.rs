//! Scalars: which type a plain one has, and the value of each type, as PyYAML decides.

mod binary;
mod boolean;
mod decimal;
mod float;
mod integer;
mod resolve;
mod timestamp;

pub(crate) use binary::decode_base64;
pub(crate) use boolean::bool_value;
pub(crate) use float::float_value;
pub(crate) use integer::int_value;
pub(crate) use resolve::resolve;
pub(crate) use timestamp::iso_text;
