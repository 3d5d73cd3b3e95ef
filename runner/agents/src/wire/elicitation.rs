//! The question to a person as the protocol has it (elicitation): a form with one choice. In a session the server asks; a client
//! without one gets the question as a result, and calls again with the answer.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ErrorData, InputRequest, InputRequiredResult, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::wire::calls::Decision;

/// Key of the question among those of a result.
const QUESTION: &str = "confirm";

/// Name of the choice in the form.
const CHOICE: &str = "decision";

/// How long a session waits for a person.
const PATIENCE: Duration = Duration::from_secs(600);

/// How a client can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// In its session.
    Session,
    /// By a result, after which it calls again.
    Result,
    /// Not at all: it has not declared that it can.
    Never,
}

impl Asking {
    /// Returns how the client of a request can be asked. A question in a mode that was not declared is not allowed.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let declared = context.client_capabilities().and_then(|client| client.elicitation);
        // Before modes were declared, there were only forms.
        let has_forms = declared.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        match (has_forms, is_modern(context)) {
            (false, _) => Self::Never,
            (true, true) => Self::Result,
            (true, false) => Self::Session,
        }
    }
}

/// Returns whether a request is of the protocol in which no server asks its client.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Returns the result that asks.
///
/// # Errors
///
/// The form does not fit the protocol.
pub(super) fn asking_result(text: &str, plan: String) -> Result<InputRequiredResult, ErrorData> {
    let question = InputRequest::Elicitation(ElicitRequest::new(form(text)?));
    Ok(InputRequiredResult::new(Some(BTreeMap::from([(QUESTION.to_owned(), question)])), Some(plan)))
}

/// Asks in a session. A client that does not answer has decided nothing.
pub(super) async fn ask(text: &str, context: &RequestContext<RoleServer>) -> Decision {
    let Ok(form) = form(text) else { return Decision::Open };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(PATIENCE);
    let Ok(asked) = context.peer.send_request_with_option(request, options).await else { return Decision::Open };
    match asked.await_response().await {
        Ok(answer) => serde_json::to_value(answer).map_or(Decision::Open, |answer| decision(&answer)),
        Err(_) => Decision::Open,
    }
}

/// Returns what the answers of a client to a result say.
pub(super) fn answered(answers: Option<&BTreeMap<String, Value>>) -> Decision {
    answers.and_then(|answers| answers.get(QUESTION)).map_or(Decision::Open, decision)
}

fn form(text: &str) -> Result<ElicitRequestParams, ErrorData> {
    let form = json!({
        "mode": "form",
        "message": text,
        "requestedSchema": {
            "type": "object",
            "properties": {CHOICE: {
                "type": "string",
                "title": "Decision",
                "description": "apply makes the changes; discard drops them",
                "enum": ["apply", "discard"],
            }},
            "required": [CHOICE],
        },
    });
    serde_json::from_value(form).map_err(|error| ErrorData::internal_error(format!("failed to ask: {error}"), None))
}

/// Returns what an answer says. Only a choice of the form makes changes.
fn decision(answer: &Value) -> Decision {
    match (answer["action"].as_str(), answer["content"][CHOICE].as_str()) {
        (Some("accept"), Some("apply")) => Decision::Apply,
        (Some("accept"), Some("discard")) | (Some("decline"), _) => Decision::Discard,
        _ => Decision::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_choice_of_the_form_makes_changes() {
        for (answer, expect) in [
            (json!({"action": "accept", "content": {"decision": "apply"}}), Decision::Apply),
            (json!({"action": "accept", "content": {"decision": "discard"}}), Decision::Discard),
            (json!({"action": "decline"}), Decision::Discard),
            (json!({"action": "decline", "content": {"decision": "apply"}}), Decision::Discard),
            (json!({"action": "cancel", "content": {"decision": "apply"}}), Decision::Open),
            (json!({"action": "accept"}), Decision::Open),
            (json!({"action": "accept", "content": {}}), Decision::Open),
            (json!({"action": "accept", "content": {"decision": true}}), Decision::Open),
            (json!({"action": "accept", "content": "apply"}), Decision::Open),
            (json!({"action": "yes", "content": {"decision": "apply"}}), Decision::Open),
            (json!(null), Decision::Open),
        ] {
            assert_eq!(decision(&answer), expect, "{answer}");
        }
        assert_eq!(answered(None), Decision::Open);
        assert!(form("text").is_ok());
    }
}
