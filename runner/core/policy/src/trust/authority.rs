//! Every way in which a run has more authority over the machine, or less confinement, than a run without any grant. Ceilings
//! judge this list, so it has to be whole: see `authorities`.
//!
//! Not in the list, since they give no authority of their own: the access that arguments designate, which ceilings lower, and
//! whose paths are grants by the time that a run is judged; a module's own check mode and background jobs, which have the
//! grants of the run; commands of a module, which are confined like it; limits, which protect the caller's resources.

use modbox_vocabulary::{Capability, Grant, GrantSource};

use crate::grants::{EnvGrant, PathGrant};
use crate::min_confinement::MinConfinement;
use crate::net::{ListenGrant, NetGrant};
use crate::outside::OutsideGrant;
use crate::run::RunGrant;
use crate::users::own::OwnerGrant;

/// One way in which a run has more authority, or less confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authority<'p> {
    /// Everything is granted, by this source.
    Everything(&'p GrantSource),
    /// The run is observed and not confined, as this source says.
    Observation(&'p str),
    /// A lower level of confinement than the default is enough.
    Confinement(&'p MinConfinement),
    /// A path.
    Path(&'p PathGrant),
    /// An owner of files.
    Owner(&'p OwnerGrant),
    /// An environment variable.
    Variable(&'p EnvGrant),
    /// A destination on the network.
    Destination(&'p NetGrant),
    /// An address to listen on.
    Address(&'p ListenGrant),
    /// A command.
    Command(&'p RunGrant),
    /// A command outside of the room.
    OutsideCommand(&'p OutsideGrant),
}

impl Authority<'_> {
    /// Returns the line of reports.
    pub(crate) fn line(self) -> Grant {
        let (capability, subject, source) = match self {
            Self::Everything(source) => (Capability::All, "*".to_owned(), source.clone()),
            Self::Observation(source) => (Capability::All, "*".to_owned(), GrantSource::named(source)),
            Self::Confinement(least) => {
                (Capability::Confinement, format!("level {}", least.level), least.source.clone())
            }
            Self::Path(grant) => (grant.access.capability(), grant.host.display().to_string(), grant.source.clone()),
            Self::Owner(grant) => (Capability::Own, grant.written.clone(), grant.source.clone()),
            Self::Variable(grant) => (Capability::Env, grant.name.clone(), grant.source.clone()),
            Self::Destination(grant) => (Capability::Net, grant.rule.to_string(), grant.source.clone()),
            Self::Address(grant) => (Capability::Listen, grant.rule.to_string(), grant.source.clone()),
            Self::Command(grant) => (Capability::Run, grant.rule.to_string(), grant.source.clone()),
            Self::OutsideCommand(grant) => (Capability::Outside, grant.shown(), grant.source.clone()),
        };
        Grant { capability, subject, source }
    }

    /// Returns what the run would get, after "may not".
    pub(crate) fn wish(self) -> String {
        let Grant { capability, subject, .. } = self.line();
        match self {
            Self::Everything(_) => "be given everything".to_owned(),
            Self::Observation(_) => "run without confinement".to_owned(),
            Self::Confinement(_) => format!("be confined as little as {subject}"),
            _ => format!("be given {capability} `{subject}`"),
        }
    }

    /// Returns where the authority comes from, as the end of a sentence.
    pub(crate) fn origin(self) -> String {
        let Grant { source, .. } = self.line();
        match self {
            Self::Observation(_) => format!("as `python-modules: observe` of {source} says"),
            Self::Confinement(_) => format!("as {source} says"),
            _ => format!("which {source} grants"),
        }
    }
}
