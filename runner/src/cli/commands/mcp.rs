//! `modbox mcp`: serves modules as tools of an agent over standard input and output, or shows them.

use std::io;
use std::sync::Arc;

use anyhow::Context as _;
use modbox_agents::tool::Tool;
use modbox_agents::wire::{self, Introduction, Order, Served, Serving};
use modbox_overlay::commit::Origin;
use modbox_policy::Confirm;
use modbox_run::batch::{PoolConfig, Service, ServiceOrders};

use crate::cli::ansible::installed_release::installed;
use crate::cli::args::{AnsiballzForm, McpArgs};
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::folders::state_folder;
use crate::cli::job_resolver::JobResolver;
use crate::cli::mcp::candidates::{Candidates, LeftOut};
use crate::cli::mcp::catalogue::{Catalogue, listed_before};
use crate::cli::mcp::decision::Decisions;
use crate::cli::mcp::examined::Sources;
use crate::cli::mcp::gate::{Gate, ORIGIN};
use crate::cli::mcp::host::{OpenCall, ToolHost};
use crate::cli::mcp::plans::Plans;
use crate::cli::mcp::standpoint::Standpoint;
use crate::cli::mcp::{shown, tool_settings};
use crate::cli::named::find::Lookup;
use crate::cli::printing::output;
use crate::cli::runner::runner;
use crate::cli::settings::Settings;

/// What a model is told of the tools as a whole.
const INSTRUCTIONS: &str = "Each tool runs a module of modbox in a sandbox. Paths are absolute, without `..`. An answer has the \
     `status`; `denials` name what was refused, and the key that the operator could add to a policy file. ";

/// What it is told besides of tools that only read.
const READS: &str = "The tools only read: what a module changes is refused.";

/// What it is told besides of tools whose changes a person confirms.
const ASKS: &str = "A call that would change something changes nothing until a person says yes: its status is then `planned`, or a \
     person is asked at once. Do not call again to get the same change.";

/// It is told besides of tools whose changes the client confirms.
const APPLIES: &str = "A call that would change something changes nothing: its status is `planned`, and `modbox_apply` makes the \
     changes.";

/// It is told besides of tools whose changes are made at once.
const CHANGES: &str = "A call makes all of its changes, or none.";

/// It is told besides if the modules are not listed.
const FINDS: &str = " `modbox_find` finds modules; `modbox_read` and `modbox_change` call them.";

/// Where an error of the thread that answers the client was.
const PROTOCOL: &str = "the protocol failed";

