//! Limits on compiling, and their messages.

use std::time::Duration;

use modbox_vocabulary::time::micros;
use modbox_vocabulary::{LimitHit, LimitKind, Unit};

/// A limit on compiling that a module passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompileLimit {
    /// The module itself is too large.
    #[error(
        "the module has {}, more than the limit of {}; raise it with `--max-module`",
        size(*bytes), size(*allowed)
    )]
    Module {
        /// The module's size.
        bytes: u64,
        /// The largest size allowed.
        allowed: u64,
    },
    /// Compiling takes too long.
    #[error("the module takes longer to compile than the limit of {}; raise it with `--compile-time`", time(*.0))]
    Time(Duration),
    /// Compiling takes too much memory.
    #[error("the module takes more memory to compile than the limit of {}; raise it with `--compile-memory`", size(*.0))]
    Memory(u64),
}

fn size(bytes: u64) -> String {
    bytesize::ByteSize(bytes).display().iec().to_string()
}

fn time(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

impl CompileLimit {
    /// Returns the limit in the form of a report.
    #[must_use]
    pub fn hit(self) -> LimitHit {
        let (allowed, unit) = match self {
            Self::Module { allowed, .. } | Self::Memory(allowed) => (allowed, Unit::Bytes),
            Self::Time(allowed) => (micros(allowed), LimitKind::Compile.unit()),
        };
        LimitHit { kind: LimitKind::Compile, allowed, unit }
    }
}
