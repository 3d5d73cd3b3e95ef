//! JSON as Python's `json` module reads and writes it, and Python's `str()` and `repr()` of the values.
//!
//! CPython defines Ansible's contract: its decoder accepts `NaN` and integers of any size, its error messages are part
//! of a failed result, its encoder writes ASCII, and its `str()` and `repr()` appear in argument files and validation
//! messages. No general JSON library does all of this, so the runner and guests share this crate.
//!
//! The crate does no I/O and knows nothing about modules.
//!
//! ```
//! use modbox_python_json::{decode, encode};
//!
//! let value = decode(r#"{"n": 123456789012345678901234567890, "x": NaN}"#)?;
//! assert_eq!(encode(&value), r#"{"n": 123456789012345678901234567890, "x": NaN}"#);
//! assert_eq!(
//!     decode("{} x").unwrap_err().to_string(),
//!     "Extra data: line 1 column 4 (char 3)"
//! );
//! # Ok::<(), modbox_python_json::DecodeError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod decode;
mod encode;
mod from_value;
mod serde_value;
mod text;
mod to_json;
mod to_value;
mod value;

pub use decode::{DecodeError, MAX_DEPTH, MAX_INT_DIGITS, decode};
pub use encode::{encode, encode_dict};
pub use from_value::{ConvertError, from_value};
pub use text::{repr, str, str_repr};
pub use to_json::to_json;
pub use to_value::to_value;
pub use value::{BigInt, Dict, Surrogates, Value};
