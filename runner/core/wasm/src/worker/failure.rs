//! The form in which a worker sends why it could not load code or start a guest.

use std::path::PathBuf;

use modbox_vocabulary::{error_chain, native_path};
use serde::{Deserialize, Serialize};

use crate::error::WasmError;

/// A [`WasmError`] of a worker. The causes are texts, because an error of the engine has no other form outside of its
/// process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum StartFailure {
    Engine(String),
    Code(String),
    Link(String),
    Open(#[serde(with = "native_path")] PathBuf, String),
    Runtime(String),
}

impl From<WasmError> for StartFailure {
    fn from(error: WasmError) -> Self {
        let cause = |cause: &(dyn std::error::Error + 'static)| error_chain(cause);
        match &error {
            WasmError::Unfit(source) | WasmError::Code(source) => Self::Code(cause(&**source)),
            WasmError::Link(source) => Self::Link(cause(&**source)),
            WasmError::Open { path, source } => Self::Open(path.clone(), cause(&**source)),
            WasmError::Runtime(source) => Self::Runtime(source.to_string()),
            WasmError::Engine(source) => Self::Engine(cause(&**source)),
            other => Self::Engine(error_chain(other)),
        }
    }
}

impl From<StartFailure> for WasmError {
    fn from(failure: StartFailure) -> Self {
        match failure {
            StartFailure::Engine(cause) => Self::Engine(cause.into()),
            StartFailure::Code(cause) => Self::Code(cause.into()),
            StartFailure::Link(cause) => Self::Link(cause.into()),
            StartFailure::Open(path, cause) => Self::Open { path, source: cause.into() },
            StartFailure::Runtime(cause) => Self::Runtime(std::io::Error::other(cause)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_the_same_on_both_sides() {
        for error in [
            WasmError::Engine("no signals".into()),
            WasmError::Link("no `x:y/z`".into()),
            WasmError::Open { path: "/srv/x".into(), source: "gone".into() },
            WasmError::Runtime(std::io::Error::other("no descriptors")),
            WasmError::Code("another release".into()),
        ] {
            let (text, internal) = (error_chain(&error), error.is_internal());
            let sent: StartFailure =
                serde_json::from_str(&serde_json::to_string(&StartFailure::from(error)).unwrap()).unwrap();
            let received = WasmError::from(sent);
            assert_eq!((error_chain(&received), received.is_internal()), (text, internal));
        }
    }
}
