//! The result of any action: typed for callers, and as the object of a run's result.

use modbox_contract::{Dict, Value};

use crate::action::Action;
use crate::blind;
use crate::failure::{ActionOutput, OutputError, ProviderFailure};
use crate::finding::{FindResult, ListResult, UpdateReport};
use crate::formats::raw_call::RawCall;
use crate::formats::{json, simple};
use crate::log::LogLine;
use crate::metadata::Metadata;
use crate::resource::{Change, Resource};
use crate::text::Text;

/// What a provider answers to one action.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionResult {
    /// The provider's metadata as it printed it, checked.
    Described(Value),
    /// One resource, or that there is none.
    Found(FindResult),
    /// All resources.
    Listed(ListResult),
    /// What an update changed.
    Updated(UpdateReport),
}

/// Reads the output of an action. `metadata` is that of the provider, and `log` what it wrote to standard error.
///
/// # Errors
///
/// The action failed, its output is not valid, or the provider could not look.
pub fn interpret(
    call: &RawCall,
    metadata: &Metadata,
    output: &ActionOutput<'_>,
    log: &[LogLine],
) -> Result<ActionResult, ProviderFailure> {
    let unnamed = Text::default();
    let name = call.name.as_ref().unwrap_or(&unnamed);
    let result = match call.action {
        Action::Describe => describe(output, &metadata.name),
        Action::List => simple::list(output, metadata).map(ActionResult::Listed),
        Action::Find => simple::find(output, metadata, name).map(ActionResult::Found),
        Action::Update => simple::update(output, metadata, name).map(ActionResult::Updated),
        Action::Get if call.name.is_none() => json::list(output, metadata).map(ActionResult::Listed),
        Action::Get => json::find(output, metadata, name).map(ActionResult::Found),
        Action::Set => json::update(output, metadata, name).map(ActionResult::Updated),
    };
    let blind = || blind::telling(log).map(|line| ProviderFailure::Blind(line.to_owned()));
    result.and_then(|found| blind().map_or(Ok(found), Err))
}

/// Reads the output of `describe`. `stem` is as for [`Metadata::from_yaml`].
///
/// # Errors
///
/// The action failed, or its output is not valid metadata.
pub fn describe(output: &ActionOutput<'_>, stem: &str) -> Result<ActionResult, ProviderFailure> {
    let status = output.status()?;
    ProviderFailure::check_status(status)?;
    let invalid = |problem: String| ProviderFailure::of_output(status)(OutputError::Form(problem));
    Metadata::from_yaml(output.stdout, stem).map_err(|error| invalid(error.to_string()))?;
    let text = str::from_utf8(output.stdout).unwrap_or_default();
    let document = serde_saphyr::from_str::<Value>(text);
    document.map(ActionResult::Described).map_err(|error| invalid(error.without_snippet().to_string()))
}

impl ActionResult {
    /// Returns whether the action changed something. An update that leaves its changes to be derived was called because
    /// something differs.
    #[must_use]
    pub fn changed(&self) -> bool {
        matches!(self, Self::Updated(updated) if updated.derive || !updated.changes.is_empty())
    }

    /// Returns doubtful parts of the output.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::Described(_) => &[],
            Self::Found(found) => &found.warnings,
            Self::Listed(listed) => &listed.warnings,
            Self::Updated(updated) => &updated.warnings,
        }
    }

    /// Returns the result as an object: `provider`, `resource`, `resources` or `changes`, with `changed`.
    #[must_use]
    pub fn to_dict(&self) -> Dict {
        let mut dict = Dict::from_iter([("changed".to_owned(), Value::Bool(self.changed()))]);
        let mut add = |key: &str, value: Value| drop(dict.insert(key.to_owned(), value));
        match self {
            Self::Described(document) => {
                add("provider", document.as_dict().and_then(|document| document.get("provider")).cloned().into());
            }
            Self::Found(found) => add("resource", found.resource.as_ref().map(Resource::to_value).into()),
            Self::Listed(listed) => {
                add("resources", listed.resources.iter().map(Resource::to_value).collect::<Vec<_>>().into())
            }
            Self::Updated(updated) => {
                add("changes", updated.changes.iter().map(Change::to_value).collect::<Vec<_>>().into());
                add("derive", updated.derive.into());
            }
        }
        dict
    }
}

#[cfg(test)]
mod tests {
    use modbox_contract::{decode, encode};

    use super::*;
    use crate::failure::ActionEnd;

    const METADATA: &str = "provider: {type: t, invoke: simple, suitable: true, attributes: {name: , s: }}";

    #[track_caller]
    fn check(arguments: &str, stdout: &str, expect: &str) {
        let Ok(Value::Dict(arguments)) = decode(arguments) else { panic!("{arguments}") };
        let call = RawCall::from_arguments(&arguments).unwrap();
        let metadata = Metadata::from_yaml(METADATA.as_bytes(), "p").unwrap();
        let output = ActionOutput { end: &ActionEnd::Exited(0), stdout: stdout.as_bytes() };
        let got = match interpret(&call, &metadata, &output, &[]) {
            Ok(result) => encode(&result.to_dict().into()),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(got, expect, "{stdout}");
    }

    #[test]
    fn each_action_has_a_result() {
        let (find, update) = (r#"{"ral_action": "find", "name": "n"}"#, r#"{"ral_action": "update", "name": "n"}"#);
        check(find, "# simple\nname: n\ns: 1", r#"{"changed": false, "resource": {"name": "n", "s": "1"}}"#);
        check(find, "# simple\nral_unknown: 1", r#"{"changed": false, "resource": null}"#);
        check(r#"{"ral_action": "list"}"#, "# simple\nname: n", r#"{"changed": false, "resources": [{"name": "n"}]}"#);
        check(
            update,
            "# simple\ns: 2\nral_was: 1",
            r#"{"changed": true, "changes": [{"attr": "s", "is": "2", "was": "1"}], "derive": false}"#,
        );
        check(update, "# simple\nral_derive: true", r#"{"changed": true, "changes": [], "derive": true}"#);
        check(update, "# simple", r#"{"changed": false, "changes": [], "derive": false}"#);
        check(
            r#"{"ral_action": "describe"}"#,
            METADATA,
            r#"{"changed": false, "provider": {"type": "t", "invoke": "simple", "suitable": true, "attributes": {"name": null, "s": null}}}"#,
        );
        check(
            r#"{"ral_action": "describe"}"#,
            "provider: {}",
            "failed to read the provider's output: `provider.type` in the metadata is missing",
        );
        let get = r#"{"ral_action": "get", "names": ["n"]}"#;
        check(get, r#"{"resources": [{"name": "n"}]}"#, r#"{"changed": false, "resource": {"name": "n"}}"#);
        let get = r#"{"ral_action": "get", "names": []}"#;
        check(get, r#"{"resources": [{"name": "n"}]}"#, r#"{"changed": false, "resources": [{"name": "n"}]}"#);
        let set = r#"{"ral_action": "set", "updates": [{"name": "n"}]}"#;
        check(set, r#"{"derive": true}"#, r#"{"changed": true, "changes": [], "derive": true}"#);
        check(set, r#"{"error": {"message": "no"}}"#, "the provider reported: no");
    }
}
