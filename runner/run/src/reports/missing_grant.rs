//! Grants that a run needs but lacks, and the message that names them before the run starts.

use std::fmt;

use modbox_vocabulary::Denial;

use crate::request::argument_origin::{ArgumentOrigin, Distrust};

/// A grant that a run needs but lacks, and the source of the need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingGrant {
    pub(crate) denial: Denial,
    pub(crate) need: Need,
}

/// Source of the need for a missing grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Need {
    /// An argument names the path.
    Argument,
    /// An argument names the path, and where the argument comes from keeps it from granting that.
    MadeArgument(ArgumentOrigin),
    /// An argument names a relative path, which the module would look for in its own directory.
    RelativeArgument,
    /// An argument names a path that a directory of the guest, such as `/tmp`, hides.
    HiddenArgument,
    /// An argument names a path that the module makes, replaces or removes as an entry of its directory, and a native
    /// module can change the entries of a directory only if all of it is granted.
    Entry,
    /// An argument names a path to write, and a link on the way is one that another user can have made.
    Link {
        /// The link.
        link: String,
    },
    /// An argument names a path that the kernel does not let this user look at; why.
    Unreachable(String),
    /// An option asks the module for another file beside the path.
    Beside {
        /// The option.
        option: String,
    },
    /// The default of an omitted option is the path.
    Default,
    /// The module's metadata requests it as required.
    Metadata,
    /// The policy grants it, but the kernel cannot enforce it for a native module; it can enforce a wider grant.
    Enforcement,
    /// The policy grants a path, and the user whose run it is cannot reach it.
    Reach {
        /// Name of the user.
        user: String,
        /// The reason.
        reason: String,
    },
    /// The policy grants a file for writing, and the user whose run it is cannot write it.
    Rights {
        /// Name of the user, if it is another one than the user who runs modbox.
        user: Option<String>,
        /// The reason, and what to do.
        reason: String,
    },
}

impl fmt::Display for MissingGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Denial { capability, subject, allow, .. } = &self.denial;
        match &self.need {
            Need::Argument => write!(
                f,
                "an argument names `{subject}` to {capability}, and nothing grants that; allow it with `{allow}`, or in a policy file"
            ),
            Need::MadeArgument(ArgumentOrigin { argument, made_from, distrust }) => {
                let rule = match distrust {
                    Distrust::Results => "`designated-by-results` of the policy keeps what modules return",
                    Distrust::Outside => "`--strict` keeps text outside of the play's folder",
                };
                write!(
                    f,
                    "`{argument}` names `{subject}` to {capability}; it was made from {made_from}, and {rule} from granting a \
                     path; allow it with `{allow}`, or in a policy file"
                )
            }
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
            Need::Entry => write!(
                f,
                "an argument names `{subject}`, which the module makes, replaces or removes in its directory; a native module \
                 needs that directory for it: allow it with `{allow}`, or in a policy file"
            ),
            Need::Link { link } => write!(
                f,
                "an argument names `{subject}` to {capability}, and `{link}` is a link that another user can have made; name \
                 its target"
            ),
            Need::Unreachable(why) => write!(f, "an argument names `{subject}` to {capability}: {why}"),
            Need::Beside { option } => write!(
                f,
                "`{option}` makes a file beside `{subject}`, which is kept only in a directory that is granted; allow it \
                 with `{allow}`, or in a policy file"
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
            Need::Reach { user, reason } => write!(
                f,
                "`{subject}` cannot be granted to a module of the user `{user}`, who cannot reach it: {reason}; let this user \
                 enter the directories that lead to it, or run the module as another user"
            ),
            Need::Rights { user, reason } => {
                write!(f, "`{subject}` cannot be granted to a native module for writing")?;
                user.iter().try_for_each(|user| write!(f, " as the user `{user}`"))?;
                write!(f, ": {reason}")
            }
        }
    }
}

/// Returns the message of a run that did not start because grants are missing.
pub(crate) fn message(missing: &[MissingGrant]) -> String {
    missing.iter().map(MissingGrant::to_string).collect::<Vec<_>>().join("; ")
}
