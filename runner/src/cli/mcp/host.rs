//! Runs the calls of tools: makes a job of each, and answers it with the report, or asks before its changes are made.

use modbox_agents::answer::Answer;
use modbox_agents::own::{UNDO, apply_arguments, undo_argument};
use modbox_agents::text::in_one_line;
use modbox_agents::tool::Reach;
use modbox_agents::wire::{Call, Decided, Decision, Outcome, Reply};
use modbox_contract::{CallerChoices, Release, Value};
use modbox_policy::{Confirm, Policy};
use modbox_python_json::{decode, encode, encode_dict};
use modbox_run::audit::AgentCall;
use modbox_run::batch::{Ended, Job, JobEffect, JobOptions, JobSave, ResolvedJob, ServiceHost, ServiceOrders};
use modbox_run::{Admission, Report, mask_live_secrets};
use modbox_vocabulary::{Capability, Grant};

use crate::cli::exit::error_words;
use crate::cli::job_resolver::{JobResolver, TaskRules};
use crate::cli::mcp::catalogue::{Catalogue, ServedModule, asked_for};
use crate::cli::mcp::decision::{self, Decisions};
use crate::cli::mcp::gate::{EndedCall, Gate, GateOutcome};
use crate::cli::mcp::plans::{ClaimedPlan, PlannedAction, PlannedCall, call_digest};
use crate::cli::mcp::taken_back;
use crate::cli::mcp::wanted::{AskingModule, WantedGrants};
use crate::cli::printing::output;

/// Maximum bytes of the name of a run that is repeated to the client.
const MAX_RUN: usize = 64;

/// A call that is not answered.
pub(crate) struct OpenCall {
    pub(crate) call: Call,
    /// What was decided about the plan of the call.
    pub(crate) decided: Option<Decided>,
    pub(crate) reply: Reply,
    /// What the call lacks and a person is asked for.
    pub(crate) wanted: WantedGrants,
    /// Whether the call runs because of a yes to all that it wants, or without a preview. Then it is not run again.
    pub(crate) is_final: bool,
}

impl OpenCall {
    /// Returns a call that has just arrived.
    pub(crate) fn new(call: Call, decided: Option<Decided>, reply: Reply) -> Self {
        Self { call, decided, reply, wanted: WantedGrants::default(), is_final: false }
    }
}

/// Runner of calls.
pub(crate) struct ToolHost<'a> {
    pub(crate) resolver: JobResolver<'a>,
    pub(crate) catalogue: &'a Catalogue,
    /// The release whose contract applies.
    pub(crate) release: Release,
    pub(crate) gate: Gate,
    pub(crate) decisions: Decisions<'a>,
    /// Where calls are run that were decided about.
    pub(crate) orders: ServiceOrders<OpenCall>,
}

impl ToolHost<'_> {
    fn module(&self, call: &Call) -> &ServedModule {
        &self.catalogue.modules[call.tool]
    }

    fn agent_call(&self, call: &Call) -> AgentCall {
        let caller = call.caller.clone();
        AgentCall {
            tool: self.catalogue.tools[call.tool].name.clone(),
            client: caller.client,
            protocol: caller.protocol,
            request: caller.request,
        }
    }

    /// Returns the job of a call. What may change something runs on views, and what it changes there is saved.
    fn job(&self, call: &Call, wanted: &WantedGrants) -> Job {
        let Reach { changes, leaves } = self.catalogue.tools[call.tool].reach;
        let is_seen = self.module(call).unseen.is_empty() && !wanted.has_outside();
        let (effect, save) = match changes || leaves || !wanted.is_empty() {
            true if is_seen => (JobEffect::Preview, Some(JobSave::Store(true))),
            // It was decided about before.
            true => (JobEffect::Transaction, None),
            false => (JobEffect::Direct, None),
        };
        let options = JobOptions {
            agent: Some(self.agent_call(call)),
            internal: CallerChoices { contract: self.release, ..CallerChoices::default() },
            effect,
            save,
            keep_undo: effect == JobEffect::Transaction,
            ..JobOptions::default()
        };
        let module = self.module(call).found.path.clone();
        Job { id: Value::Null, module, args: call.arguments.clone(), options }
    }

    /// Returns the digest of a call, to which its plan is bound. Tools of modbox's own have no module.
    fn digest(&self, call: &Call) -> String {
        let tool = &self.catalogue.tools[call.tool].name;
        let module = self.catalogue.modules.get(call.tool).map_or("", |module| &module.digest);
        call_digest(tool, module, &encode_dict(&call.arguments))
    }
}

