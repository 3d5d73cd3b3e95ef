//! Ansible's templates: lazy variables, native results, undefined values as markers.
//!
//! # Trust
//!
//! Two types hold text. A [`modbox_yaml::Source`] is text of a play, and the only type that is parsed as a template. A
//! [`Value`] is data: results of modules, facts, contents of files, and everything that rendering makes. There is no
//! function from a value to a source, so data is never a template, whatever is in it:
//!
//! ```compile_fail,E0308
//! use modbox_template::{Engine, Scope, Value};
//!
//! Engine::default().evaluate(&Value::from("{{ 1 + 1 }}"), &Scope::new());
//! ```
//!
//! # Use
//!
//! ```
//! use std::sync::Arc;
//! use modbox_template::{Engine, Layer, Origin, Scope, Slot, Value};
//! use modbox_yaml::load_play_file;
//!
//! let play = load_play_file("greeting: Hello {{ name }}\nnumber: '{{ 1 + 1 }}'\n", "play.yml")?.root;
//! let mut facts = Layer::default();
//! facts.insert("name", Slot::value(Value::from("{{ 7 * 7 }}"), Origin::Facts));
//! let scope: Scope = [Arc::new(facts)].into_iter().collect();
//!
//! let made = Engine::default().evaluate(&play, &scope)?;
//! assert_eq!(made.value.get_attr("greeting")?.as_str(), Some("Hello {{ 7 * 7 }}"));
//! assert_eq!(made.value.get_attr("number")?.as_i64(), Some(2));
//! assert!(made.provenance.has_results());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate does no I/O: lookups, files and the clock come from the caller.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod blocks;
mod cache;
mod call_errors;
mod check;
mod compile;
mod condition;
mod engine;
mod error;
mod evaluation;
mod files;
mod frame;
mod globals;
mod lazy;
mod limits;
mod lookup;
mod lookups;
mod loop_items;
mod machine;
mod marker;
mod merge;
mod methods;
mod named_files;
mod nested;
mod objects;
mod omit;
mod options;
mod origin;
mod plugins;
mod processor_time;
mod python;
mod python_plugins;
mod result;
mod run;
mod scope;
mod settling;
mod text;
mod types;
mod vault;

pub use check::{Finding, Problem};
pub use engine::{Config, Engine, Evaluated, is_template};
pub use error::{Kind, TemplateError};
pub use files::TemplateFiles;
pub use lookup::{FileRenderer, LookupCall, LookupError, Lookups, NoLookups};
pub use lookups::{KnownLookup, known_lookup, known_lookups};
pub use minijinja::Value;
pub use modbox_jinja::{FileQuestion, Host, HostError, NoHost, PluginKind};
pub use named_files::{FileUse, NamedFile};
pub use options::TemplateOptions;
pub use origin::{Origin, Provenance};
pub use python_plugins::{CallVariables, NoPythonPlugins, PluginCall, PluginFailure, PythonPlugins, Variable};
pub use scope::{Content, Layer, Scope, Slot};
pub use vault::{Decrypter, NoPasswords};