/// Serves or shows the tools.
pub(crate) fn run(context: &Context, args: &McpArgs) -> Result<ExitStatus, Failure> {
    let Standpoint { context, policy, lookup } = &Standpoint::leave_directory(context, args)?;
    let settings = Arc::new(tool_settings::load(&context.environment, policy).or_usage()?);
    let lookup = Lookup::of_run(context, lookup, policy, &[], AnsiballzForm::Cached)?.without_directory();
    // What the catalogue finds of the machine is of one moment, and runs look again.
    let at_start = lookup.clone().at_one_moment();
    let reader = runner(context, None, lookup.python.clone());
    let sources = Sources { context, settings: &settings, lookup: &at_start, runner: &reader };
    if !args.show {
        return serve(args, &sources, lookup, Arc::clone(&settings));
    }
    if let Some(catalogue) = Catalogue::new(&sources, Candidates::find(&sources), || true).or_usage()? {
        let shown = if args.json { shown::json(&catalogue) } else { shown::text(&catalogue) };
        output::print_line(&shown).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

/// Serves the tools until the client is gone. It does not wait until many modules are read.
fn serve(
    args: &McpArgs,
    sources: &Sources<'_>,
    lookup: Lookup,
    settings: Arc<Settings>,
) -> Result<ExitStatus, Failure> {
    let context = sources.context;
    let runner = Arc::new(runner(context, None, lookup.python.clone()));
    let pool = PoolConfig {
        jobs: jobs(args),
        runner: Arc::clone(&runner),
        workers: context.workers.clone(),
        cleanup: context.cleanup.clone(),
    };
    let (service, orders) = Service::<OpenCall>::new(pool).or_internal()?;
    let digest = settings.digest();
    let decisions = Decisions {
        context,
        audit: Audit::open(&settings.for_every_module().or_usage()?.policy)?,
        state: state_folder::transactions(&context.environment).or_usage()?,
        origin: Origin::caller(ORIGIN, &digest).or_internal()?,
    };
    let plans = Plans::new(state_folder::plans(&context.environment).or_usage()?, &digest);
    let confirm = tool_settings::confirm(&settings);
    let gate = Gate { plans, confirm, unconfirmed: tool_settings::unconfirmed(&settings).or_usage()? };
    gate.plans.sweep();
    let release = installed(&context.environment, &lookup);
    let resolver = JobResolver::new(context, runner, lookup, settings)?.with_origin(decisions.origin.clone());
    let door = Door { confirm, orders: orders.clone() };
    let Some((catalogue, serving)) = opened(&door, sources)? else { return Ok(ExitStatus::Success) };
    let host = ToolHost { resolver, catalogue: &catalogue, release, gate, decisions, orders };
    serve_calls(service, host, serving).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Makes the catalogue and opens the door: before many modules are read, and after few. Returns nothing if the client has gone.
fn opened(door: &Door, sources: &Sources<'_>) -> Result<Option<(Catalogue, Serving)>, Failure> {
    let candidates = Candidates::find(sources);
    if !candidates.are_many() {
        let made = usable(Catalogue::new(sources, candidates, || true).or_usage())?;
        let Some(catalogue) = made else { return Ok(None) };
        let serving = door.open(catalogue.tools[catalogue.hidden..].to_vec(), catalogue.hidden > 0)?;
        return Ok(Some((catalogue, serving)));
    }
    let serving = door.open(listed_before(door.confirm), true)?;
    match usable(Catalogue::new(sources, candidates, || !serving.has_ended()).or_usage()) {
        Ok(made) => Ok(made.map(|catalogue| (catalogue, serving))),
        Err(failure) => {
            // The client is told in each answer. The operator is told now and at the end.
            let reason = output::clean_line(&error_words(&failure.error));
            output::print_note(&format!("each call is refused: {reason}"));
            serving.refuse(reason);
            serving.join().context(PROTOCOL).or_internal()?;
            Err(failure)
        }
    }
}

/// Tells what is left out of a catalogue, and refuses one without modules.
fn usable(catalogue: Result<Option<Catalogue>, Failure>) -> Result<Option<Catalogue>, Failure> {
    let Some(catalogue) = catalogue? else { return Ok(None) };
    for LeftOut { module, reason } in &catalogue.left_out {
        output::print_note(&format!("`{module}` cannot be a tool: {reason}"));
    }
    match catalogue.modules.is_empty() {
        true => Err(anyhow::anyhow!("none of the modules of `tools` can be a tool")).or_unavailable(),
        false => Ok(Some(catalogue)),
    }
}

fn jobs(args: &McpArgs) -> usize {
    match args.jobs {
        Some(jobs) => usize::try_from(jobs).unwrap_or(usize::MAX),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Where a client comes in.
struct Door {
    confirm: Confirm,
    orders: ServiceOrders<OpenCall>,
}

impl Door {
    /// Answers the client from now on. `finds` is whether modules are found instead of listed.
    fn open(&self, listed: Vec<Tool>, finds: bool) -> Result<Serving, Failure> {
        let told = match self.confirm {
            Confirm::Never => READS,
            Confirm::None => CHANGES,
            Confirm::Client => APPLIES,
            Confirm::Person | Confirm::Hand => ASKS,
        };
        let instructions = format!("{INSTRUCTIONS}{told}{}", if finds { FINDS } else { "" });
        let introduction = Introduction { version: env!("CARGO_PKG_VERSION"), instructions, listed };
        let at_end = self.orders.clone();
        let serving = wire::serve(introduction, io::stdin(), io::stdout(), move || at_end.end());
        serving.context("failed to start a thread for the protocol").or_internal()
    }
}

/// Serves calls until the client is gone.
fn serve_calls(service: Service<OpenCall>, mut host: ToolHost<'_>, serving: Serving) -> anyhow::Result<()> {
    let given = host.orders.clone();
    // What no preview can show is asked before it runs, and tools of modbox's own run nothing.
    let modules = &host.catalogue.modules;
    let runs: Vec<bool> = modules.iter().map(|module| module.unseen.is_empty() && module.asks.is_empty()).collect();
    // What a call lacks is asked for even if changes are made at once.
    let asks_for_grants = host.gate.confirm == Confirm::None && modules.iter().any(|module| !module.asks.is_empty());
    serving.serve(Served {
        asks: host.gate.confirm == Confirm::Person || asks_for_grants,
        tools: Arc::clone(&host.catalogue.tools),
        hidden: host.catalogue.hidden,
        orders: Box::new(move |order| match order {
            Order::Run(call, reply) => {
                let (number, does_run) = (call.number, runs.get(call.tool) == Some(&true));
                let call = OpenCall::new(*call, None, reply);
                if does_run { given.run(number, call) } else { given.tell(call) }
            }
            Order::Decide(call, decided, reply) => given.tell(OpenCall::new(*call, Some(*decided), reply)),
            Order::Cancel(number) => given.cancel(number),
        }),
    });
    service.run(&mut host)?;
    serving.join().context(PROTOCOL)
}