impl ToolHost<'_> {
    /// Does what a person has decided about the plan of a call.
    fn decide(&self, call: Call, Decided { plan, decision }: &Decided, reply: Reply) {
        let digest = self.digest(&call);
        if *decision == Decision::Open {
            return reply.send(self.gate.still_planned(plan, &digest).unwrap_or_else(unknown_plan).into());
        }
        match self.gate.plans.claim(plan, &digest) {
            Some(claimed) => self.follow(&claimed, *decision, "elicitation", call, reply),
            None => reply.send(unknown_plan().into()),
        }
    }

    /// Does what was decided about a plan. A call that was planned itself is run now.
    fn follow(&self, plan: &ClaimedPlan, decision: Decision, by: &str, call: Call, reply: Reply) {
        let answer = self.decisions.follow(plan, decision, by, &self.agent_call(&call));
        match &plan.record.action {
            PlannedAction::Run(planned) if decision == Decision::Apply && answer.is_success => {
                let tools = self.catalogue.tools.iter();
                let arguments = decode(&planned.arguments).ok();
                let place = tools.take(self.catalogue.modules.len()).position(|tool| tool.name == planned.tool);
                match (place, arguments) {
                    (Some(tool), Some(Value::Dict(arguments))) => {
                        let call = Call { tool, arguments, ..call };
                        match WantedGrants::given(&planned.wanted, &self.decisions.context.environment) {
                            Ok(wanted) => {
                                self.run(OpenCall { wanted, is_final: true, ..OpenCall::new(call, None, reply) })
                            }
                            Err(error) => reply.send(
                                Answer::refused("refused", vec![output::clean_line(&error_words(&error))]).into(),
                            ),
                        }
                    }
                    _ => reply.send(unknown_plan().into()),
                }
            }
            _ => reply.send(answer.into()),
        }
    }

    fn run(&self, open: OpenCall) {
        self.orders.run(open.call.number, open);
    }

    /// Begins a call: answers it by what a person has given it by hand, finds out what it lacks before its start, and runs it or asks
    /// before.
    fn begin(&mut self, OpenCall { call, reply, .. }: OpenCall) {
        let asks = !self.module(&call).asks.is_empty();
        if asks && let Some(given) = self.gate.plans.take_given(&self.digest(&call)) {
            return reply.send(decision::given(&given).into());
        }
        let wanted = match asks {
            true => self.wanted_before(&call),
            false => Ok(WantedGrants::default()),
        };
        match wanted {
            Err(reason) => reply.send(Answer::refused("failed", vec![reason]).into()),
            Ok(wanted) if self.module(&call).unseen.is_empty() && !wanted.has_outside() => {
                self.run(OpenCall { wanted, ..OpenCall::new(call, None, reply) });
            }
            Ok(wanted) => self.ask_to_run(call, reply, wanted),
        }
    }

    /// Returns what a call wants before it starts: nothing if it lacks something that a person is not asked for, too, since it is refused
    /// then.
    fn wanted_before(&mut self, call: &Call) -> Result<WantedGrants, String> {
        let mut wanted = WantedGrants::default();
        loop {
            let job = self.job(call, &wanted);
            let (_, resolved) = self.resolved(call, job, &wanted)?;
            match &resolved.admission {
                Admission::Admitted(_) => return Ok(wanted),
                Admission::Refused { report, .. } if self.wants_more(call, &mut wanted, report)? => {}
                Admission::Refused { .. } => return Ok(WantedGrants::default()),
            }
        }
    }

    /// Adds what a call lacks by a report to what it wants. Returns whether it is worth another run.
    fn wants_more(&mut self, call: &Call, wanted: &mut WantedGrants, report: &Report) -> Result<bool, String> {
        let ServedModule { found, policy, asks, .. } = &self.catalogue.modules[call.tool];
        let job = self.job(call, wanted);
        let facts = self.resolver.facts(&job, found, policy)?;
        // A link that leads elsewhere since the start would let something else be asked.
        if asked_for(&facts.bounds) != *asks {
            return Ok(false);
        }
        let asking = AskingModule {
            environment: &self.decisions.context.environment,
            own: &self.catalogue.own_files,
            asks,
            name: &found.name,
        };
        Ok(wanted.add(&asking, report, &facts, &call.arguments))
    }

    /// Finds the policy of a call, if the module and what it is granted are as when the server started.
    fn resolved(&mut self, call: &Call, job: Job, wanted: &WantedGrants) -> Result<(Job, ResolvedJob), String> {
        self.resolver.begin_round();
        let ServedModule { found, digest, policy, .. } = &self.catalogue.modules[call.tool];
        let resolved = self.resolver.resolve_found(&job, found, &TaskRules::default())?;
        let now = resolved.admission.policy();
        let what = match now.trust().digest.as_deref() == Some(digest) {
            true if gives_the_same(policy, now) => match wanted.is_empty() {
                true => return Ok((job, resolved)),
                false => {
                    let rules = TaskRules { rules: wanted.rules(), ..TaskRules::default() };
                    let resolved = self.resolver.resolve_found(&job, found, &rules)?;
                    return Ok((job, resolved));
                }
            },
            true => "what the module is granted",
            false => "the module",
        };
        Err(format!("{what} was changed since the server started (`{}`); it does not run until a restart", found.name))
    }

    /// Asks before a call runs that no preview can show. Without a question, it runs.
    fn ask_to_run(&self, call: Call, reply: Reply, wanted: WantedGrants) {
        if self.gate.confirm == Confirm::None && wanted.is_empty() {
            return self.run(OpenCall { is_final: true, ..OpenCall::new(call, None, reply) });
        }
        let module = self.module(&call);
        let arguments = encode_dict(&call.arguments);
        let values = call.arguments.iter().map(|(name, value)| format!("{name}: {}", encode(value)));
        let lines = wanted.lines().into_iter().chain(module.unseen.iter().cloned()).chain(values);
        let lines = lines.map(|line| mask_live_secrets(&output::clean_line(&line))).collect();
        let tool = self.catalogue.tools[call.tool].name.clone();
        let planned = PlannedCall { tool, arguments, wanted: wanted.kept() };
        let at = wanted.is_used().then(|| reply.evened_at());
        let outcome = self.gate.ask_to_run(&module.found.name, planned, lines, (self.digest(&call), at));
        reply.send(match at {
            Some(at) => Outcome::Evened { outcome: Box::new(outcome), at },
            None => outcome,
        });
    }

    /// Runs a tool of modbox's own.
    fn own(&self, call: Call, reply: Reply) {
        match self.catalogue.tools[call.tool].name.as_str() {
            UNDO => reply.send(self.undo(&call)),
            _ => self.apply(call, reply),
        }
    }

    /// Makes the changes of the plan that the client names and repeats.
    fn apply(&self, call: Call, reply: Reply) {
        let asked = apply_arguments(&call.arguments).filter(|_| self.gate.confirm == Confirm::Client);
        match asked.and_then(|(plan, changes)| self.gate.plans.claim_changes(&plan, &changes)) {
            Some(claimed) => self.follow(&claimed, Decision::Apply, "client", call, reply),
            None => reply.send(unknown_plan().into()),
        }
    }

    /// Takes back a run of a tool, or asks before that.
    fn undo(&self, call: &Call) -> Outcome {
        let refused = |status, reason| Outcome::from(Answer::refused(status, vec![reason]));
        let run = undo_argument(&call.arguments).unwrap_or_default();
        self.gate.plans.sweep();
        match taken_back::of_run(&self.decisions.state, run, &self.decisions.origin) {
            Ok(Some(changes)) => self.settled(self.gate.undo(run, changes, self.digest(call)), call),
            Ok(None) => {
                refused("refused", format!("no run `{}` of these tools can be taken back", in_one_line(run, MAX_RUN)))
            }
            Err(error) => refused("failed", output::clean_line(&error_words(&error))),
        }
    }

    /// Applies a plan that needs no confirmation.
    fn settled(&self, outcome: GateOutcome, call: &Call) -> Outcome {
        match outcome {
            GateOutcome::Told(outcome) => outcome,
            GateOutcome::AtOnce(plan) => Outcome::from(match self.gate.plans.claim(&plan, &self.digest(call)) {
                Some(claimed) => self.decisions.follow(&claimed, Decision::Apply, "rule", &self.agent_call(call)),
                None => unknown_plan(),
            }),
        }
    }
}

