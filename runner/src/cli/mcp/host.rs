//! Runs the calls of tools: makes a job of each, and answers it with the report.

use modbox_agents::answer::Answer;
use modbox_agents::wire::{Call, Reply};
use modbox_contract::{CallerChoices, Release, Value};
use modbox_run::audit::AgentCall;
use modbox_run::batch::{Ended, Job, JobOptions, ResolvedJob, ServiceHost};

use crate::cli::job_resolver::{JobResolver, TaskRules};
use crate::cli::mcp::catalogue::{Catalogue, ServedModule};
use crate::cli::mcp::outcome;

/// A call that is not answered.
pub(crate) struct OpenCall {
    pub(crate) call: Call,
    pub(crate) reply: Reply,
}

/// Runner of calls.
pub(crate) struct ToolHost<'a> {
    pub(crate) resolver: JobResolver<'a>,
    pub(crate) catalogue: &'a Catalogue,
    /// The release whose contract applies.
    pub(crate) release: Release,
}

impl ToolHost<'_> {
    fn module(&self, call: &Call) -> &ServedModule {
        &self.catalogue.modules[call.tool]
    }

    fn job(&self, call: &Call) -> Job {
        let Call { arguments, caller, tool, .. } = call.clone();
        let agent = AgentCall {
            tool: self.catalogue.tools[tool].name.clone(),
            client: caller.client,
            protocol: caller.protocol,
            request: caller.request,
        };
        let options = JobOptions {
            agent: Some(agent),
            internal: CallerChoices { contract: self.release, ..CallerChoices::default() },
            ..JobOptions::default()
        };
        Job { id: Value::Null, module: self.module(call).found.path.clone(), args: arguments, options }
    }
}

impl ServiceHost<OpenCall> for ToolHost<'_> {
    fn resolve(&mut self, OpenCall { call, .. }: &OpenCall) -> Result<(Job, ResolvedJob), String> {
        let job = self.job(call);
        let ServedModule { found, digest, .. } = &self.catalogue.modules[call.tool];
        let resolved = self.resolver.resolve_found(&job, found, &TaskRules::default())?;
        match resolved.admission.policy().trust().digest.as_deref() {
            Some(now) if now == digest => Ok((job, resolved)),
            _ => Err(format!(
                "the module `{}` was changed since the server started; it does not run until a restart",
                found.name
            )),
        }
    }

    fn answer(&mut self, OpenCall { call, reply }: OpenCall, Ended { report, is_unaudited }: Ended) {
        reply.send(outcome::answer(&self.module(&call).found.name, &report, !is_unaudited));
    }

    fn refuse(&mut self, OpenCall { reply, .. }: OpenCall, reason: String) {
        reply.send(Answer::refused("failed", vec![reason]));
    }
}
