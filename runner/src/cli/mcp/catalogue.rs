//! The catalogue: from modules to tools, and why some are left out.
//!
//! It is made once: a client gets the same list at any time, and a module that is changed later does not run. Few modules are read
//! before the first request. Many are read while the client has the list already, which is then the same whatever they are.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use modbox_agents::name::tool_name;
use modbox_agents::own::{apply_tool, change_tool, find_tool, read_tool, undo_tool};
use modbox_agents::tool::{Permitted, Reach, Tool};
use modbox_policy::{Access, AskBounds, Confirm, PathGrant, Policy};
use modbox_run::library::FoundModule;
use modbox_vocabulary::{Capability, Grant};

use crate::cli::asking::own_files::OwnFiles;
use crate::cli::mcp::candidates::{Candidates, EXAMINED_TOGETHER, LeftOut};
use crate::cli::mcp::described::Described;
use crate::cli::mcp::examined::{Examined, Sources, examine_all};
use crate::cli::mcp::interpreters::Interpreters;
use crate::cli::mcp::{needs, tool_settings};
use crate::cli::settings::ModuleIdentity;

/// Maximum number of listed tools: what the strictest of the common clients takes. With more modules, tools find and call them.
pub(crate) const MAX_TOOLS: usize = 40;

/// Maximum number of modules.
pub(crate) const MAX_MODULES: usize = 10_000;

/// The tools of a server.
pub(crate) struct Catalogue {
    pub(crate) tools: Arc<[Tool]>,
    /// Number of tools at the beginning that clients do not list.
    pub(crate) hidden: usize,
    /// The modules of the tools, in the same order. Tools of modbox's own follow.
    pub(crate) modules: Vec<ServedModule>,
    pub(crate) left_out: Vec<LeftOut>,
    /// What no tool may write.
    pub(crate) own_files: OwnFiles,
}

/// A module that is a tool.
pub(crate) struct ServedModule {
    pub(crate) found: FoundModule,
    /// SHA-256 of the module with its parts, when the server started.
    pub(crate) digest: String,
    /// What each run is given.
    pub(crate) policy: Policy,
    /// What it may reach that no preview shows: lines for who is asked before.
    pub(crate) unseen: Vec<String>,
    /// What a person may be asked to grant to it.
    pub(crate) asks: Vec<Grant>,
}

impl Catalogue {
    /// Makes the catalogue. Returns nothing if it is not wanted any more while modules are read.
    ///
    /// # Errors
    ///
    /// There are too many tools, the grants of a module contradict each other, or reach what decides about tools.
    pub(crate) fn new(
        sources: &Sources<'_>,
        candidates: Candidates,
        is_wanted: impl Fn() -> bool,
    ) -> anyhow::Result<Option<Self>> {
        let confirm = tool_settings::confirm(sources.settings);
        let are_many = candidates.are_many();
        let Candidates { modules: candidates, mut left_out, mut own_files } = candidates;
        let general = sources.settings.for_every_module()?.policy;
        let (mut tools, mut modules) = (Vec::new(), Vec::new());
        let mut named = BTreeSet::new();
        let mut reached = Reached::default();
        let mut interpreters = Interpreters::new(sources, &mut own_files);
        for found in candidates.chunks(EXAMINED_TOGETHER) {
            if !is_wanted() {
                return Ok(None);
            }
            for (found, examined) in found.iter().zip(examine_all(sources, found, &general)) {
                if tools.len() == MAX_MODULES {
                    bail!("`tools` has more than {MAX_MODULES} modules; name fewer of them");
                }
                let made = match examined? {
                    Ok(examined) => {
                        interpreters.add_of(&examined.module, &mut own_files);
                        tool(sources, found, examined, &mut reached, |name| named.contains(name))?
                    }
                    Err(reason) => Err(reason),
                };
                match made {
                    Ok((tool, module)) => {
                        named.insert(tool.name.clone());
                        tools.push(tool);
                        modules.push(module);
                    }
                    Err(reason) => left_out.push(LeftOut { module: found.name.clone(), reason }),
                }
            }
        }
        // Only now all is known that no tool may write.
        own_files.add_ways(&sources.settings.written_paths);
        reached.granted.iter().for_each(|policy| own_files.add_ways(policy.waypoints().links()));
        reached.granted.iter().try_for_each(|policy| own_files.check(policy))?;
        own_files.check_paths(&reached.asked, general.audit()).context("the key `ask` may lead to a grant")?;
        let hidden = add_own(&mut tools, confirm, are_many);
        Ok(Some(Self { tools: tools.into(), hidden, modules, left_out, own_files }))
    }
}

/// Adds the tools of modbox's own to those of modules. Returns the number of modules that are not listed.
fn add_own(tools: &mut Vec<Tool>, confirm: Confirm, are_many: bool) -> usize {
    let modules = tools.len();
    if are_many {
        tools.extend(listed_before(confirm));
        return modules;
    }
    let own = if tools.iter().any(|tool| tool.reach.changes) { own_tools(confirm) } else { Vec::new() };
    let hidden = if modules + own.len() > MAX_TOOLS { modules } else { 0 };
    if hidden > 0 {
        tools.extend(finding_tools(tools));
    }
    tools.extend(own);
    hidden
}

/// What modules may reach: what they are granted, whatever of it is withheld, and what a person may be asked for. The same for several
/// modules is kept once.
#[derive(Debug, Default)]
struct Reached {
    granted: Vec<Policy>,
    asked: Vec<PathGrant>,
}