fn unknown_plan() -> Answer {
    let reason = "the plan is unknown: it was decided about already, is older than 15 minutes, or is that of another call or of other \
                  changes; call again";
    Answer::refused("refused", vec![reason.to_owned()])
}

/// Returns whether a run is given what its tool was listed with, besides what the kind of the module needs to read. A link that
/// leads elsewhere, or a signature that has come, would give it more.
fn gives_the_same(listed: &Policy, now: &Policy) -> bool {
    let (listed, now) = (listed.grants(), now.grants());
    let reads = |grant: &&Grant| grant.capability == Capability::Read;
    listed.iter().all(|grant| now.contains(grant)) && now.iter().all(|grant| reads(&grant) || listed.contains(grant))
}

impl ServiceHost<OpenCall> for ToolHost<'_> {
    fn resolve(&mut self, OpenCall { call, reply, wanted, .. }: &OpenCall) -> Result<(Job, ResolvedJob), String> {
        if !reply.is_wanted() {
            return Err("the client has cancelled the call".to_owned());
        }
        let job = self.job(call, wanted);
        if job.options.effect == JobEffect::Preview {
            // A store that is full of old plans takes no new one.
            self.gate.plans.sweep();
        }
        self.resolved(call, job, wanted)
    }

    fn tell(&mut self, open: OpenCall) {
        if !open.reply.is_wanted() {
            return;
        }
        let OpenCall { call, decided, reply, .. } = open;
        match decided {
            Some(decided) => self.decide(call, &decided, reply),
            None if call.tool < self.catalogue.modules.len() => self.begin(OpenCall::new(call, None, reply)),
            None => self.own(call, reply),
        }
    }

    fn answer(&mut self, open: OpenCall, Ended { report, is_unaudited }: Ended) {
        let OpenCall { call, reply, mut wanted, is_final, .. } = open;
        if !reply.is_wanted() {
            // The client has cancelled the call, and is told nothing of changes.
            return self.gate.drop_saved(&report);
        }
        if !is_final && !is_unaudited && !self.module(&call).asks.is_empty() {
            wanted.note_run(&report);
            // What decides about questions is as it was, unless the module was changed; then the next run is refused.
            if self.wants_more(&call, &mut wanted, &report).unwrap_or(false) {
                self.gate.drop_saved(&report);
                return match wanted.has_outside() {
                    true => self.ask_to_run(call, reply, wanted),
                    false => self.run(OpenCall { wanted, ..OpenCall::new(call, None, reply) }),
                };
            }
        }
        let module = &self.module(&call).found.name;
        let given = if is_final { WantedGrants::default() } else { wanted };
        let ended = EndedCall {
            module,
            digest: self.digest(&call),
            arguments: &call.arguments,
            report: &report,
            is_audited: !is_unaudited,
            evened_at: reply.evened_at(),
            wanted: &given,
        };
        reply.send(self.settled(self.gate.outcome(&ended), &call));
    }

    fn refuse(&mut self, OpenCall { reply, .. }: OpenCall, reason: String) {
        reply.send(Answer::refused("failed", vec![reason]).into());
    }
}
