//! `modbox mcp`: serves modules as tools of an agent over standard input and output, or shows them.

use std::io;
use std::sync::Arc;

use anyhow::Context as _;
use modbox_agents::wire::{self, Order, Served};
use modbox_overlay::commit::Origin;
use modbox_policy::Confirm;
use modbox_run::batch::{PoolConfig, Service};

use crate::cli::ansible::installed_release::installed;
use crate::cli::args::{AnsiballzForm, McpArgs};
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::state_folder;
use crate::cli::job_resolver::JobResolver;
use crate::cli::mcp::catalogue::{Catalogue, LeftOut};
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

/// Serves or shows the tools.
pub(crate) fn run(context: &Context, args: &McpArgs) -> Result<ExitStatus, Failure> {
    let Standpoint { context, policy, lookup } = &Standpoint::leave_directory(context, args)?;
    let settings = tool_settings::load(&context.environment, policy).or_usage()?;
    let lookup = Lookup::of_run(context, lookup, policy, &[], AnsiballzForm::Cached)?.without_directory();
    let runner = Arc::new(runner(context, None, lookup.python.clone()));
    let catalogue = catalogue(context, &settings, &lookup)?;
    if args.show {
        let shown = if args.json { shown::json(&catalogue) } else { shown::text(&catalogue) };
        output::print_line(&shown).or_internal()?;
        return Ok(ExitStatus::Success);
    }
    for LeftOut { module, reason } in &catalogue.left_out {
        output::print_note(&format!("`{module}` cannot be a tool: {reason}"));
    }
    if catalogue.tools.is_empty() {
        return Err(anyhow::anyhow!("none of the modules of `tools` can be a tool")).or_unavailable();
    }
    let release = installed(&context.environment, &lookup);
    let pool = PoolConfig {
        jobs: jobs(args),
        runner: Arc::clone(&runner),
        workers: context.workers.clone(),
        cleanup: context.cleanup.clone(),
    };
    let confirm = tool_settings::confirm(&settings);
    let digest = settings.digest();
    let decisions = Decisions {
        context,
        audit: Audit::open(&settings.for_every_module().or_usage()?.policy)?,
        state: state_folder::transactions(&context.environment).or_usage()?,
        origin: Origin::caller(ORIGIN, &digest).or_internal()?,
    };
    let plans = Plans::new(state_folder::plans(&context.environment).or_usage()?, &digest);
    let gate = Gate { plans, confirm, unconfirmed: tool_settings::unconfirmed(&settings).or_usage()? };
    gate.plans.sweep();
    let resolver = JobResolver::new(context, runner, lookup, Arc::new(settings))?.with_origin(decisions.origin.clone());
    let (service, orders) = Service::<OpenCall>::new(pool).or_internal()?;
    let host = ToolHost { resolver, catalogue: &catalogue, release, gate, decisions, orders };
    serve(service, host).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Makes the catalogue. What it finds of the machine is of one moment, and runs look again.
fn catalogue(context: &Context, settings: &Settings, lookup: &Lookup) -> Result<Catalogue, Failure> {
    let lookup = lookup.clone().at_one_moment();
    let runner = runner(context, None, lookup.python.clone());
    Catalogue::new(&Sources { context, settings, lookup: &lookup, runner: &runner }).or_usage()
}

fn jobs(args: &McpArgs) -> usize {
    match args.jobs {
        Some(jobs) => usize::try_from(jobs).unwrap_or(usize::MAX),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

fn serve(service: Service<OpenCall>, mut host: ToolHost<'_>) -> anyhow::Result<()> {
    let (given, at_end) = (host.orders.clone(), host.orders.clone());
    // What no preview can show is asked before it runs, and tools of modbox's own run nothing.
    let modules = &host.catalogue.modules;
    let runs: Vec<bool> = modules.iter().map(|module| module.unseen.is_empty() && module.asks.is_empty()).collect();
    // What a call lacks is asked for even if changes are made at once.
    let asks_for_grants = host.gate.confirm == Confirm::None && modules.iter().any(|module| !module.asks.is_empty());
    let asks = host.gate.confirm == Confirm::Person || asks_for_grants;
    let told = match host.gate.confirm {
        Confirm::Never => READS,
        Confirm::None => CHANGES,
        Confirm::Client => APPLIES,
        Confirm::Person | Confirm::Hand => ASKS,
    };
    let found = if host.catalogue.hidden > 0 { FINDS } else { "" };
    let served = Served {
        version: env!("CARGO_PKG_VERSION"),
        instructions: format!("{INSTRUCTIONS}{told}{found}"),
        asks,
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
    };
    let protocol = wire::serve(served, io::stdin(), io::stdout(), move || at_end.end());
    let protocol = protocol.context("failed to start a thread for the protocol")?;
    service.run(&mut host)?;
    match protocol.join() {
        Ok(ended) => ended.context("the protocol failed"),
        Err(_) => anyhow::bail!("the thread of the protocol has panicked"),
    }
}
