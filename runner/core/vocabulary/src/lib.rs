//! The shared types of modbox's layers: plain types without I/O, and the pure functions of [`quoting`] and [`time`].
//!
//! Each type has one spelling in reports, in the audit log, on the channels between processes and in messages. serde
//! and strum derive it from the type, so that no separate list of words is needed. This crate does not know policies,
//! sandboxes or the command line, and depends on no other crate of modbox.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod capability;
mod command;
mod confinement_layer;
mod denial;
mod error_chain;
mod fingerprint;
mod grant_source;
mod http_stub;
mod invocation;
mod limits;
mod lost;
mod name_pattern;
pub mod native_path;
mod observation;
mod operation;
mod outcome;
mod outside;
mod path_names;
pub mod quoting;
pub mod time;
mod user;

pub use capability::{Capability, Grant};
pub use command::{CommandEnd, CommandOutput, CommandRefusal, CommandRequest, CommandService};
pub use confinement_layer::ConfinementLayer;
pub use denial::{Denial, DenialLog, Hint, HintSource};
pub use error_chain::{error_chain, error_text, in_words};
pub use fingerprint::FileFingerprint;
pub use grant_source::GrantSource;
pub use http_stub::{HttpStub, StubAnswer, StubbedRequest};
pub use invocation::{
    DirectProgram, InputFile, Invocation, NativeProgram, Program, RuntimePath, WasmFormat, WasmProgram,
};
pub use limits::{
    DEFAULT_COMPILE_MEMORY, DEFAULT_COMPILE_TIME, DEFAULT_CPU_TIME, DEFAULT_MAX_DESCRIPTORS, DEFAULT_MAX_DISK,
    DEFAULT_MAX_FILES, DEFAULT_MAX_MEMORY, DEFAULT_MAX_MODULE, DEFAULT_MAX_OUTPUT, DEFAULT_MAX_PROCESSES,
    DEFAULT_MAX_TMP, DEFAULT_OUTSIDE_TIME, DEFAULT_TIMEOUT, LimitHit, LimitKind, Limits, MAX_HANDLES, Unit,
};
pub use lost::LostChange;
pub use name_pattern::NamePattern;
pub use observation::{MODULE, Observation, ObservedCommand, ObservedUse, PathState};
pub use operation::Operation;
pub use outcome::{CapturedOutput, Confinement, Exit, Outcome, Timing, Usage};
pub use outside::{OutsideEnd, OutsideRun};
pub use path_names::names_from_last;
pub use user::User;
