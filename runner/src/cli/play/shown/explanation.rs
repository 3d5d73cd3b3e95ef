//! What `modbox play --explain` prints: the tasks, and the policy that they need. The text is a policy file, in which the
//! tasks are comments, so that it can be saved as it is.

use std::fmt::Write as _;

use modbox_contract::{Dict, Value, encode};
use modbox_run::suggestion::{Lacking, PlaySuggestion, RunRecord, comment};
use modbox_tasks::explain::TaskExplanation;
use modbox_vocabulary::{Denial, Grant};

use crate::cli::play::explained_call::ExplainedCall;
use crate::cli::play::needs::Need;
use crate::cli::play::shown::lacking::{self, LackingProfile, LackingRules};

/// A task with the runs of its modules, and what lookups and files of the play lacked for it.
pub(crate) struct ExplainedTask {
    pub(crate) task: TaskExplanation,
    pub(crate) calls: Vec<ExplainedCall>,
    pub(crate) needs: Vec<Need>,
}

impl ExplainedTask {
    /// Returns whether something keeps the task from running.
    pub(crate) fn is_refused(&self) -> bool {
        !self.task.refused.is_empty() || self.calls.iter().any(|call| call.error.is_some())
    }

    /// Adds what the runs of the task need besides paths to the rules of their modules.
    pub(crate) fn add_lacking(&self, rules: &mut LackingRules) {
        self.calls.iter().for_each(|call| rules.add(call, &self.task.templates, &self.task.position));
    }

    /// Adds what the task needs to a policy.
    pub(crate) fn suggest(&self, suggestion: &mut PlaySuggestion) {
        let origin = self.task.position.clone();
        let of_need = |need: &Need| Lacking {
            capability: String::new(),
            subject: String::new(),
            cause: format!("to {}", need.action),
            allow: need.switch.clone(),
        };
        let missing: Vec<Lacking> = self.needs.iter().map(of_need).collect();
        suggestion.add_play(&RunRecord { origin: origin.clone(), missing, ..RunRecord::default() });
        let of_denial = |(call, denial): (&ExplainedCall, &Denial)| Lacking {
            capability: denial.capability.to_string(),
            subject: denial.subject.clone(),
            cause: format!("for the module {}", call.name),
            allow: denial.allow.clone(),
        };
        let denials = self.calls.iter().flat_map(|call| call.needs.iter().map(move |denial| (call, denial)));
        let missing: Vec<Lacking> = denials.map(of_denial).collect();
        suggestion.add_task(&self.task.name, &RunRecord { origin: origin.clone(), missing, ..RunRecord::default() });
        for (call, denial) in self.calls.iter().flat_map(|call| call.asks.iter().map(move |denial| (call, denial))) {
            let asked =
                format!("asks a person for {} {}, for the module {}", denial.capability, denial.subject, call.name);
            suggestion.remark(&self.task.name, &asked, &origin);
        }
        let uncovered = self.calls.iter().flat_map(|call| &call.managed.uncovered).cloned();
        for open in self.calls.iter().filter_map(ExplainedCall::open_needs).chain(uncovered) {
            suggestion.remark(&self.task.name, &open, &origin);
        }
        for (name, reason) in self.task.unknown.iter().filter(|(_, reason)| reason.ends_at_run_time()) {
            suggestion.remark(&self.task.name, &format!("`{name}` is not known before the run: {reason}"), &origin);
        }
    }

    /// Returns the lines of the task, as comments.
    pub(crate) fn to_text(&self) -> String {
        let task = &self.task;
        let word = if task.is_handler { "HANDLER" } else { "TASK" };
        let mut text = format!("# {word} [{}] {}\n", comment(&task.name), comment(&task.position));
        let mut line = |line: String| {
            let _ = writeln!(text, "#   {}", comment(&line));
        };
        if !task.action.is_empty() {
            line(format!("action: {}", task.action));
        }
        task.repeats.iter().for_each(|repeats| line(format!("loop: {repeats}")));
        task.conditions.iter().for_each(|condition| line(format!("when: {condition}")));
        if !task.tags.is_empty() {
            line(format!("tags: {}", task.tags.join(", ")));
        }
        let mut seen = Vec::new();
        for one in self.calls.iter().flat_map(|call| call_lines(call, &task.templates)) {
            if !seen.contains(&one) {
                line(one.clone());
                seen.push(one);
            }
        }
        for (name, reason) in &task.unknown {
            match task.templates.iter().find(|(of, _)| of == name).filter(|_| reason.ends_at_run_time()) {
                Some((_, templates)) => line(format!("{name}: known at run time: {templates}, {reason}")),
                None => line(format!("{name}: {reason}")),
            }
        }
        self.needs.iter().for_each(|need| line(format!("needs {}, to {}", need.switch, need.action)));
        task.refused.iter().for_each(|reason| line(format!("refused: {reason}")));
        task.notes.iter().for_each(|note| line(format!("note: {note}")));
        text
    }

