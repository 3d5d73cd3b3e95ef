//! Answers the requests of a client: lists the tools, refuses wrong calls, and hands the others over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use modbox_python_json::{Dict, Value, to_value};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    RequestId, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, model};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{Interval, MissedTickBehavior, interval_at, sleep, sleep_until};

use crate::answer::{Answer, output_schema};
use crate::own::{self, Route};
use crate::text::in_one_line;
use crate::tool::{Reach, Tool};
use crate::wire::calls::{
    Call, Caller, Decided, Decision, MAX_CALLS, Order, Outcome, PendingQuestion, Reply, evened_at,
};
use crate::wire::elicitation::{self, Asking};
use crate::wire::served::{Introduction, Served, Tools};

/// How long a client may keep the list of tools, in milliseconds. It does not change while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;

/// Time between two notes of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// How long a call waits for tools that are being read. Common clients give up after a minute.
const READING: Duration = Duration::from_secs(30);

/// Why a call is not answered at the end.
const LOST: &str = "the call is lost, since the server ends";

/// Maximum bytes of what a client says of itself.
const MAX_CLAIM: usize = 256;

pub(super) struct ToolServer {
    introduction: Introduction,
    list: ListToolsResult,
    tools: watch::Receiver<Tools>,
    numbers: AtomicU64,
    room: Semaphore,
    /// Whether the client has closed its side, so that it answers no question any more.
    input_ended: watch::Receiver<bool>,
}

impl ToolServer {
    pub(super) fn new(
        introduction: Introduction,
        tools: watch::Receiver<Tools>,
        input_ended: watch::Receiver<bool>,
    ) -> Self {
        let list = list(&introduction.listed);
        let (numbers, room) = (AtomicU64::new(1), Semaphore::new(MAX_CALLS));
        Self { introduction, list, tools, numbers, room, input_ended }
    }

