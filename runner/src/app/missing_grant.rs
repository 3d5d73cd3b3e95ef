//! Grants that a run needs before it starts, and lacks.

use std::fmt;

use modbox_vocabulary::Denial;

/// A grant that a run needs and lacks, and what the need comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingGrant {
    pub(super) denial: Denial,
    pub(super) need: Need,
}

/// What a missing grant is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// An argument names the path.
    Argument,
    /// An argument names a relative path, which the module would look for in its own directory.
    RelativeArgument,
    /// An argument names a path below a directory that the module has its own of.
    HiddenArgument,
    /// An option that is not given has the path as its default.
    Default,
    /// The module's metadata calls it required.
    Metadata,
    /// It is granted, and the kernel cannot enforce the grant for a native module; a wider one it can.
    Enforcement,
}

impl fmt::Display for MissingGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Denial { capability, subject, allow, .. } = &self.denial;
        match self.need {
            Need::Argument => write!(
                f,
                "an argument names `{subject}` to {capability}, and nothing grants that; allow it with `{allow}`, or in a policy file"
            ),
            Need::RelativeArgument => write!(
                f,
                "an argument names `{subject}` to {capability}, which the module would look for in a directory of its own; \
                 name it by its absolute path: `{allow}`"
            ),
            Need::HiddenArgument => write!(
                f,
                "an argument names `{subject}` to {capability}, where the module has a directory of its own; allow it with \
                 `{allow}`, and name it there"
            ),
            Need::Default => write!(
                f,
                "an option that is not given means `{subject}` to {capability}, and only what you name is granted; allow it \
                 with `{allow}`"
            ),
            Need::Metadata => write!(
                f,
                "the module cannot do without {capability} `{subject}`, and nothing grants that; allow it with `{allow}`, or \
                 in a policy file"
            ),
            Need::Enforcement => write!(
                f,
                "{capability} `{subject}` cannot be granted to a native module, since the kernel keeps one to the ports of \
                 connections, and neither to hosts nor to the ports of datagrams; `{allow}` grants what it can keep to"
            ),
        }
    }
}

/// Returns the message of a run that was not started for want of grants.
pub(super) fn message(missing: &[MissingGrant]) -> String {
    missing.iter().map(MissingGrant::to_string).collect::<Vec<_>>().join("; ")
}
