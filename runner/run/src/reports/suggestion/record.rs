//! Reads what a report or an audit line says about the grants and denials of one run. Other content is ignored.

use std::fmt::Display;

use modbox_python_json::{Dict, Value, decode};
use modbox_vocabulary::{Capability, GrantSource, MODULE, ObservedCommand, Operation, PathState};

/// What is known about one run.
#[derive(Debug, Clone, Default)]
pub struct RunRecord {
    /// The place of the record, such as `report.json:3`.
    pub origin: String,
    /// The name of the module.
    pub name: Option<String>,
    /// The digest of the module, with the name of its algorithm.
    pub digest: Option<String>,
    /// Whether the module succeeded.
    pub succeeded: bool,
    /// Whether the module was not confined, so that it had what a confined one would be denied.
    pub observed: bool,
    /// What the run was granted, as the report lists it.
    pub grants: Vec<RecordedGrant>,
    /// What was denied, and what a failed module probably lacked.
    pub missing: Vec<Lacking>,
    /// Number of grants and denials that the record does not list.
    pub omitted: u64,
    /// The arguments, as far as the record has them.
    pub arguments: Dict,
    /// What is known of the first ones of `missing`, in their order.
    pub details: Vec<UseDetails>,
    /// The commands of an observed run.
    pub commands: Vec<ObservedCommand>,
    /// The places that files were renamed to, by the places before.
    pub renamed: Vec<(String, String)>,
    /// The temporary directory of the run.
    pub temporary: Option<String>,
    /// What the run used, by the names of reports, such as `disk_bytes`.
    pub usage: Dict,
}

/// A grant of the run.
#[derive(Debug, Clone)]
pub struct RecordedGrant {
    /// The capability. It may be one that this modbox does not know.
    pub capability: String,
    /// The path, address or name; it may be masked or cut.
    pub subject: String,
    /// The switch, policy file or argument that granted it.
    pub source: GrantSource,
}

/// A missing grant.
#[derive(Debug, Clone)]
pub struct Lacking {
    /// The word for what was lacking, such as `read`.
    pub capability: String,
    /// The path, address or name.
    pub subject: String,
    /// How it is known, such as `denied: open-at`.
    pub cause: String,
    /// The option that allows it.
    pub allow: String,
}

/// What is known of a use of an observed run, beside what it lacks.
#[derive(Debug, Clone, Default)]
pub struct UseDetails {
    /// The commands that made the use, by their numbers, and [`MODULE`] for the module itself. Empty for the module alone.
    pub by: Vec<u32>,
    /// What the path was before.
    pub was: Option<PathState>,
}

/// A use that a confined run would be denied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use<'r> {
    pub(super) missing: &'r Lacking,
    pub(super) by: &'r [u32],
    pub(super) was: Option<PathState>,
}

impl Use<'_> {
    /// Returns whether a command made the use, or the module itself.
    pub(super) fn is_by(&self, number: u32) -> bool {
        self.by.contains(&number) || number == MODULE && self.by.is_empty()
    }

    pub(super) fn is_for(&self, capability: Capability) -> bool {
        self.missing.capability == capability.as_str()
    }

    pub(super) fn is(&self, operation: Operation) -> bool {
        self.missing.cause == denied(operation)
    }
}

impl RunRecord {
    /// Reads all records of a file: one JSON object, or one in each line. `name` is the name of the file.
    ///
    /// # Errors
    ///
    /// The first line that is not a report and not a line of an audit file.
    pub fn read(name: &str, text: &str) -> Result<Vec<Self>, String> {
        const EXPECTED: &str =
            "expected the output of `modbox run --output report` or `modbox batch`, or an audit file";
        if text.trim().is_empty() {
            return Err(format!("failed to find a run in `{name}`: it is empty; {EXPECTED}"));
        }
        if let Ok(value) = decode(text) {
            let record = Self::of(name.to_owned(), &value);
            return record
                .map(|record| vec![record])
                .map_err(|why| format!("failed to read `{name}`: {why}; {EXPECTED}"));
        }
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let record = |(index, line): (usize, &str)| {
            let origin = format!("{name}:{}", index + 1);
            let value = decode(line).map_err(|error| format!("it is not JSON ({error})"));
            value
                .and_then(|value| Self::of(origin, &value))
                .map_err(|why| format!("failed to read line {} of `{name}`: {why}; {EXPECTED}", index + 1))
        };
        lines.map(record).collect()
    }

