//! The list of grants in a report.

use modbox_vocabulary::{Capability, Grant, GrantSource};

use crate::grant_set::Policy;
use crate::grants::{EnvGrant, PathGrant};
use crate::net::{ListenGrant, NetGrant};
use crate::outside::OutsideGrant;
use crate::run::RunGrant;
use crate::users::own::OwnerGrant;

impl Policy {
    /// Lists the grants for a report.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant> {
        if let Some(source) = &self.everything {
            return vec![Grant { capability: Capability::All, subject: "*".to_owned(), source: source.clone() }];
        }
        let path = |grant: &PathGrant| {
            let host = grant.host.display().to_string();
            let subject = if host == grant.guest { host } else { format!("{host}::{}", grant.guest) };
            Grant { capability: grant.access.capability(), subject, source: grant.source.clone() }
        };
        let line =
            |capability, subject: String, source: &GrantSource| Grant { capability, subject, source: source.clone() };
        let env = |grant: &EnvGrant| line(Capability::Env, grant.name.clone(), &grant.source);
        let net = |grant: &NetGrant| line(Capability::Net, grant.rule.to_string(), &grant.source);
        let listen = |grant: &ListenGrant| line(Capability::Listen, grant.rule.to_string(), &grant.source);
        let run = |grant: &RunGrant| line(Capability::Run, grant.rule.to_string(), &grant.source);
        let outside = |grant: &OutsideGrant| line(Capability::Outside, grant.shown(), &grant.source);
        let own = |grant: &OwnerGrant| line(Capability::Own, grant.written.clone(), &grant.source);
        let places = self.paths().iter().map(path).chain(self.own().iter().map(own)).chain(self.env().iter().map(env));
        let network = self.net().iter().map(net).chain(self.listen().iter().map(listen));
        let commands = self.run().iter().map(run).chain(self.outside().iter().map(outside));
        places.chain(network).chain(commands).collect()
    }
}
