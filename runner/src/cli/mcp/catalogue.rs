//! The catalogue: from the names in policy files to tools, and why modules are left out.
//!
//! It is made once, before the first request: a client gets the same list at any time, and a module that is changed later does not
//! run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use modbox_agents::name::tool_name;
use modbox_agents::own::{apply_tool, change_tool, find_tool, read_tool, undo_tool};
use modbox_agents::tool::{Permitted, Reach, Tool};
use modbox_policy::{Access, AskBounds, Confirm, NamePattern, OWN_TOOLS, PathGrant, Policy};
use modbox_run::library::{FoundModule, ManyNames};
use modbox_vocabulary::{Capability, Grant};

use crate::cli::asking::own_files::OwnFiles;
use crate::cli::exit::error_words;
use crate::cli::mcp::described::Described;
use crate::cli::mcp::examined::{Examined, Sources, examine_all};
use crate::cli::mcp::{needs, tool_settings};
use crate::cli::printing::output;
use crate::cli::settings::ModuleIdentity;

/// Maximum number of listed tools: what the strictest of the common clients takes. With more modules, tools find and call them.
pub(crate) const MAX_TOOLS: usize = 40;

/// Maximum number of modules.
pub(crate) const MAX_MODULES: usize = 10_000;

/// The most modules whose descriptions are in memory at a time, beside the tools.
const EXAMINED_TOGETHER: usize = 256;

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

/// A module that cannot be a tool.
pub(crate) struct LeftOut {
    pub(crate) module: String,
    pub(crate) reason: String,
}

impl Catalogue {
    /// Makes the catalogue.
    ///
    /// # Errors
    ///
    /// There are too many tools, the grants of a module contradict each other, or reach what decides about tools.
    pub(crate) fn new(sources: &Sources<'_>) -> anyhow::Result<Self> {
        let mut own_files = OwnFiles::new(sources.context, sources.settings);
        for folder in sources.lookup.folders(sources.context) {
            own_files.add(&folder, "a folder of modules");
        }
        for interpreter in sources.lookup.interpreters.values().map(Path::new).filter(|path| path.is_absolute()) {
            // An environment of Python has what its interpreter imports beside it.
            let environment = interpreter.parent().and_then(Path::parent);
            let environment = environment.filter(|folder| folder.join("pyvenv.cfg").exists());
            own_files.add(environment.unwrap_or(interpreter), "an interpreter of modules");
        }
        let general = sources.settings.for_every_module()?.policy;
        let (names, mut left_out) = names(sources);
        let mut candidates = Vec::new();
        let mut taken = BTreeSet::new();
        let library = sources.lookup.library(sources.context);
        let many = library.for_many();
        for name in names {
            let found = match find(sources, &many, &name) {
                Ok(found) => found,
                Err(reason) => {
                    left_out.push(LeftOut { module: name, reason });
                    continue;
                }
            };
            own_files.add(&found.path, "a module");
            if taken.insert(found.name.clone()) {
                candidates.push(found);
            }
        }
        let (mut tools, mut modules) = (Vec::new(), Vec::new());
        let mut named = BTreeSet::new();
        let mut reached = Reached::default();
        if candidates.len() > EXAMINED_TOGETHER {
            output::print_note(&format!("reads {} modules before it answers", candidates.len()));
        }
        for found in candidates.chunks(EXAMINED_TOGETHER) {
            for (found, examined) in found.iter().zip(examine_all(sources, found, &general)) {
                if tools.len() == MAX_MODULES {
                    bail!("`tools` has more than {MAX_MODULES} modules; name fewer of them");
                }
                let made = match examined? {
                    Ok(examined) => tool(sources, found, examined, &mut reached, |name| named.contains(name))?,
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
        reached.granted.iter().for_each(|policy| own_files.add_ways(policy.paths()));
        own_files.add_ways(&reached.asked);
        reached.granted.iter().try_for_each(|policy| own_files.check(policy))?;
        own_files.check_paths(&reached.asked, general.audit()).context("the key `ask` may lead to a grant")?;
        let own = own_tools(&tools, tool_settings::confirm(sources.settings));
        let hidden = if tools.len() + own.len() > MAX_TOOLS { modules.len() } else { 0 };
        if hidden > 0 {
            tools.extend(finding_tools(&tools));
        }
        tools.extend(own);
        Ok(Self { tools: tools.into(), hidden, modules, left_out, own_files })
    }
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
        let paths = |policy: &Policy| (policy.paths().to_vec(), policy.audit().to_vec());
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

/// Returns the tools for changes, if a module makes some.
fn own_tools(modules: &[Tool], confirm: Confirm) -> Vec<Tool> {
    match modules.iter().any(|tool| tool.reach.changes) {
        true if confirm == Confirm::Client => vec![undo_tool(), apply_tool()],
        true => vec![undo_tool()],
        false => Vec::new(),
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

/// Returns the names of modules that all files with tools have, in their order, and patterns that no module fits.
fn names(sources: &Sources<'_>) -> (Vec<String>, Vec<LeftOut>) {
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    let mut known: Option<BTreeSet<String>> = None;
    for pattern in tool_settings::patterns(sources.settings) {
        if !pattern.contains(['*', '?']) {
            names.push(pattern);
            continue;
        }
        let known = known.get_or_insert_with(|| {
            let standard = modbox_authoring::standard_names().into_iter().map(str::to_owned);
            sources.lookup.inventory(sources.context).modules.into_keys().chain(standard).collect()
        });
        let fits = NamePattern::new(&pattern);
        let before = names.len();
        names.extend(known.iter().filter(|name| fits.matches(name)).cloned());
        if names.len() == before {
            left_out.push(LeftOut { module: pattern, reason: "no module has a name that fits".to_owned() });
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| tool_settings::is_tool(sources.settings, name) && seen.insert(name.clone()));
    (names, left_out)
}

fn find(sources: &Sources<'_>, many: &ManyNames<'_>, name: &str) -> Result<FoundModule, String> {
    let found = sources.lookup.find_of_many(sources.context, many, Path::new(name));
    let found = found.map_err(|failure| error_words(&failure.error))?;
    match found.name.starts_with(OWN_TOOLS) {
        true => Err(format!("names that begin with `{OWN_TOOLS}` are those of modbox's own tools")),
        false => Ok(found),
    }
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
