//! `modbox mcp`: modules as tools of an agent.
//!
//! A client starts the program and calls tools over standard input and output. `modbox-agents` has the protocol and what clients
//! see; this folder finds the modules, decides what each may do, and runs the calls.
//!
//! | file | content |
//! |---|---|
//! | `standpoint` | the command without its working directory, in which an agent can put files |
//! | `tool_settings` | what policy files say of tools |
//! | `candidates` | the modules that policy files name |
//! | `catalogue` | from modules to tools, and why some are left out |
//! | `described` | the options of a module |
//! | `examined` | reads all modules, several at a time |
//! | `interpreters` | what runs modules, which no tool may write |
//! | `needs` | what a module cannot do without |
//! | `host` | runs calls |
//! | `gate` | what a person is asked before a change |
//! | `held` | the same for a run that was given what a person is asked for |
//! | `plans` | what is kept until a person has decided |
//! | `decision` | does what a person has decided |
//! | `taken_back` | what a run has changed, for who takes it back |
//! | `outcome` | from a report to an answer |
//! | `wanted` | what a call lacks and a person is asked for |
//! | `shown` | `--show` |

pub(crate) mod candidates;
pub(crate) mod catalogue;
pub(crate) mod decision;
mod described;
pub(crate) mod examined;
pub(crate) mod gate;
mod held;
pub(crate) mod host;
mod interpreters;
mod needs;
mod outcome;
pub(crate) mod plans;
pub(crate) mod shown;
pub(crate) mod standpoint;
mod taken_back;
pub(crate) mod tool_settings;
mod wanted;
