//! `pause`: waits for some time, or for an answer.

use std::time::Duration;

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::run::fields;
use crate::run::host::{Prompt, PromptError};

/// How long a pause may be: a week.
const MAX_SECONDS: i64 = 7 * 24 * 3600;

/// Waits.
///
/// # Errors
///
/// The task gives unknown arguments, both minutes and seconds, or a time that is not a number; or the person at the
/// terminal aborts the play.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_options(&["echo", "minutes", "prompt", "seconds"], &[])?;
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
            let interruption = "(ctrl+C then 'C' = continue early, ctrl+C then 'A' = abort)\r";
            let question = if text.is_some() { question } else { interruption.to_owned() };
            if text.is_some() {
                context.display(interruption);
            }
            wait(context, &question, u64::try_from(seconds).unwrap_or(1))?;
        }
        None => {
            let prompt = Prompt { text: question, private: !echo, timeout: None };
            answer = match context.host.prompt(&prompt) {
                Ok(answer) => answer,
                Err(PromptError::NotInteractive) => {
                    context.warn("Not waiting for response to prompt as stdin is not interactive");
                    String::new()
                }
                Err(PromptError::Interrupted) => decide(context)?,
            };
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

/// Returns the seconds to wait, and the unit to show.
fn duration(context: &ActionContext<'_>) -> Result<(Option<i64>, &'static str), ActionError> {
    let number = |name: &str| -> Result<Option<i64>, ActionError> {
        let Some(value) = context.args.get(name).filter(|value| **value != Value::Null) else { return Ok(None) };
        let whole = fields::whole(value).map(Some);
        whole.ok_or_else(|| {
            let (found, text) = (value.type_name(), modbox_python_json::str(value));
            ActionError::failed(format!(
                "argument '{name}' is of type {found} and we were unable to convert to int: \"{text}\" cannot be \
                 converted to an int"
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
    let prompt = Prompt { text: question.to_owned(), private: true, timeout: Some(timeout) };
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
    let text = "Press 'C' to continue the play or 'A' to abort \r".to_owned();
    match context.host.prompt(&Prompt { text, private: false, timeout: None }) {
        Ok(answer) if answer.trim().eq_ignore_ascii_case("c") => Ok(String::new()),
        _ => Err(ActionError::failed("user requested abort!")),
    }
}