impl Reached {
    fn add(&mut self, granted: Policy, asked: Vec<PathGrant>) {
        let paths = |policy: &Policy| (policy.paths().to_vec(), policy.waypoints().clone(), policy.audit().to_vec());
        if !self.granted.iter().any(|known| paths(known) == paths(&granted)) {
            self.granted.push(granted);
        }
        for grant in asked {
            if !self.asked.contains(&grant) {
                self.asked.push(grant);
            }
        }
    }
}

/// Returns the tools that are listed before many modules are read: those for any module.
pub(crate) fn listed_before(confirm: Confirm) -> Vec<Tool> {
    let change = (confirm != Confirm::Never).then(|| change_tool(Reach { changes: true, leaves: true }));
    [find_tool(), read_tool()].into_iter().chain(change).chain(own_tools(confirm)).collect()
}

/// Returns the tools for changes.
fn own_tools(confirm: Confirm) -> Vec<Tool> {
    match confirm {
        Confirm::Never => Vec::new(),
        Confirm::Client => vec![undo_tool(), apply_tool()],
        Confirm::None | Confirm::Person | Confirm::Hand => vec![undo_tool()],
    }
}

/// Returns the tools that find and call modules.
fn finding_tools(modules: &[Tool]) -> Vec<Tool> {
    let reaches = modules.iter().map(|tool| tool.reach);
    let reach = reaches.clone().reduce(|a, b| Reach { changes: a.changes || b.changes, leaves: a.leaves || b.leaves });
    let reads = reaches.clone().any(|reach| reach == Reach::default()).then(read_tool);
    let changes = reach.filter(|reach| *reach != Reach::default()).map(change_tool);
    std::iter::once(find_tool()).chain(reads).chain(changes).collect()
}

/// Returns the tool of a module, or why it is left out. Adds what the module is granted, whatever of it is withheld.
fn tool(
    sources: &Sources<'_>,
    found: &FoundModule,
    Examined { described, module, identity }: Examined,
    reached: &mut Reached,
    is_taken: impl Fn(&str) -> bool,
) -> anyhow::Result<Result<(Tool, ServedModule), String>> {
    let identified = ModuleIdentity::of(&found.name, &module, &identity);
    let bounds = sources.settings.asking.bounds(&sources.context.environment, Some(identified))?;
    reached.add(sources.settings.granted_to(identified)?.policy, bounds.paths());
    let policy = sources.settings.for_module(identified)?.policy;
    if let Some(refusal) = policy.refusals().into_iter().next() {
        return Ok(Err(refusal.text));
    }
    let is_beyond = match tool_settings::confirm(sources.settings) {
        Confirm::Never => needs::beyond_reading(&described.metadata),
        confirm => beyond_asking(&policy, confirm),
    };
    if let Some(reason) = is_beyond {
        return Ok(Err(reason));
    }
    let Described { metadata, spec, is_exact } = described;
    let variables = policy.env().iter().map(|grant| (grant.name.clone(), grant.value.clone())).collect();
    let asks = match tool_settings::confirm(sources.settings) {
        Confirm::Never => Vec::new(),
        _ => asked_for(&bounds),
    };
    let permitted = Permitted { reach: reach(&policy, &asks), variables };
    let name = tool_name(&found.name, is_taken);
    let tool = Tool::new(name, &found.name, &metadata, (spec, is_exact), permitted);
    let digest = identity.closure.digest().to_owned();
    let unseen = unseen(&policy);
    let served = |tool| (tool, ServedModule { found: found.clone(), digest, policy, unseen, asks });
    Ok(tool.map(served).map_err(|error| error.to_string()))
}

/// Returns what a person may be asked to grant to a module. No tool is given a command outside of the sandbox.
pub(crate) fn asked_for(bounds: &AskBounds) -> Vec<Grant> {
    let grants = bounds.grants().unwrap_or_default();
    grants.into_iter().filter(|grant| grant.capability != Capability::Outside).collect()
}

/// Returns why nothing can decide about the calls of a module before it is done.
fn beyond_asking(policy: &Policy, confirm: Confirm) -> Option<String> {
    if let Some(grant) = policy.outside().first() {
        return Some(format!(
            "it may run `{}` outside of the sandbox, which cannot be shown before it is done; take the grant away",
            grant.shown()
        ));
    }
    let unseen = unseen(policy).into_iter().next().filter(|_| confirm == Confirm::Hand)?;
    Some(format!("it {unseen}, which cannot be shown to decide by hand; take the grant away, or set `confirm: person`"))
}

/// Returns what a module may do that no preview shows.
fn unseen(policy: &Policy) -> Vec<String> {
    let net = policy.net().iter().map(|grant| format!("may connect to `{}`", grant.rule));
    net.chain(policy.listen().iter().map(|grant| format!("may listen at `{}`", grant.rule))).collect()
}

/// Returns what grants let a module do, and those that a person may be asked for, whatever it says of itself.
fn reach(policy: &Policy, asks: &[Grant]) -> Reach {
    let may_ask = |capabilities: &[Capability]| asks.iter().any(|grant| capabilities.contains(&grant.capability));
    let writes = policy.paths().iter().any(|grant| grant.access == Access::Write);
    let runs = !policy.run().is_empty() || !policy.outside().is_empty();
    Reach {
        changes: writes
            || runs
            || !policy.own().is_empty()
            || !policy.listen().is_empty()
            || may_ask(&[Capability::Write, Capability::Own, Capability::Run, Capability::Listen]),
        leaves: runs || !policy.net().is_empty() || may_ask(&[Capability::Run, Capability::Net]),
    }
}
