//! The rules of one source of a policy.

use std::path::PathBuf;

use modbox_vocabulary::GrantSource;

use crate::access::Access;
use crate::designated::Designated;
use crate::grants::{EnvGrant, PathGrant};
use crate::limit::LimitOverrides;
use crate::net::{ListenGrant, NetGrant};
use crate::outside::OutsideGrant;
use crate::rules::accept_policy::AcceptPolicy;
use crate::rules::check_rule::CheckRule;
use crate::rules::python_place::PythonPlace;
use crate::rules::python_rule::PythonRule;
use crate::run::RunGrant;
use crate::users::own::OwnerGrant;

/// A link on the way that names a granted path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedLink {
    /// The link's own absolute path, without other links.
    pub path: String,
    /// The granted path that the way ends at, without links.
    pub leads_to: String,
}

/// The rules of one source, with names and paths resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The source. The command line has none, since its options are named separately, such as `--max-memory`.
    pub source: Option<GrantSource>,
    /// Files and directories.
    pub paths: Vec<PathGrant>,
    /// The links on the ways that name granted paths.
    pub links: Vec<NamedLink>,
    /// Environment variables.
    pub env: Vec<EnvGrant>,
    /// The permitted owners of files.
    pub own: Vec<OwnerGrant>,
    /// The permitted destinations on the network.
    pub net: Vec<NetGrant>,
    /// The addresses on which the module may listen.
    pub listen: Vec<ListenGrant>,
    /// The commands that the module may run.
    pub run: Vec<RunGrant>,
    /// The commands that the module may run outside of its room.
    pub outside: Vec<OutsideGrant>,
    /// The source that grants everything, if this one does.
    pub everything: Option<GrantSource>,
    /// The access that naming a path in an argument grants.
    pub designated: Option<Designated>,
    /// The access that an argument grants that a play made from results of modules.
    pub designated_by_results: Option<Designated>,
    /// Options that name paths, with the access of each.
    pub designates: Vec<(String, Access)>,
    /// The limits that this source sets.
    pub limits: LimitOverrides,
    /// What check mode does.
    pub check: Option<CheckRule>,
    /// Where Python modules run.
    pub python: Option<PythonPlace>,
    /// What `modbox-python` does with modules.
    pub python_modules: Option<PythonRule>,
    /// The required minimum level of confinement.
    pub min_confinement: Option<u8>,
    /// What is accepted from the policy of a task.
    pub accept_policy: Option<AcceptPolicy>,
    /// The audit files of this source.
    pub audit: Vec<PathBuf>,
    /// Whether results for ansible-core have the audit line in them.
    pub audit_in_results: Option<bool>,
    /// Whether this source only restricts: its limits lower those of earlier ones or the defaults, and its level of
    /// confinement is required only if it is higher.
    pub narrows: bool,
}

impl Rules {
    /// Adds the grants of other rules. All else of these counts for nothing.
    pub fn add_grants(&mut self, other: Self) {
        let Self { paths, links, env, own, net, listen, run, outside, .. } = other;
        self.paths.extend(paths);
        self.links.extend(links);
        self.env.extend(env);
        self.own.extend(own);
        self.net.extend(net);
        self.listen.extend(listen);
        self.run.extend(run);
        self.outside.extend(outside);
    }
}
