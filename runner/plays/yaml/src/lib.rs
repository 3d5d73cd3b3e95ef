//! YAML 1.1 as PyYAML's `SafeLoader` reads it, with positions.
//!
//! A [`Source`] is text that the author of a play or the operator wrote. It is the only type that can be parsed as a
//! template, and only this crate makes one. What modules print, facts, contents of files and environment variables are
//! values of another type, with no way to become a `Source`.
//!
//! Four functions make a `Source` of text: [`load_play_file`], [`load_extra_vars`] (with [`extra_vars_key_values`] for
//! its other notation), [`inventory_lines`] and [`template_file`]. Everything else derives a `Source` from another one.
//!
//! The parser follows libyaml, which is what ansible-core reads with; types of scalars, merge keys and tags follow
//! PyYAML and Ansible. `tests/oracle_yaml.rs` compares values, places, warnings and errors with the original.
//!
//! The crate does no I/O and evaluates nothing.
//!
//! ```
//! use modbox_yaml::load_play_file;
//!
//! let document = load_play_file("- copy: {mode: 0644}\n  name: on\n", "play.yml")?;
//! let task = document.root.as_list().and_then(|tasks| tasks[0].as_map()).unwrap();
//! let copy = task.get("copy").unwrap();
//! assert_eq!(modbox_python_json::str(&copy.to_data()?), "{'mode': 420}");
//! assert_eq!(task.get("name").unwrap().position().to_string(), "play.yml:2:9");
//! # Ok::<(), modbox_yaml::YamlError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod advice;
mod data;
mod derive;
mod error;
mod escapes;
mod events;
mod inventory;
mod key;
mod key_values;
mod limits;
mod load;
mod position;
mod read;
mod scalar;
mod source;
mod split_args;
mod tag;
mod warning;

pub use error::{Problem, YamlError};
pub use inventory::inventory_lines;
pub use key::Key;
pub use key_values::{key_values, unquoted};
pub use limits::{MAX_DEPTH, MAX_DOCUMENTS, MAX_EXPANDED_SIZE, MAX_NODES, MAX_TEXT};
pub use load::{Document, extra_vars_key_values, load_data, load_extra_vars, load_play_file, template_file};
pub use position::Position;
pub use source::{Entry, Map, Node, Source};
pub use warning::Warning;
