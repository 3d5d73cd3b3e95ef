//! The hosts of a play: which of those that its patterns mean are this machine.

use crate::fields::Fields;
use crate::keywords::Keyword;
use crate::known_hosts::is_local_connection;
use crate::report::message::Message;
use crate::run::errors;
use crate::run::session::Session;
use crate::run::variables::inventory_vars;
use crate::run::variables::play_files::load_message;
use crate::run_options::OnMismatch;

/// How many hosts a message names.
const NAMED: usize = 10;

/// The hosts that a play is for.
#[derive(Debug, Default)]
pub struct PlayHosts {
    /// Those that are this machine, and have not failed.
    pub here: Vec<String>,
    /// Those that are not, and have not failed.
    pub elsewhere: Vec<String>,
    /// Both, in the order of the inventory.
    pub all: Vec<String>,
}

impl PlayHosts {
    /// Returns what to say about hosts that a play does not run on, where the operator has or has not `named` this machine.
    fn warning(&self, named: bool) -> Option<String> {
        let first = self.elsewhere.first()?;
        let mut names = self.elsewhere.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        if self.elsewhere.len() > NAMED {
            names.push_str(&format!(" and {} more", self.elsewhere.len() - NAMED));
        }
        let what = if named { "skipped" } else { "unreachable" };
        Some(format!(
            "{names}: hosts elsewhere are {what}, since modbox runs on this machine only; if `{first}` is this machine, say \
             so with `--as {first}`, or with `ansible_connection=local` in the inventory"
        ))
    }
}

/// Tells of hosts of a play that are not this machine, and returns whether they are unreachable. They are left out where the operator
/// has said which host this machine is.
pub fn tell_elsewhere(session: &mut Session<'_>, found: &PlayHosts) -> bool {
    let named = session.options.is_named;
    let Some(warning) = found.warning(named) else { return false };
    session.warn(warning);
    if !named {
        session.lose(&found.elsewhere);
    }
    !named
}

/// Tells of a play that no host fits.
///
/// # Errors
///
/// A setting makes that an error.
pub fn tell_unmatched(session: &mut Session<'_>, patterns: &[String]) -> Result<(), Message> {
    let Some(warning) = unmatched(session, patterns) else { return Ok(()) };
    match session.options.on_mismatch {
        OnMismatch::Warn => session.warn(warning),
        OnMismatch::Fail => return Err(Message::new(warning)),
        OnMismatch::Ignore => {}
    }
    Ok(())
}

/// Returns what to say of a play that no host of the inventory fits, with or without an inventory.
fn unmatched(session: &Session<'_>, patterns: &[String]) -> Option<String> {
    let asked = patterns.join(",");
    let named = session.hosts.matching(patterns);
    if named.is_empty() {
        return Some(match &session.options.inventory {
            Some(_) => format!("no host of the inventory fits `{asked}`, so nothing of this play runs"),
            None => format!(
                "no host fits `{asked}`, so nothing of this play runs: there is no inventory; name one with `-i`, or the \
                 groups of this machine with `--groups`"
            ),
        });
    }
    let limits = session.options.limit_patterns();
    let limited = session.hosts.matching(&limits);
    (!limits.is_empty() && !named.iter().any(|host| limited.contains(host)))
        .then(|| format!("no host of `{asked}` fits `--limit {}`, so nothing of this play runs", limits.join(",")))
}

/// Returns the hosts of a play, in the order of the inventory.
///
/// # Errors
///
/// Variables of a host cannot be read, or the connection of the play cannot be evaluated.
pub fn of_play(session: &Session<'_>, patterns: &[String]) -> Result<PlayHosts, Message> {
    let limits = session.options.limit_patterns();
    let mut hosts = session.hosts.matching(patterns);
    if !limits.is_empty() {
        let limited = session.hosts.matching(&limits);
        hosts.retain(|host| limited.contains(host));
    }
    let of_play = connection(session)?.or_else(|| session.options.connection.clone());
    let mut found = PlayHosts::default();
    for host in hosts {
        let here = if session.hosts.is_own_name(&host) {
            true
        } else {
            let layers = inventory_vars::layers(session, &host).map_err(|error| load_message(session, &error))?;
            let connection = inventory_vars::connection(session, &layers).or_else(|| of_play.clone());
            connection.as_deref().is_some_and(is_local_connection)
        };
        if session.has_failed(&host) {
            continue;
        }
        found.all.push(host.clone());
        if here { found.here.push(host) } else { found.elsewhere.push(host) }
    }
    Ok(found)
}

/// Evaluates the connection of the play.
fn connection(session: &Session<'_>) -> Result<Option<String>, Message> {
    let Some(source) = session.play.keyword(Keyword::Connection) else { return Ok(None) };
    let scope = session.scope(None);
    let fields = Fields { engine: session.engine, scope: &scope };
    let value = fields.source(Keyword::Connection, source).map_err(|error| errors::of_field(session, &error))?;
    Ok(value.map(|value| modbox_python_json::str(&value)))
}