    /// Returns what is served, or why a call cannot be done. Waits while the tools are being read.
    async fn served(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Served>, Box<Answer>> {
        let refused = |status: &str, reason: &str| Box::new(Answer::refused(status, vec![reason.to_owned()]));
        let mut tools = self.tools.clone();
        let known = |tools: &Tools| match tools {
            Tools::Read => None,
            Tools::Served(served) => Some(Ok(Arc::clone(served))),
            Tools::Refused(reason) => Some(Err(refused("failed", reason))),
        };
        if let Some(known) = known(&tools.borrow()) {
            return known;
        }
        let Ok(_place) = self.room.try_acquire() else { return Err(Box::new(no_room())) };
        tokio::select! {
            read = tools.wait_for(|tools| known(tools).is_some()) => match read {
                Ok(tools) => known(&tools).unwrap_or_else(|| Err(refused("failed", LOST))),
                Err(_) => Err(refused("failed", LOST)),
            },
            () = context.ct.cancelled() => Err(Box::new(Answer::refused("cancelled", Vec::new()))),
            () = sleep(READING) => {
                Err(refused("refused", "the modules are still being read, which takes a minute or two; call again then"))
            }
        }
    }

    /// Runs a call, or does what was decided about its plan, if there is room for it.
    async fn outcome(
        &self,
        served: &Served,
        call: Call,
        decided: Option<Decided>,
        context: &RequestContext<RoleServer>,
    ) -> Outcome {
        let Ok(_place) = self.room.try_acquire() else { return no_room().into() };
        self.outcome_in_place(served, call, decided, context).await
    }

    async fn outcome_in_place(
        &self,
        served: &Served,
        call: Call,
        decided: Option<Decided>,
        context: &RequestContext<RoleServer>,
    ) -> Outcome {
        let mistakes = served.tools[call.tool].mistakes(&call.arguments);
        if !mistakes.is_empty() {
            return Answer::refused("invalid", mistakes).into();
        }
        let (number, (sender, answered), arrived) = (call.number, oneshot::channel(), Instant::now());
        let reply = Reply::new(sender, arrived);
        (served.orders)(match decided {
            None => Order::Run(Box::new(call), reply),
            Some(decided) => Order::Decide(Box::new(call), Box::new(decided), reply),
        });
        wait(served, number, (answered, arrived), context).await
    }

    /// Asks a person about the plan of a call, if the client can ask.
    async fn ask(
        &self,
        served: &Served,
        question: PendingQuestion,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let PendingQuestion { plan, text, unasked } = question;
        match Asking::of(context) {
            Asking::Never => Ok(answered(&unasked)),
            Asking::Result => Ok(elicitation::asking_result(&text, plan)?.into()),
            Asking::Session => {
                let mut input_ended = self.input_ended.clone();
                let decision = tokio::select! {
                    decision = elicitation::ask(&text, context) => decision,
                    () = context.ct.cancelled() => Decision::Open,
                    _ = input_ended.wait_for(|has_ended| *has_ended) => Decision::Open,
                };
                if decision == Decision::Open {
                    return Ok(answered(&unasked));
                }
                // A person has answered, so it is not refused for want of room. There are as many questions as plans at most.
                match self.outcome_in_place(served, call, Some(Decided { plan, decision }), context).await {
                    Outcome::Answer(answer) => Ok(answered(&answer)),
                    Outcome::Question(again) => Ok(answered(&again.unasked)),
                    // No wait gives one.
                    Outcome::Evened { .. } => Ok(answered(&unasked)),
                }
            }
        }
    }
}

/// Returns the answer to a call without a place.
fn no_room() -> Answer {
    let reason = format!("{MAX_CALLS} calls run or wait already; call again when some of them are answered");
    Answer::refused("refused", vec![reason])
}

/// Waits for an outcome. Tells a client that wants to know that the call still runs.
async fn wait(
    served: &Served,
    number: u64,
    (mut answered, arrived): (oneshot::Receiver<Outcome>, Instant),
    context: &RequestContext<RoleServer>,
) -> Outcome {
    let refused = |status: &str, reasons| Outcome::from(Answer::refused(status, reasons));
    let lost = || refused("refused", vec![LOST.to_owned()]);
    let (mut ticks, mut count) = (ticks(), 0.0);
    let (mut found, mut wake) = (None, arrived);
    loop {
        tokio::select! {
            answer = &mut answered, if found.is_none() => match answer.unwrap_or_else(|_| lost()) {
                Outcome::Evened { outcome, at } => {
                    // It took longer than was thought.
                    let is_late = at < Instant::now();
                    (found, wake) = (Some(*outcome), if is_late { evened_at(arrived) } else { at });
                }
                outcome => return outcome,
            },
            () = sleep_until(wake.into()), if found.is_some() => return found.unwrap_or_else(lost),
            () = context.ct.cancelled() => {
                (served.orders)(Order::Cancel(number));
                return refused("cancelled", Vec::new());
            }
            _ = ticks.tick() => {
                count += 1.0;
                if let Some(token) = context.meta.get_progress_token() {
                    let note = ProgressNotificationParam::new(token, count);
                    // A client that is gone is noticed by its streams.
                    let _ = context.peer.notify_progress(note).await;
                }
            }
        }
    }
}

fn ticks() -> Interval {
    let mut ticks = interval_at(tokio::time::Instant::now() + PROGRESS, PROGRESS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

pub(super) fn list(tools: &[Tool]) -> ListToolsResult {
    let output = Arc::new(output_schema());
    let list = ListToolsResult::with_all_items(tools.iter().map(|tool| listed(tool, &output)).collect());
    ListToolsResult { ttl_ms: Some(LIST_TTL_MS), cache_scope: Some(CacheScope::Private), ..list }
}

/// Returns the definition of a tool.
fn listed(tool: &Tool, output: &Arc<model::JsonObject>) -> model::Tool {
    let Reach { changes, leaves } = tool.reach;
    let hints = ToolAnnotations::new().read_only(!changes && !leaves).destructive(changes).open_world(leaves);
    let listed = model::Tool::new(tool.name.clone(), tool.description.clone(), tool.input_schema.clone());
    let listed = listed.with_title(tool.title.clone()).with_annotations(hints);
    listed.with_raw_output_schema(Arc::clone(output))
}

/// Returns an answer as the protocol has it.
fn answered(answer: &Answer) -> CallToolResponse {
    let json = answer.to_json();
    let text = vec![ContentBlock::text(json.to_string())];
    let mut result = if answer.is_success { CallToolResult::success(text) } else { CallToolResult::error(text) };
    result.structured_content = Some(json);
    result.into()
}

/// Returns what a client says of itself.
fn caller(context: &RequestContext<RoleServer>) -> Caller {
    let client = context.client_info().map(|client| format!("{} {}", client.name, client.version));
    let request = match &context.id {
        RequestId::Number(number) => number.to_string(),
        RequestId::String(text) => text.to_string(),
    };
    Caller {
        client: in_one_line(&client.unwrap_or_default(), MAX_CLAIM),
        protocol: context.protocol_version().map(|version| version.to_string()).unwrap_or_default(),
        request: in_one_line(&request, MAX_CLAIM),
    }
}

/// Returns the arguments of a call as the contract of modules has them.
fn arguments(given: Option<model::JsonObject>) -> Dict {
    match to_value(&given.unwrap_or_default()) {
        Ok(Value::Dict(arguments)) => arguments,
        // JSON objects have no other form.
        _ => Dict::new(),
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("modbox", self.introduction.version))
            .with_instructions(self.introduction.instructions.clone())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(self.list.clone())
    }

    /// Refuses a request of another method. One whose parameters do not fit its method is one of these for `rmcp`.
    async fn on_custom_request(
        &self,
        CustomRequest { method, .. }: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = in_one_line(&method, MAX_CLAIM);
        Err(match method.as_str() {
            "tools/call" | "tools/list" => {
                ErrorData::invalid_params(format!("the parameters of `{method}` have a wrong form"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{method}`"), None),
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = || {
            let name = in_one_line(&request.name, MAX_CLAIM);
            ErrorData::invalid_params(format!("unknown tool `{name}`; `tools/list` has the tools"), None)
        };
        if !self.introduction.listed.iter().any(|tool| tool.name == request.name) {
            return Err(unknown());
        }
        let served = &*match self.served(&context).await {
            Ok(served) => served,
            Err(answer) => return Ok(answered(&answer)),
        };
        let Served { tools, hidden, .. } = served;
        let is_called = |(place, tool): (usize, &Tool)| place >= *hidden && tool.name == request.name;
        let tool = tools.iter().enumerate().position(is_called).ok_or_else(unknown)?;
        let decided = match (request.request_state, request.input_responses) {
            (None, None) => None,
            (Some(plan), answers) if served.asks && elicitation::is_modern(&context) => {
                Some(Decided { plan, decision: elicitation::answered(answers.as_ref()) })
            }
            _ => {
                let message = "this server has asked nothing in this way, so it takes no answer to a question";
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (tool, arguments) = match own::route(tools, *hidden, tool, arguments(request.arguments)) {
            Route::Tool(tool, arguments) => (tool, arguments),
            Route::Answered(answer) => return Ok(answered(&answer)),
        };
        let call = Call { number, tool, arguments, caller: caller(&context) };
        match self.outcome(served, call.clone(), decided, &context).await {
            Outcome::Answer(answer) => Ok(answered(&answer)),
            Outcome::Question(question) => self.ask(served, *question, call, &context).await,
            // No wait gives one.
            Outcome::Evened { .. } => Err(ErrorData::internal_error("the outcome was not waited for", None)),
        }
    }
}