    /// Reads one record.
    ///
    /// # Errors
    ///
    /// The value is not a report and not a line of an audit file.
    pub fn of(origin: String, value: &Value) -> Result<Self, String> {
        let report = value.as_dict().ok_or("it is not a JSON object")?;
        let module = report.get("module").and_then(Value::as_dict).ok_or("it has no object `module`")?;
        let status = text(report, "status").ok_or("it has no text `status`")?;
        let mut record = Self {
            origin,
            name: text(module, "name"),
            digest: text(module, "digest"),
            succeeded: matches!(status.as_str(), "ok" | "changed" | "skipped"),
            observed: report.get("observed").is_some_and(Value::is_truthy),
            arguments: arguments(report),
            usage: report.get("usage").and_then(Value::as_dict).cloned().unwrap_or_default(),
            omitted: count(report.get("denials_omitted")),
            ..Self::default()
        };
        for grant in record.listed(report, "grants")? {
            let [capability, subject, source] = texts(&grant, ["capability", "subject", "source"], "a grant")?;
            record.grants.push(RecordedGrant { capability, subject, source: GrantSource::parse(&source) });
        }
        for denial in record.listed(report, "denials")? {
            let [capability, subject, operation, allow] =
                texts(&denial, ["capability", "subject", "operation", "allow"], "a denial")?;
            let by = denial.get("by").and_then(Value::as_list).unwrap_or_default();
            let by = by.iter().filter_map(|by| u32::try_from(count(Some(by))).ok()).collect();
            let was = text(&denial, "was").and_then(|was| PathState::parse(&was));
            record.missing.push(Lacking { capability, subject, cause: denied(operation), allow });
            record.details.push(UseDetails { by, was });
        }
        for command in record.listed(report, "commands")? {
            record.commands.extend(observed_command(&command));
        }
        let renamed = report.get("renamed").and_then(Value::as_list).unwrap_or_default();
        record.renamed = renamed.iter().filter_map(renaming).collect();
        let folder = record.arguments.get("_ansible_tmpdir").and_then(Value::as_str);
        record.temporary = folder.map(|folder| folder.trim_end_matches('/').to_owned());
        for hint in record.listed(report, "hints")? {
            let [capability, subject, source, allow] =
                texts(&hint, ["capability", "subject", "source", "allow"], "a hint")?;
            record.missing.push(Lacking { capability, subject, cause: format!("guessed from the {source}"), allow });
        }
        for lost in record.listed(report, "lost")? {
            let [subject, allow] = texts(&lost, ["path", "allow"], "a lost change")?;
            let (capability, cause) = (Capability::Write.to_string(), "the change was lost".to_owned());
            // Without an option, there is nothing to suggest: a full disk needs no grant.
            if !allow.is_empty() {
                record.missing.push(Lacking { capability, subject, cause, allow });
            }
        }
        Ok(record)
    }

    /// Returns whether an observed run started a command that a profile covers. Others need no rules for commands.
    #[must_use]
    pub fn has_covered_commands(&self) -> bool {
        self.observed && self.commands.iter().any(|command| command.profile.is_some())
    }

    /// Returns the uses that a confined run would be denied.
    pub(super) fn uses(&self) -> impl Iterator<Item = Use<'_>> {
        self.missing.iter().enumerate().map(|(index, missing)| {
            let details = self.details.get(index);
            let by = details.map(|details| &details.by[..]).unwrap_or_default();
            Use { missing, by, was: details.and_then(|details| details.was) }
        })
    }

    /// Returns the objects of a list, without the one that counts omitted ones.
    fn listed(&mut self, report: &Dict, key: &str) -> Result<Vec<Dict>, String> {
        let items = match report.get(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(value) => value.as_list().ok_or_else(|| format!("`{key}` is not a list"))?,
        };
        let mut listed = Vec::new();
        for item in items {
            let item = item.as_dict().ok_or_else(|| format!("`{key}` has an item that is not an object"))?;
            match item.get("omitted") {
                Some(number) => self.omitted = self.omitted.saturating_add(count(Some(number))),
                None => listed.push(item.clone()),
            }
        }
        Ok(listed)
    }
}

/// Returns the arguments of an audit line, or those that a result repeats.
fn arguments(report: &Dict) -> Dict {
    let within = |dict: Option<&Dict>, key: &str| dict.and_then(|dict| dict.get(key)).and_then(Value::as_dict).cloned();
    let invocation = within(within(Some(report), "result").as_ref(), "invocation");
    within(Some(report), "args").or_else(|| within(invocation.as_ref(), "module_args")).unwrap_or_default()
}

/// Reads a command of an observed run; `None` if it is not one.
fn observed_command(command: &Dict) -> Option<ObservedCommand> {
    let number = |key: &str| u32::try_from(count(command.get(key))).ok();
    let words = |key: &str| -> Vec<String> {
        let listed = command.get(key).and_then(Value::as_list).unwrap_or_default();
        listed.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let is = |key: &str| command.get(key).is_some_and(Value::is_truthy);
    Some(ObservedCommand {
        number: number("number").filter(|number| *number != MODULE)?,
        by: number("by")?,
        program: text(command, "program")?,
        words: words("words"),
        profile: text(command, "profile"),
        names: words("names"),
        is_whole: is("whole"),
        set_id: is("set_id"),
    })
}

fn renaming(item: &Value) -> Option<(String, String)> {
    match item.as_list()? {
        [from, to] => Some((from.as_str()?.to_owned(), to.as_str()?.to_owned())),
        _ => None,
    }
}

/// Returns the cause of a denial, by its operation.
pub(super) fn denied(operation: impl Display) -> String {
    format!("denied: {operation}")
}

fn text(dict: &Dict, key: &str) -> Option<String> {
    dict.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn texts<const N: usize>(dict: &Dict, keys: [&str; N], what: &str) -> Result<[String; N], String> {
    let mut found = [const { String::new() }; N];
    for (slot, key) in found.iter_mut().zip(keys) {
        *slot = text(dict, key).ok_or_else(|| format!("{what} has no text `{key}`"))?;
    }
    Ok(found)
}

pub(super) fn count(number: Option<&Value>) -> u64 {
    match number {
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or_default(),
        _ => 0,
    }
}
