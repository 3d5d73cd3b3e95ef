//! Prints what `modbox resource` found and did: as text or JSON, with modbox's exit statuses or those of `ralsh`.
//!
//! Text of providers is made safe for terminals. For `--compat ralsh`, bytes are unchanged where no terminal reads them.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

use anyhow::bail;
use modbox_providers::ralsh_json::{self, ListedProvider, NoneForm, compact};
use modbox_providers::{Change, GivenError, Resource, SelectError, Suitability, Text, ralsh_text};
use modbox_python_json::{Dict, Value, encode};
use modbox_run::{ADVICE_PREFIX, Answer, Catalogue, Provider, Report, Update, attribute_message, selection_message};

use crate::cli::args::{Compatibility, ResourceOutput};
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output::{self, clean, clean_line};

/// Format of the output, and whose exit statuses are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    format: ResourceOutput,
    is_ralsh: bool,
}

/// Provider that was asked, and how.
pub(crate) struct Subject<'a> {
    provider: &'a Provider,
    name: String,
    check: bool,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(provider: &'a Provider, check: bool) -> Self {
        Self { name: provider.qualified_name(), provider, check }
    }
}

/// The stream of a failure's text; `ralsh` prints those of `find` elsewhere than others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Error,
}

impl Printer {
    /// Resolves the switches.
    ///
    /// # Errors
    ///
    /// `ralsh` has no reports.
    pub(crate) fn new(format: Option<ResourceOutput>, compat: Option<Compatibility>) -> anyhow::Result<Self> {
        let format = format.unwrap_or(ResourceOutput::Human);
        if compat.is_some() && format == ResourceOutput::Report {
            bail!("`--compat ralsh` has no reports; leave out one of `--compat` and `--output report`");
        }
        Ok(Self { format, is_ralsh: compat.is_some() })
    }

    /// Prints all providers. `ralsh` knows only those that work here.
    pub(crate) fn providers(self, catalogue: &Catalogue) -> Result<ExitStatus, Failure> {
        let is_shown = |provider: &&Provider| !self.is_ralsh || provider.suitability == Suitability::Suitable;
        let providers: Vec<&Provider> = catalogue.providers.iter().filter(is_shown).collect();
        if self.format == ResourceOutput::Human {
            let lines: Vec<String> = providers.iter().map(|provider| self.provider_line(provider)).collect();
            if !lines.is_empty() {
                output::print_line(&lines.join("\n")).or_internal()?;
            }
        } else {
            let sources: Vec<String> = providers.iter().map(|provider| provider.path().display().to_string()).collect();
            let listed: Vec<ListedProvider<'_>> = providers
                .iter()
                .zip(&sources)
                .map(|(provider, source)| ListedProvider {
                    metadata: &provider.metadata,
                    source,
                    suitable: provider.suitability == Suitability::Suitable,
                })
                .collect();
            output::print_line(&compact(&ralsh_json::providers(&listed))).or_internal()?;
        }
        let has_errors = catalogue.problems.iter().any(|problem| problem.is_error);
        Ok(self.status_with_problems(ExitStatus::Success, has_errors))
    }

    fn provider_line(self, provider: &Provider) -> String {
        let name = provider.qualified_name();
        match provider.suitability.reason() {
            _ if self.is_ralsh => clean_line(&name),
            None => clean_line(&format!("{name}  suitable")),
            Some(reason) => clean_line(&format!("{name}  not suitable: {reason}")),
        }
    }

    /// Prints the attributes of a provider.
    pub(crate) fn explanation(self, provider: &Provider) -> Result<ExitStatus, Failure> {
        let source = provider.path().display().to_string();
        if self.format != ResourceOutput::Human {
            let suitable = provider.suitability == Suitability::Suitable;
            let listed = ListedProvider { metadata: &provider.metadata, source: &source, suitable };
            output::print_line(&compact(&ralsh_json::providers(&[listed]))).or_internal()?;
            return Ok(ExitStatus::Success);
        }
        let mut text = ralsh_text::explanation(&provider.metadata, &source);
        if let Some(reason) = provider.suitability.reason().filter(|_| !self.is_ralsh) {
            text += &format!("not suitable: {reason}\n");
        }
        self.text(text.as_bytes()).or_internal()?;
        Ok(ExitStatus::Success)
    }

