//! `pause`: waits for some time, or for an answer.

use std::time::Duration;

use modbox_python_json::{Dict, Value};

use crate::action_host::{Prompt, PromptError};
use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::scalars;

/// How long a pause may be: a week.
const MAX_SECONDS: i64 = 7 * 24 * 3600;

/// Waits.
///
/// # Errors
///
/// The task gives unknown arguments, both minutes and seconds, or a time that is not a number; or the person at the
/// terminal aborts the play.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    check_names(context)?;
    let echo = context.flag("echo", true)?;
    let (seconds, unit) = duration(context)?;
    let text = context.text("prompt");
    let name = context.options.task_name.clone();
    let hint = if echo { "" } else { " (output is hidden)" };
    let question = match (&text, seconds) {
        (Some(text), _) => format!("[{name}]\n{text}{hint}:"),
        (None, _) => format!("[{name}]\nPress enter to continue, Ctrl+C to interrupt{hint}:"),
    };
    let start = context.host.now();
    let mut answer = String::new();
    match seconds {
        Some(seconds) => {
            context.display(&format!("Pausing for {seconds} seconds{hint}"));
            let interruption = "(ctrl+C then 'C' = continue early, ctrl+C then 'A' = abort)";
            let question = if text.is_some() { question } else { interruption.to_owned() };
            if text.is_some() {
                context.display(interruption);
            }
            wait(context, &question, u64::try_from(seconds).unwrap_or(1))?;
        }
        None => {
            let prompt = Prompt { text: question, private: !echo, ..Prompt::default() };
            answer = match context.host.prompt(&prompt) {
                Ok(answer) => answer,
                Err(PromptError::NotInteractive) => {
                    context.warn("Not waiting for response to prompt as stdin is not interactive");
                    String::new()
                }
                Err(PromptError::Interrupted) => decide(context)?,
            };
            if !echo {
                context.host.register_secret(&answer);
            }
        }
    }
    let stop = context.host.now();
    let elapsed = stop.saturating_sub(start);
    let shown = if unit == "minutes" { elapsed.as_secs_f64() / 60.0 } else { elapsed.as_secs_f64() };
    let shown = modbox_python_json::str(&Value::Float((shown * 100.0).round() / 100.0));
    let mut result = entry("changed", false);
    result.extend(entry("rc", 0));
    result.extend(entry("stderr", ""));
    result.extend(entry("stdout", format!("Paused for {shown} {unit}")));
    result.extend(entry("start", context.host.local_time(start)));
    result.extend(entry("stop", context.host.local_time(stop)));
    result.extend(entry("delta", elapsed.as_secs()));
    result.extend(entry("echo", echo));
    result.extend(entry("user_input", answer));
    Ok(result)
}

/// Checks that the task gives known arguments, in the words that Ansible has for those of modules.
fn check_names(context: &ActionContext<'_>) -> Result<(), ActionError> {
    const NAMES: [&str; 4] = ["echo", "minutes", "prompt", "seconds"];
    let mut unknown: Vec<&str> = context.args.keys().map(String::as_str).filter(|name| !NAMES.contains(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    unknown.sort_unstable();
    let (action, unknown, all) = (&context.action, unknown.join(", "), NAMES.join(", "));
    Err(ActionError::failed(format!(
        "Unsupported parameters for ({action}) module: {unknown}. Supported parameters include: {all}."
    )))
}

/// Returns a number as Python's `int()` does: a fraction is cut off, but not in text.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Float(number) => scalars::whole(&Value::Float(number.trunc())),
        Value::Str(text) => text.trim().parse().ok(),
        other => scalars::whole(other),
    }
}

/// Returns the seconds to wait, and the unit to show.
fn duration(context: &ActionContext<'_>) -> Result<(Option<i64>, &'static str), ActionError> {
    let number = |name: &str| -> Result<Option<i64>, ActionError> {
        let Some(value) = context.args.get(name).filter(|value| **value != Value::Null) else { return Ok(None) };
        integer(value).map(Some).ok_or_else(|| {
            let (found, text) = (value.type_name(), modbox_python_json::repr(value));
            ActionError::failed(format!(
                "argument '{name}' is of type {found} and we were unable to convert to int: invalid literal for int() with \
                 base 10: {text}"
            ))
        })
    };
    match (number("minutes")?, number("seconds")?) {
        (Some(_), Some(_)) => Err(ActionError::failed("parameters are mutually exclusive: minutes|seconds")),
        (Some(minutes), None) => Ok((Some(minutes.saturating_mul(60).clamp(1, MAX_SECONDS)), "minutes")),
        (None, Some(seconds)) => Ok((Some(seconds.clamp(1, MAX_SECONDS)), "seconds")),
        (None, None) => Ok((None, "minutes")),
    }
}

/// Waits for a time, or until the person interrupts.
fn wait(context: &mut ActionContext<'_>, question: &str, seconds: u64) -> Result<(), ActionError> {
    let timeout = Duration::from_secs(seconds);
    let prompt = Prompt { text: question.to_owned(), private: true, timeout: Some(timeout), ..Prompt::default() };
    match context.host.prompt(&prompt) {
        Ok(_) => Ok(()),
        Err(PromptError::NotInteractive) => {
            context.host.sleep(timeout);
            Ok(())
        }
        Err(PromptError::Interrupted) => decide(context).map(drop),
    }
}

/// Asks whether to go on after an interruption.
fn decide(context: &mut ActionContext<'_>) -> Result<String, ActionError> {
    let text = "Press 'C' to continue the play or 'A' to abort ".to_owned();
    match context.host.prompt(&Prompt { text, private: true, keys: &['a', 'c'], ..Prompt::default() }) {
        Ok(answer) if answer == "c" => Ok(String::new()),
        _ => Err(ActionError::failed("user requested abort!")),
    }
}
