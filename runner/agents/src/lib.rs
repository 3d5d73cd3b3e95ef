//! Modules as tools of agents: their names, definitions and answers, and the Model Context Protocol by which a client lists
//! and calls them.
//!
//! Knows what a client and a model see of a module. Does not find, run or confine modules and decides about no grant: who
//! serves tools says what each may do, and answers each call.
//!
//! | module | content |
//! |---|---|
//! | [`name`] | names of tools, made of names of modules |
//! | [`text`] | texts of modules, bounded and without characters that hide something |
//! | [`schema`] | the JSON schema of a module's options |
//! | [`tool`] | the definition of a tool |
//! | [`arguments`] | checks of a call's arguments before anything is started |
//! | [`answer`] | what a call is answered with |
//! | [`own`] | tools of modbox's own |
//! | `search` | modules found by words |
//! | [`question`] | what a person is asked before a change |
//! | [`wire`] | the protocol; it alone names the crate `rmcp` |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod answer;
pub mod arguments;
mod json;
pub mod name;
pub mod own;
pub mod question;
mod rules;
pub mod schema;
mod search;
pub mod text;
pub mod tool;
pub mod wire;