    /// Says that a name chooses no provider.
    pub(crate) fn unknown_provider(self, wanted: &str, error: SelectError) -> Result<ExitStatus, Failure> {
        if !self.is_ralsh {
            return Err(anyhow::Error::msg(selection_message(&error))).or_unavailable();
        }
        let text = match &error {
            SelectError::Unknown { .. } => ralsh_text::unknown_provider(wanted),
            SelectError::Ambiguous { .. } => format!("{error}\n"),
        };
        self.text(text.as_bytes()).or_internal()?;
        Ok(ExitStatus::Usage)
    }

    /// Says that an attribute cannot be set.
    pub(crate) fn wrong_attribute(self, provider: &Provider, error: GivenError) -> Result<ExitStatus, Failure> {
        if self.is_ralsh {
            output::print_raw_error(&ralsh_text::given(&error, &provider.qualified_name()));
            return Ok(ExitStatus::Usage);
        }
        Err(anyhow::Error::msg(attribute_message(&error, &provider.qualified_name()))).or_usage()
    }

    /// Prints all resources.
    pub(crate) fn list(self, subject: &Subject<'_>, answer: &Answer<Vec<Resource>>) -> Result<ExitStatus, Failure> {
        let Some(resources) = &answer.value else { return self.failure(subject, answer, Stream::Out) };
        self.warn(answer);
        match self.format {
            ResourceOutput::Human => {
                let text: Vec<Vec<u8>> = resources.iter().map(|one| ralsh_text::resource(&subject.name, one)).collect();
                self.text(&text.concat()).or_internal()?;
            }
            ResourceOutput::Json => {
                self.json(ralsh_json::list(&subject.provider.metadata, resources, self.none())).or_internal()?;
            }
            ResourceOutput::Report => {
                let list = resources.iter().map(Resource::to_value).collect::<Vec<_>>();
                report(subject, "list", [("resources", list.into())], &answer.reports).or_internal()?;
            }
        }
        Ok(self.status(ExitStatus::Success, answer))
    }

    /// Prints one resource. If there is none, or an absent one counts as none, the exit status says so.
    pub(crate) fn find(
        self,
        subject: &Subject<'_>,
        name: &Text,
        answer: &Answer<Option<Resource>>,
        absent_is_missing: bool,
    ) -> Result<ExitStatus, Failure> {
        let Some(found) = &answer.value else { return self.failure(subject, answer, Stream::Error) };
        self.warn(answer);
        match self.format {
            ResourceOutput::Human => match found {
                Some(found) => self.text(&ralsh_text::resource(&subject.name, found)).or_internal()?,
                None if self.is_ralsh => {}
                None => output::print_note(&format!("`{}` has no resource `{name}`", subject.name)),
            },
            ResourceOutput::Json => {
                let value = ralsh_json::find(&subject.provider.metadata, found.as_ref(), self.none());
                self.json(value).or_internal()?;
            }
            ResourceOutput::Report => {
                let resource = found.as_ref().map(Resource::to_value);
                report(subject, "find", [("resource", resource.into())], &answer.reports).or_internal()?;
            }
        }
        let is_missing = found.as_ref().is_none_or(|found| absent_is_missing && found.is_absent());
        Ok(if is_missing { ExitStatus::Failed } else { self.status(ExitStatus::Success, answer) })
    }

    /// Prints a resource after an update, and its changes.
    pub(crate) fn update(self, subject: &Subject<'_>, answer: &Answer<Update>) -> Result<ExitStatus, Failure> {
        let Some(Update { result, is_simulated }) = &answer.value else {
            return self.failure(subject, answer, Stream::Out);
        };
        self.warn(answer);
        match self.format {
            ResourceOutput::Human => {
                let resource = ralsh_text::resource(&subject.name, &result.resource);
                self.text(&[resource, ralsh_text::changes(&result.changes)].concat()).or_internal()?;
                if *is_simulated {
                    output::print_note(
                        "simulated: these are the differences, and the provider was not asked to change them",
                    );
                }
            }
            ResourceOutput::Json => {
                let mut value = ralsh_json::update(&subject.provider.metadata, result, self.none());
                if let Value::Dict(entries) = &mut value
                    && *is_simulated
                    && !self.is_ralsh
                {
                    entries.insert("simulated".to_owned(), true.into());
                }
                self.json(value).or_internal()?;
            }
            ResourceOutput::Report => {
                let changes: Vec<Value> = result.changes.iter().map(Change::to_value).collect();
                let entries = [
                    ("changed", Value::Bool(!result.changes.is_empty())),
                    ("simulated", (*is_simulated).into()),
                    ("resource", result.resource.to_value()),
                    ("changes", changes.into()),
                ];
                report(subject, "update", entries, &answer.reports).or_internal()?;
            }
        }
        Ok(self.status(ExitStatus::Success, answer))
    }

