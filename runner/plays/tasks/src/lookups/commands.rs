//! `pipe` and `lines`: the output of commands, which run confined by the policy.

use modbox_jinja::values;
use modbox_python_json::Value as Json;
use modbox_template::{LookupError, Value};

use super::call::Call;
use super::host::ShellCommand;
use super::options::failed;
use crate::text::strip_end;

/// Returns the output of commands without white space at the end.
pub(super) fn pipe(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut found = Vec::new();
    for term in call.terms {
        let line = values::text(term).map_err(|error| failed(error.to_string()))?;
        let output = output(call, "pipe", &line)?;
        let text = String::from_utf8(output).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            failed(format!("'utf-8' codec can't decode the output of `{line}` at byte {at}"))
        })?;
        found.push(Value::from(strip_end(&text)));
    }
    Ok(found)
}

/// Returns the lines of the output of commands.
pub(super) fn lines(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut found = Vec::new();
    for line in call.texts()? {
        let output = output(call, "lines", line)?;
        found.extend(split_lines(&output).map(|line| values::from_json(&Json::from_os_bytes(line))));
    }
    Ok(found)
}

fn output(call: &Call<'_>, lookup: &str, line: &str) -> Result<Vec<u8>, LookupError> {
    let folder = call.play_folder();
    let output = call.host.run_command(&ShellCommand { line, folder: &folder })?;
    match output.status {
        0 => Ok(output.stdout),
        status => Err(failed(format!("lookup_plugin.{lookup}({line}) returned {status}"))),
    }
}

/// Splits bytes at `\n`, `\r` and `\r\n`, as Python's `bytes.splitlines` does.
fn split_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        let skip = if after.starts_with(b"\r\n") { 2 } else { usize::from(!after.is_empty()) };
        rest = &after[skip..];
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_python_says_of_bytes() {
        let check = |text: &str, expect: &[&str]| {
            let lines: Vec<&str> =
                split_lines(text.as_bytes()).map(|line| std::str::from_utf8(line).unwrap()).collect();
            assert_eq!(lines, expect, "{text:?}");
        };
        check("a\nb\r\nc\rd", &["a", "b", "c", "d"]);
        check("a\n\nb\n", &["a", "", "b"]);
        check("", &[]);
        check("\n", &[""]);
    }
}
