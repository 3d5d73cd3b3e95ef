//! What is handed to a sandbox, and what comes back.

pub use modbox_vocabulary::{
    Captured, Confinement, Denial, DenialLog, Exit, InputFile, Invocation, LimitHit, LimitKind, NativeProgram, Outcome,
    Program, Timing, Usage, WasmFormat, WasmProgram,
};