    /// Returns the task as an object.
    pub(crate) fn to_value(&self) -> Value {
        let task = &self.task;
        let unknown = task.unknown.iter().map(|(name, reason)| (name.clone(), Value::from(reason.to_string())));
        let templates = task.templates.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
        let run = |call: &ExplainedCall| call_value(call, &task.templates);
        let need = |need: &Need| -> Value {
            [("action", Value::from(need.action.as_str())), ("allow", need.switch.as_str().into())].into()
        };
        [
            ("event", Value::from("task")),
            ("play", task.play.as_str().into()),
            ("task", task.name.as_str().into()),
            ("path", task.position.as_str().into()),
            ("action", task.action.as_str().into()),
            ("is_handler", task.is_handler.into()),
            ("tags", texts(&task.tags)),
            ("when", texts(&task.conditions)),
            ("loop", task.repeats.as_deref().map_or(Value::Null, Value::from)),
            ("runs", Value::List(self.calls.iter().map(run).collect())),
            ("unknown", Value::Dict(unknown.collect::<Dict>())),
            ("templates", Value::Dict(templates.collect::<Dict>())),
            ("needs", Value::List(self.needs.iter().map(need).collect())),
            ("refused", texts(&task.refused)),
            ("notes", texts(&task.notes)),
        ]
        .into()
    }
}

/// Returns the line of the policy's text as an object.
pub(crate) fn policy_line(policy: &str) -> String {
    encode(&[("event", Value::from("policy")), ("text", policy.into())].into())
}

fn texts(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect())
}

/// Returns a profile that a run lacks as an object.
fn profile_value(lacking: &LackingProfile) -> Value {
    let LackingProfile { profile, names, reserved, unknown, power } = lacking;
    [
        ("profile", Value::from(profile.as_str())),
        ("names", texts(names)),
        ("reserved", texts(reserved)),
        ("known_at_run_time", texts(unknown)),
        ("as_powerful_as_root", power.map_or(Value::Null, Value::from)),
    ]
    .into()
}

fn call_lines(call: &ExplainedCall, templates: &[(String, String)]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some((name, kind, path)) = &call.module {
        lines.push(format!("runs {name} ({kind}): {}", path.display()));
    }
    lines.extend(
        call.designated.iter().map(|grant| format!("{} {} ({})", grant.capability, grant.subject, grant.source)),
    );
    lines.extend(call.designated_profiles.iter().cloned());
    lines.extend(call.powers.iter().map(|power| format!("as powerful as root: {power}")));
    lines.extend(lacking::profiles(call, templates).iter().flat_map(LackingProfile::lines));
    lines.extend(lacking::own_choices(&call.managed));
    if let Some(reason) = &call.managed.unconfined {
        let digest = call.digest.as_deref().unwrap_or("not known");
        lines.push(format!("needs unconfined, as powerful as root: {reason} (sha256:{digest})"));
    }
    let needed = call.needs.iter().map(|denial| match denial.allow.as_str() {
        "" => format!("lacks {} {}, which no switch allows", denial.capability, denial.subject),
        allow => format!("needs {allow}"),
    });
    lines.extend(call.asks.iter().map(|denial| format!("asks for {} {}", denial.capability, denial.subject)));
    lines.extend(needed);
    let notes = call.notes.iter().chain(&call.managed.uncovered);
    lines.extend(call.open_needs().iter().chain(notes).map(|note| format!("note: {note}")));
    lines.extend(call.error.iter().map(|error| format!("refused: {}: {error}", call.name)));
    lines
}

fn call_value(call: &ExplainedCall, templates: &[(String, String)]) -> Value {
    let grant = |grant: &Grant| modbox_python_json::to_value(grant).unwrap_or_default();
    let denial = |denial: &Denial| modbox_python_json::to_value(denial).unwrap_or_default();
    let module = call.module.as_ref().map_or(Value::Null, |(name, kind, path)| {
        let path = path.display().to_string();
        [("name", name.as_str()), ("kind", kind.as_str()), ("path", path.as_str())]
            .map(|(key, text)| (key, Value::from(text)))
            .into()
    });
    [
        ("name", Value::from(call.name.as_str())),
        ("module", module),
        ("designated", Value::List(call.designated.iter().map(grant).collect())),
        ("designated_profiles", texts(&call.designated_profiles)),
        ("asks", Value::List(call.asks.iter().map(denial).collect())),
        ("needs", Value::List(call.needs.iter().map(denial).collect())),
        ("profiles", Value::List(lacking::profiles(call, templates).iter().map(profile_value).collect())),
        ("outside", texts(&call.managed.outside)),
        ("write", texts(&call.managed.write)),
        ("net", texts(&call.managed.net)),
        ("uncovered", texts(&call.managed.uncovered)),
        ("unconfined", call.managed.unconfined.as_deref().map_or(Value::Null, Value::from)),
        ("digest", call.digest.as_ref().map_or(Value::Null, |digest| format!("sha256:{digest}").into())),
        ("powers", texts(&call.powers)),
        ("absent_user", call.absent_user.as_deref().map_or(Value::Null, Value::from)),
        ("notes", texts(&call.notes)),
        ("error", call.error.as_deref().map_or(Value::Null, Value::from)),
    ]
    .into()
}