    /// Prints why the last action failed.
    fn failure<T>(self, subject: &Subject<'_>, answer: &Answer<T>, stream: Stream) -> Result<ExitStatus, Failure> {
        let Some(last) = answer.reports.last() else { return Ok(ExitStatus::Internal) };
        let message = match answer.failure().filter(|_| self.is_ralsh) {
            Some(failure) => {
                let action = last.provider.as_ref().map_or("", |run| run.call.action.as_str());
                ralsh_text::failure(failure, &subject.name, &subject.provider.path().display().to_string(), action)
            }
            None => last.result.msg().unwrap_or_default(),
        };
        match self.format {
            ResourceOutput::Human if self.is_ralsh => {
                let text = format!("failed: {message}\n");
                match stream {
                    Stream::Out => self.text(text.as_bytes()).or_internal()?,
                    Stream::Error => output::print_raw_error(&text),
                }
            }
            ResourceOutput::Human => {
                output::print_error(&anyhow::Error::msg(message));
                [last.advice(), last.tips()].concat().iter().for_each(|line| output::print_note(line));
            }
            ResourceOutput::Json => self.json(ralsh_json::error(&message)).or_internal()?,
            ResourceOutput::Report => {
                let action = last.provider.as_ref().map_or("", |run| run.call.action.as_str());
                report(subject, action, [("failed", true.into()), ("msg", message.into())], &answer.reports)
                    .or_internal()?;
            }
        }
        self.warn(answer);
        Ok(if self.is_ralsh { ExitStatus::Usage } else { ExitStatus::from(last) })
    }

    /// Prints the warnings of all actions, except advice, which is printed with failures.
    fn warn<T>(self, answer: &Answer<T>) {
        if self.format == ResourceOutput::Report {
            return;
        }
        let warnings = answer.reports.iter().filter_map(|report| report.result.as_dict().get("warnings")?.as_list());
        let texts = warnings.flatten().filter_map(Value::as_str);
        let mut shown = BTreeSet::new();
        for text in texts.filter(|text| !text.starts_with(ADVICE_PREFIX)) {
            // The actions of an update say the same of a resource.
            if shown.insert(text) {
                output::print_note(text);
            }
        }
    }

    /// Returns the exit status of an answer; for `ralsh`, an error that a provider logs makes it one of an error.
    fn status<T>(self, status: ExitStatus, answer: &Answer<T>) -> ExitStatus {
        let lines = answer.reports.iter().filter_map(|report| report.provider.as_ref()).flat_map(|run| &run.log);
        let has_error = lines.into_iter().any(|line| line.level == modbox_providers::LogLevel::Error);
        self.status_with_problems(status, has_error)
    }

    /// Returns the exit status; for `ralsh`, an error in any provider makes it one of an error.
    pub(crate) fn status_with_problems(self, status: ExitStatus, has_errors: bool) -> ExitStatus {
        if self.is_ralsh && has_errors { ExitStatus::Usage } else { status }
    }

    fn none(self) -> NoneForm {
        if self.is_ralsh { NoneForm::Text } else { NoneForm::Null }
    }

    fn json(self, value: Value) -> anyhow::Result<()> {
        output::print_line(&compact(&value))
    }

    fn text(self, text: &[u8]) -> anyhow::Result<()> {
        if self.is_ralsh && !io::stdout().is_terminal() {
            return output::print_bytes(text);
        }
        output::print_bytes(clean(&String::from_utf8_lossy(text)).as_bytes())
    }
}

/// Prints an answer with the reports of its actions.
fn report<const N: usize>(
    subject: &Subject<'_>,
    action: &str,
    entries: [(&str, Value); N],
    reports: &[Report],
) -> anyhow::Result<()> {
    let mut value = Dict::from_iter([
        ("provider".to_owned(), Value::from(subject.name.as_str())),
        ("action".to_owned(), action.into()),
        ("check".to_owned(), subject.check.into()),
    ]);
    value.extend(entries.map(|(key, value)| (key.to_owned(), value)));
    value.insert("runs".to_owned(), reports.iter().map(Report::to_value).collect::<Vec<_>>().into());
    output::print_line(&encode(&value.into()))
}
