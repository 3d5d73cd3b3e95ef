//! The grants as a report lists them.

use crate::sandbox::policy::net::{ListenGrant, NetGrant};
use crate::sandbox::policy::run::RunGrant;
use crate::sandbox::policy::{EnvGrant, OwnGrant, PathGrant, Policy};

/// One line of a report's `grants`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// `read`, `write`, `own`, `env`, `net`, `listen`, `run` or `all`.
    pub capability: &'static str,
    /// The path or name; `*` for everything.
    pub subject: String,
    /// Who granted it.
    pub source: String,
}

impl Policy {
    /// Lists the grants for a report.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant> {
        if let Some(source) = &self.everything {
            return vec![Grant { capability: "all", subject: "*".to_owned(), source: source.clone() }];
        }
        let path = |grant: &PathGrant| {
            let host = grant.host.display().to_string();
            let subject = if host == grant.guest { host } else { format!("{host}::{}", grant.guest) };
            Grant { capability: grant.access.as_str(), subject, source: grant.source.clone() }
        };
        let env =
            |grant: &EnvGrant| Grant { capability: "env", subject: grant.name.clone(), source: grant.source.clone() };
        let line = |capability, subject: String, source: &String| Grant { capability, subject, source: source.clone() };
        let net = |grant: &NetGrant| line("net", grant.rule.to_string(), &grant.source);
        let listen = |grant: &ListenGrant| line("listen", grant.rule.to_string(), &grant.source);
        let run = |grant: &RunGrant| line("run", grant.rule.to_string(), &grant.source);
        let own = |grant: &OwnGrant| line("own", grant.written.clone(), &grant.source);
        let places = self.paths.iter().map(path).chain(self.own.iter().map(own)).chain(self.env.iter().map(env));
        let network = self.net.iter().map(net).chain(self.listen.iter().map(listen));
        places.chain(network).chain(self.run.iter().map(run)).collect()
    }
}
