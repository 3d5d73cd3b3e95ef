//! One request for resources as a task makes it, and its answer as the result of a module: `changed`, the resource, the
//! changes, and the difference as Ansible shows it.

use std::collections::BTreeSet;

use modbox_contract::{Dict, Value};
use modbox_providers::{Change, GivenError, Resource, Text, read_given};

use crate::modules::module::Module;
use crate::provider::catalogue::Provider;
use crate::provider::resource_request::ResourceRequest;
use crate::provider::resources::{Answer, Update};
use crate::reports::report::{ADVICE_PREFIX, Report};
use crate::request::run_request::RunRequest;

/// The argument that chooses a resource.
const NAME: &str = "name";

/// Reason why a request was not made, or not to its end.
#[derive(Debug)]
pub enum Unmanaged<E> {
    /// The name of the resource is not a text.
    Name(&'static str),
    /// An attribute cannot be set.
    Given(GivenError),
    /// An action could not be run.
    Run(E),
}

/// Result of a request, with the reports of its actions. The result is missing if the last action failed.
#[derive(Debug)]
pub struct Managed {
    /// The result, as that of a module.
    pub result: Option<Dict>,
    /// The reports, in the order of the actions.
    pub reports: Vec<Report>,
}

impl Provider {
    /// Updates the resource that `args` name if they set attributes, else looks for it; lists all resources without a
    /// name. `run` makes one run of a module.
    ///
    /// # Errors
    ///
    /// Arguments that are wrong, and errors of `run`.
    pub fn manage<E>(
        &self,
        request: &ResourceRequest<'_>,
        mut args: Dict,
        run: &mut dyn FnMut(&Module, &RunRequest<'_>) -> Result<Report, E>,
    ) -> Result<Managed, Unmanaged<E>> {
        let Some(name) = args.shift_remove(NAME) else {
            let listed = self.list(request, run).map_err(Unmanaged::Run)?;
            return Ok(managed(listed, |resources| {
                let resources: Vec<Value> = resources.iter().map(Resource::to_value).collect();
                Dict::from_iter([("changed".to_owned(), false.into()), ("resources".to_owned(), resources.into())])
            }));
        };
        let name = name_of(&name).ok_or_else(|| Unmanaged::Name(name.type_name()))?;
        if args.is_empty() {
            let found = self.find(request, &name, run).map_err(Unmanaged::Run)?;
            return Ok(managed(found, |found| {
                let resource = found.as_ref().map(Resource::to_value);
                Dict::from_iter([("changed".to_owned(), false.into()), ("resource".to_owned(), resource.into())])
            }));
        }
        let should = read_given(&self.metadata, &args).map_err(Unmanaged::Given)?;
        let updated = self.update(request, &name, &should, run).map_err(Unmanaged::Run)?;
        Ok(managed(updated, |update| self.updated(&update)))
    }

    fn updated(&self, Update { result, is_simulated }: &Update) -> Dict {
        let changes: Vec<Value> = result.changes.iter().map(Change::to_value).collect();
        let mut dict = Dict::from_iter([
            ("changed".to_owned(), Value::Bool(!changes.is_empty())),
            ("resource".to_owned(), result.resource.to_value()),
            ("changes".to_owned(), changes.into()),
        ]);
        if *is_simulated {
            dict.insert("simulated".to_owned(), true.into());
        }
        if !result.changes.is_empty() {
            dict.insert("diff".to_owned(), difference(&self.qualified_name(), &result.resource.name, &result.changes));
        }
        dict
    }
}

/// Returns the name of a resource. A number is its decimal text.
fn name_of(value: &Value) -> Option<Text> {
    match value {
        Value::Int(number) => Some(number.to_string().into()),
        other => Text::from_value(other),
    }
}

fn managed<T>(answer: Answer<T>, to_dict: impl FnOnce(T) -> Dict) -> Managed {
    let Answer { value, reports } = answer;
    let result = value.map(|value| {
        let mut dict = to_dict(value);
        let warnings = warnings(&reports);
        if !warnings.is_empty() {
            dict.insert("warnings".to_owned(), warnings.into());
        }
        dict
    });
    Managed { result, reports }
}

/// Returns the changes as the attributes before and afterwards.
fn difference(provider: &str, name: &Text, changes: &[Change]) -> Value {
    let side = |value: fn(&Change) -> Value| {
        Value::Dict(changes.iter().map(|change| (change.attribute.clone(), value(change))).collect())
    };
    let header = format!("{provider} {name}");
    Value::Dict(Dict::from_iter([
        ("before_header".to_owned(), header.as_str().into()),
        ("after_header".to_owned(), header.as_str().into()),
        ("before".to_owned(), side(|change| change.was.to_value())),
        ("after".to_owned(), side(|change| change.is.to_value())),
    ]))
}

/// Returns the warnings of all actions, each once: the actions of an update say the same of a resource.
fn warnings(reports: &[Report]) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let all = reports.iter().filter_map(|report| report.result.as_dict().get("warnings")?.as_list()).flatten();
    let texts = all.filter_map(Value::as_str).filter(|text| !text.starts_with(ADVICE_PREFIX));
    texts.filter(|text| seen.insert(*text)).map(Value::from).collect()
}
