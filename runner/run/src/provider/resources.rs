//! Finds, lists and updates resources of a provider: the actions of either convention, with values of the types that
//! the metadata declares.
//!
//! An update begins with a look at the resource. If nothing differs, nothing else runs. If nothing may change, the
//! differences are the result, unless the provider says that it is safe without changes.

use std::borrow::Cow;

use modbox_contract::{Dict, InternalArgs, Value};
use modbox_providers::update::{self, UpdateResult};
use modbox_providers::{
    Action, ActionResult, Attributes, Convention, ListResult, ProviderFailure, Resource, Text, json,
};

use crate::modules::module::Module;
use crate::provider::catalogue::Provider;
use crate::provider::resource_request::ResourceRequest;
use crate::reports::report::Report;
use crate::request::run_request::{Arguments, RunRequest};

/// Answer to a request, with the reports of the actions that it took.
#[derive(Debug)]
pub struct Answer<T> {
    /// The answer; `None` if the last action failed.
    pub value: Option<T>,
    /// The reports, in the order of the actions.
    pub reports: Vec<Report>,
}

/// Answer to an update.
#[derive(Debug)]
pub struct Update {
    /// The resource afterwards, and its changes.
    pub result: UpdateResult,
    /// Whether the changes are only the differences: the provider was not asked to change anything.
    pub is_simulated: bool,
}

impl<T> Answer<T> {
    /// Returns the failure of the last action, if the provider's convention has one for it. A denied run has none.
    #[must_use]
    pub fn failure(&self) -> Option<&ProviderFailure> {
        let run = self.reports.last()?.provider.as_ref()?;
        run.outcome.as_ref()?.as_ref().err()
    }
}

impl Provider {
    /// Looks for a resource by its name. `run` makes one run of a module.
    ///
    /// # Errors
    ///
    /// Those of `run`. A failed action is not an error, but an answer without a value.
    pub fn find<E>(
        &self,
        request: &ResourceRequest<'_>,
        name: &Text,
        run: &mut dyn FnMut(&Module, &RunRequest<'_>) -> Result<Report, E>,
    ) -> Result<Answer<Option<Resource>>, E> {
        let (action, mut args) = match self.metadata.convention {
            Convention::Simple => (Action::Find, Dict::from_iter([("name".to_owned(), name.to_value())])),
            Convention::Json => (Action::Get, json::get_input(&[name])),
        };
        let report = self.act(request, action, &mut args, run)?;
        let value = match outcome(&report) {
            Some(ActionResult::Found(found)) => Some(found.resource.clone()),
            _ => None,
        };
        Ok(Answer { value, reports: vec![report] })
    }

    /// Lists all resources.
    ///
    /// # Errors
    ///
    /// Those of `run`. A failed action is not an error, but an answer without a value.
    pub fn list<E>(
        &self,
        request: &ResourceRequest<'_>,
        run: &mut dyn FnMut(&Module, &RunRequest<'_>) -> Result<Report, E>,
    ) -> Result<Answer<Vec<Resource>>, E> {
        let (action, mut args) = match self.metadata.convention {
            Convention::Simple => (Action::List, Dict::new()),
            Convention::Json => (Action::Get, json::get_input(&[])),
        };
        let report = self.act(request, action, &mut args, run)?;
        let value = match outcome(&report) {
            Some(ActionResult::Listed(ListResult { resources, .. })) => Some(resources.clone()),
            _ => None,
        };
        Ok(Answer { value, reports: vec![report] })
    }

    /// Sets attributes of a resource.
    ///
    /// # Errors
    ///
    /// Those of `run`. A failed action is not an error, but an answer without a value.
    pub fn update<E>(
        &self,
        request: &ResourceRequest<'_>,
        name: &Text,
        should: &Attributes,
        run: &mut dyn FnMut(&Module, &RunRequest<'_>) -> Result<Report, E>,
    ) -> Result<Answer<Update>, E> {
        let Answer { value, mut reports } = self.find(request, name, run)?;
        let Some(is) = value else { return Ok(Answer { value: None, reports }) };
        let is = is.as_ref();
        // The name that the provider was asked for: a relative path is an absolute one by now.
        let asked = reports.last().and_then(|report| report.provider.as_ref()?.call.name.clone());
        let name = asked.as_ref().unwrap_or(name);
        let differing = update::differing(is, should);
        let is_trusted = self.metadata.noop_safe && !request.policy.allows_everything();
        if differing.is_empty() || (request.check && !is_trusted) {
            let result = update::simulate(name, is, should);
            let is_simulated = !differing.is_empty();
            return Ok(Answer { value: Some(Update { result, is_simulated }), reports });
        }
        let (action, mut args) = match self.metadata.convention {
            Convention::Simple => (Action::Update, update_arguments(name, &differing)),
            // As libral does, which leaves the comparison to the provider.
            Convention::Json => (Action::Set, json::set_input(name, is, should, request.check)),
        };
        let report = self.act(request, action, &mut args, run)?;
        let value = match outcome(&report) {
            Some(ActionResult::Updated(updated)) => {
                let result = update::merge(name, is, should, updated.clone());
                Some(Update { result, is_simulated: false })
            }
            _ => None,
        };
        reports.push(report);
        Ok(Answer { value, reports })
    }

    /// Runs one action.
    fn act<E>(
        &self,
        request: &ResourceRequest<'_>,
        action: Action,
        args: &mut Dict,
        run: &mut dyn FnMut(&Module, &RunRequest<'_>) -> Result<Report, E>,
    ) -> Result<Report, E> {
        let name = self.qualified_name();
        args.insert("ral_action".to_owned(), action.as_str().into());
        let internal = InternalArgs { check_mode: request.check, ..InternalArgs::new(&name) };
        let arguments = Arguments::Task { args: std::mem::take(args), internal: Box::new(internal) };
        let mut prepared = RunRequest::new(&name, Arguments::Complete(Dict::new()), request.policy, request.limits);
        prepared.arguments = Cow::Owned(arguments);
        prepared.interpreters = request.interpreters;
        run(&self.module, &prepared)
    }
}

/// Returns the arguments of `update`: the name and the attributes that differ.
fn update_arguments(name: &Text, differing: &Attributes) -> Dict {
    let attributes = differing.iter().map(|(attribute, value)| (attribute.clone(), value.to_value()));
    [("name".to_owned(), name.to_value())].into_iter().chain(attributes).collect::<Dict>()
}

fn outcome(report: &Report) -> Option<&ActionResult> {
    let succeeded = report.status.is_success() && !report.result.as_dict().get("skipped").is_some_and(Value::is_truthy);
    report.provider.as_ref().filter(|_| succeeded)?.outcome.as_ref()?.as_ref().ok()
}
