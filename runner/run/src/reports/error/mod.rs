//! Errors that keep a module from starting.

pub(crate) mod layered_error;
pub(crate) mod provider_error;
pub(crate) mod trial_error;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_kernel::KernelConfinement;
use modbox_kinds::{PrepareError, detect};
use modbox_native::NativeError;
use modbox_policy::Policy;
use modbox_scratch::ScratchError;
use modbox_vocabulary::Denial;
use modbox_wasm::WasmError;

use crate::modules::locate::LocateError;
use crate::python::PythonError;
use crate::reports::error::layered_error::LayeredError;
use crate::reports::error::provider_error::ProviderError;
use crate::reports::error::trial_error::TrialError;

/// An error that kept a module from starting.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The module's kind is unknown, not the declared one, or one that modbox never runs.
    #[error("failed to recognise the module")]
    Detect(#[from] detect::DetectError),
    /// The file is missing or was replaced since it was first read.
    #[error("failed to read the module again")]
    Read(#[from] LocateError),
    /// The kind is not supported, or the interpreter line is invalid.
    #[error("failed to prepare the module")]
    Prepare(#[from] PrepareError),
    /// A Python module could not be assembled.
    #[error("failed to put the module together with what it imports")]
    Python(#[from] PythonError),
    /// The module is not the one that its policy was made for: a file beside it was replaced.
    #[error("a file that `{0}` is run with has changed since the module was verified; run it again")]
    OtherParts(String),
    /// The policy says that Python modules run in the sandbox, and the sandbox lacks something for this one. The report
    /// does not show this as an error but as a denied run.
    #[error("the module {0}; `python: wasm` keeps it from running natively, which `python: auto` allows")]
    NotInSandbox(String),
    /// The policy grants commands outside, and they cannot run there. A module that starts them in its room would fail
    /// half-way, or tell what is true of the room alone. The report does not show this as an error but as a denied run.
    #[error(
        "the policy grants the command outside `{rule}` ({by}), and {why}, so the module was not run; take the grant from \
         the policy to run the module in its room"
    )]
    CommandsOutside {
        /// The rule, or the first of several.
        rule: String,
        /// Its source in the policy.
        by: String,
        /// Why it cannot run.
        why: String,
    },
    /// A Python module in the sandbox sees copies of the machine's lists of users, and one cannot be made.
    #[error("failed to copy the users and groups of the machine for the module; look at the space in TMPDIR")]
    CopyForGuest(#[source] std::io::Error),
    /// The interpreter of the sandbox could not compile a Python module.
    #[error("failed to compile the module in the sandbox: {0}; run it with `--python native`")]
    NotCompiled(String),
    /// A provider says nothing valid about itself.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The temporary directory could not be made.
    #[error("failed to make a temporary directory, where `TMPDIR` says")]
    Scratch(#[from] ScratchError),
    /// The monitor cannot act as the user whose run it is.
    #[error("failed to act as the user `{user}`")]
    User {
        /// Name of the user.
        user: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The user whose run it is cannot reach the temporary directory.
    #[error(
        "failed to use the temporary directory `{}` as the user `{user}`; set `TMPDIR` to a directory that all users can enter",
        path.display()
    )]
    ScratchOfUser {
        /// Name of the user.
        user: String,
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The run is another user's, and the guest would run in this process.
    #[error("failed to run the module as the user `{0}`: it would run in this process; configure workers")]
    UserWithoutWorker(String),
    /// The engine could not load or start the module.
    #[error("failed to load the module")]
    Wasm(#[from] WasmError),
    /// The engine could not load the module, and cannot load it at any other time.
    #[error("failed to load the module")]
    Unloadable(#[source] Arc<WasmError>),
    /// An error that several runs share.
    #[error(transparent)]
    Shared(Arc<RunError>),
    /// The process could not be started.
    #[error("failed to start the module")]
    Native(#[from] NativeError),
    /// The files of a trial could not be copied.
    #[error("failed to try the module on copies")]
    Trial(#[from] TrialError),
    /// Layers over the granted files could not be made.
    #[error("failed to run the module on layers")]
    Layered(#[from] LayeredError),
    /// The kernel gives less confinement than the policy requires. The report does not show this as an error but as a
    /// denied run.
    #[error("{}", .0.message)]
    Unconfined(Box<Shortfall>),
}

impl RunError {
    /// Returns the error of a policy with commands outside that cannot run, for this reason.
    pub(crate) fn commands_outside(policy: &Policy, why: String) -> Self {
        let (rule, by) =
            policy.outside().first().map(|grant| (grant.shown(), grant.source.to_string())).unwrap_or_default();
        Self::CommandsOutside { rule, by, why }
    }

    /// Returns the granted path that could not be used, since it was replaced or removed after it had been granted.
    pub(crate) fn changed_grant(&self) -> Option<String> {
        match self {
            Self::Native(NativeError::GrantChanged { path, .. }) => Some(path.clone()),
            Self::Wasm(WasmError::Open { path, .. }) => Some(path.display().to_string()),
            Self::Shared(error) => error.changed_grant(),
            _ => None,
        }
    }

    /// Returns whether commands outside cannot run, so that the module does not start.
    pub(crate) fn is_of_commands_outside(&self) -> bool {
        match self {
            Self::CommandsOutside { .. } => true,
            Self::Layered(error) => matches!(error, LayeredError::CommandsOutside(_)),
            Self::Trial(error) => matches!(error, TrialError::CommandsOutside(_)),
            Self::Shared(error) => error.is_of_commands_outside(),
            _ => false,
        }
    }

    /// Returns whether what would run is not what was verified.
    pub(crate) fn is_unverified(&self) -> bool {
        match self {
            Self::OtherParts(_) | Self::Python(PythonError::Changed(_)) => true,
            Self::Shared(error) => error.is_unverified(),
            _ => false,
        }
    }

    /// Returns whether the fault lies with modbox or this machine, and not with the module.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match self {
            Self::Detect(_) | Self::Read(_) | Self::Prepare(_) | Self::Unconfined(_) | Self::Trial(_) => false,
            Self::Layered(_) | Self::NotInSandbox(_) | Self::OtherParts(_) | Self::CommandsOutside { .. } => false,
            Self::Native(NativeError::GrantChanged { .. } | NativeError::Unreachable { .. }) | Self::Provider(_) => {
                false
            }
            // The program of a provider, or the interpreter of its script.
            Self::Native(error) if error.is_of_program() => false,
            Self::Scratch(_)
            | Self::User { .. }
            | Self::ScratchOfUser { .. }
            | Self::UserWithoutWorker(_)
            | Self::NotCompiled(_)
            | Self::CopyForGuest(_)
            | Self::Native(_) => true,
            Self::Shared(error) => error.is_internal(),
            Self::Python(error) => error.is_internal(),
            Self::Wasm(error) => error.is_internal(),
            Self::Unloadable(error) => error.is_internal(),
        }
    }
}

/// A run that the kernel would confine less than the policy requires: the level reached, the denial and the message.
#[derive(Debug)]
pub struct Shortfall {
    pub(crate) reached: KernelConfinement,
    pub(crate) denial: Denial,
    pub(crate) message: String,
}
