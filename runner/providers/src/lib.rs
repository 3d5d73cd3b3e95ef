//! Providers of libral: what a provider says about itself, how an action is called, and what its output means.
//!
//! A provider is a program that manages resources of one type, such as services. It gets one action as `name=value`
//! words, or as JSON on standard input, and prints resources or changes. This crate is pure: it reads no file and starts
//! no process, so each rule is tested as a table. `modbox` finds the programs and runs them in the sandbox.
//!
//! | file | content |
//! |---|---|
//! | `text` | text of any bytes, as arguments and output of programs are |
//! | `value` | the value of an attribute |
//! | `attribute` | the declaration of an attribute: type, kind, access to paths |
//! | `suitability` | the condition under which a provider works on a machine |
//! | `metadata` | the declaration of a provider, in YAML or as a value |
//! | `action` | the actions of both calling conventions |
//! | `argument` | words for a program, with quoting that keeps every byte |
//! | `raw_call` | one action from the arguments of a task |
//! | `resource` | resources and changes |
//! | `failure` | the failures of an action, and which one counts |
//! | `finding` | the results of actions, before they are merged |
//! | `lines` | the grammar of the simple convention |
//! | `simple` | the output of `find`, `list` and `update` |
//! | `json` | the input and output of `get` and `set` |
//! | `interpret` | the result of any action, typed and as an object |
//! | `log` | the levels of lines on standard error |
//! | `desired` | attributes that a caller sets |
//! | `update` | comparison before an update, and its changes afterwards |
//! | `select` | the choice of a provider by its name |
//! | `ralsh_text`, `ralsh_json` | the output formats of libral's own program |
//!
//! The rules are those of libral's documents. Where libral's program and its documents differ, a comment beside the code
//! names the choice.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod action;
mod argument;
mod attribute;
mod blind;
mod desired;
mod failure;
mod finding;
mod formats;
mod interpret;
mod log;
mod metadata;
mod resource;
mod select;
mod suitability;
mod text;
pub mod update;
mod value;

pub use self::formats::json;
pub use self::formats::ralsh_json;
pub use self::formats::ralsh_text;
pub use self::formats::raw_call::{RawCall, RawCallError};
pub use self::formats::simple;
pub use action::{Action, Convention, UnknownAction};
pub use argument::{ArgumentError, MAX_ARGUMENT, MAX_ARGUMENTS, assignment, simple_arguments};
pub use attribute::{Attribute, AttributeKind, AttributeType, PathAccess, ValueError};
pub use desired::{GivenError, parse_given, read_given};
pub use failure::{ActionEnd, ActionOutput, OutputError, ProviderFailure};
pub use finding::{FindResult, ListResult, UpdateReport};
pub use interpret::{ActionResult, describe, interpret};
pub use log::{LogLevel, LogLine, MAX_LOG_LINES, log_lines};
pub use metadata::{MAX_METADATA_BYTES, Metadata, MetadataError};
pub use resource::{Attributes, Change, Resource};
pub use select::{SelectError, select};
pub use suitability::{CommandRule, Suitability, SuitableRule};
pub use text::Text;
pub use value::AttributeValue;
