//! Sessions with registries, by the switches and the environment.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use modbox_registry::reference::Repository;
use modbox_registry::session::{Session, SessionSettings};

use crate::cli::args::RegistryArgs;
use crate::cli::context::Context;
use crate::cli::registry::{authorities, logins, proxies};
use crate::cli::settings::OfflineRule;

/// Time limit for a module. At 1 MB a second, half of a gigabyte comes in it.
const TIMEOUT: Duration = Duration::from_mins(10);

/// How this user speaks with registries.
pub(crate) struct RegistryAccess<'a> {
    context: &'a Context,
    /// Policy files of the command line.
    policies: &'a [PathBuf],
    plain: Vec<String>,
    authorities: Option<PathBuf>,
    timeout: Duration,
}

impl<'a> RegistryAccess<'a> {
    /// Resolves the switches.
    pub(crate) fn new(context: &'a Context, args: &RegistryArgs, policies: &'a [PathBuf]) -> Self {
        let variable = context.environment.variable("MODBOX_PLAIN_HTTP").and_then(|hosts| hosts.to_str());
        let hosts = variable.into_iter().flat_map(|hosts| hosts.split(',')).map(str::trim);
        let named = args.plain_http.iter().map(String::as_str);
        let plain = hosts.chain(named).filter(|host| !host.is_empty()).map(str::to_owned).collect();
        Self { context, policies, plain, authorities: args.ca.clone(), timeout: args.timeout.unwrap_or(TIMEOUT) }
    }

    /// Opens a session with a repository.
    ///
    /// # Errors
    ///
    /// A policy file says not to ask registries; a file of certificates or logins, or a variable of a proxy, is wrong; or the
    /// worker cannot be started.
    pub(crate) fn open(&self, repository: &Repository) -> anyhow::Result<Session> {
        let environment = &self.context.environment;
        if let Some(rule) = self.offline()? {
            bail!(
                "failed to speak with `{}`: {rule}, so that no registry is asked; `modbox load` brings modules in a file",
                repository.host
            );
        }
        let is_plain = self.is_plain(&repository.host);
        // Also for a registry without TLS, which can lead to hosts that have it.
        let authorities = authorities::read(environment, self.authorities.as_deref())?;
        if !is_plain && authorities.is_empty() {
            bail!("no authorities are known that vouch for servers: install `ca-certificates`, or name a file by --ca");
        }
        let settings = SessionSettings {
            workers: &self.context.workers,
            is_plain,
            authorities: &authorities,
            credentials: logins::files(environment).find(&repository.host, &repository.name)?,
            proxies: proxies::of(environment)?,
            timeout: self.timeout,
        };
        Ok(Session::open(settings, repository)?)
    }

    /// Returns the rule of a policy file that no registry is asked, if there is one.
    ///
    /// # Errors
    ///
    /// A policy file is wrong or missing.
    pub(crate) fn offline(&self) -> anyhow::Result<Option<OfflineRule>> {
        OfflineRule::of(&self.context.environment, self.policies)
    }

    /// Returns whether a registry is spoken with without TLS.
    fn is_plain(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        self.plain.iter().any(|plain| plain == host || plain == name)
    }
}
