//! Converts a module's output to a result by the rules of releases before ansible-core 2.19.
//!
//! The rules follow `_parse_returned_data` and `_execute_module` of ansible-core 2.14.18 and Ansible 2.9.27. These
//! releases have no typed objects: a result's keys stay as the module sent them, a failure needs no message, and
//! invalid output is a `MODULE FAILURE`. One difference is intended: messages that these releases only display are in
//! `warnings`, where 2.19 has them.

use modbox_python_json::{Dict, Value, decode};

use crate::release::Release;
use crate::results::document::last_object;
use crate::results::fields::{add_lines, clean_facts, complete_status, failure, rename_results};
use crate::results::missing::missing_interpreter;
use crate::results::parsed_output::ParsedOutput;
use crate::results::raw_output::{RawOutput, ResultLines};
use crate::results::reserved::{remove_internal_keys, strip_internal_keys};
use crate::results::stdout::{JsonLines, StreamText, json_lines, json_lines_or_list};
use crate::results::typed::Refusal;
use crate::results::warnings::Warnings;
use crate::secrets::{NewSecrets, ShownStreams};

/// The last line of every failure message.
const HINT: &str = "See stdout/stderr for the exact error";

/// Makes a result of an output.
pub(crate) fn parse(raw: &RawOutput<'_>, lines: ResultLines, release: Release) -> ParsedOutput {
    let (mut warnings, mut secrets) = (Warnings::default(), None);
    let outcome = read(raw.stdout, lines, release, &mut warnings).and_then(|mut dict| {
        secrets = NewSecrets::take(&mut dict);
        accept(dict, &mut warnings)
    });
    let (mut dict, parsed) = match outcome {
        Ok(dict) => (dict, true),
        Err(refusal) => {
            let streams = ShownStreams::of(raw.stdout, raw.stderr);
            let dict = refused(&refusal, raw, &streams, release);
            secrets = secrets.or(streams.secrets);
            (dict, false)
        }
    };
    if let Some(Value::List(mut all)) = warnings.add_to(Dict::new()).shift_remove("warnings") {
        match dict.get("warnings") {
            Some(Value::List(sent)) => all.extend(sent.iter().cloned()),
            Some(other) => all.push(other.clone()),
            None => {}
        }
        dict.insert("warnings".to_owned(), Value::List(all));
    }
    ParsedOutput { dict, parsed, secrets }
}

fn read(stdout: &[u8], lines: ResultLines, release: Release, warnings: &mut Warnings) -> Result<Dict, Refusal> {
    let text = StreamText::new(stdout);
    if lines == ResultLines::LastJsonLine {
        return dict_of(last_object(&text)?);
    }
    let find: fn(&str) -> Result<JsonLines, &'static str> = match release {
        Release::V2_9 => json_lines_or_list,
        _ => json_lines,
    };
    let readable = text.escaped.as_deref().unwrap_or(&text.lossy);
    let found = find(readable).map_err(|reason| Refusal::Deserialization(reason.to_owned()))?;
    if let Ok(JsonLines { junk_after: Some(junk), .. }) = find(&text.lossy) {
        warnings.add_text(format!("Module invocation had junk after the JSON data: {junk}"));
    }
    dict_of(decode(&found.json).map_err(|error| Refusal::Deserialization(error.to_string()))?)
}

fn dict_of(value: Value) -> Result<Dict, Refusal> {
    match value {
        Value::Dict(dict) => Ok(dict),
        // Python's message. Only 2.9 accepts a list here; it then fails when it sets a key.
        _ => Err(Refusal::Task("list indices must be integers or slices, not str".to_owned())),
    }
}

fn accept(mut dict: Dict, warnings: &mut Warnings) -> Result<Dict, Refusal> {
    dict.shift_remove("_ansible_suppress_tmpdir_delete");
    rename_results(&mut dict, warnings);
    remove_internal_keys(&mut dict, warnings);
    for key in ["warnings", "deprecations"] {
        if dict.get(key).is_some_and(|value| !value.is_truthy()) {
            dict.shift_remove(key);
        }
    }
    clean_facts(&mut dict)?;
    add_lines(&mut dict, "stdout")?;
    add_lines(&mut dict, "stderr")?;
    complete_status(&mut dict);
    strip_internal_keys(&mut dict);
    Ok(dict)
}

fn refused(refusal: &Refusal, raw: &RawOutput<'_>, streams: &ShownStreams, release: Release) -> Dict {
    let reason = match refusal {
        Refusal::Deserialization(_) => return module_failure(raw, streams),
        Refusal::Task(reason) => reason,
    };
    let msg = match release {
        Release::V2_9 => "Unexpected failure during module execution.".to_owned(),
        _ => format!("Unexpected failure during module execution: {reason}"),
    };
    let mut dict = failure(&msg, raw.rc, streams);
    dict.shift_remove("exception");
    dict
}

fn module_failure(raw: &RawOutput<'_>, streams: &ShownStreams) -> Dict {
    let reason = match missing_interpreter(raw) {
        Some(_) => "The module failed to execute correctly, you probably need to set the interpreter.",
        None => "MODULE FAILURE",
    };
    let mut dict = failure(&format!("{reason}\n{HINT}"), raw.rc, streams);
    dict.shift_remove("exception");
    let shown = [&streams.stderr, &streams.stdout];
    if let Some(traceback) = shown.into_iter().find(|stream| stream.starts_with("Traceback")) {
        dict.insert("exception".to_owned(), traceback.as_str().into());
    }
    dict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(release: Release, stdout: &[u8], stderr: &[u8], part: &[(&str, &str)]) {
        let raw = RawOutput { stdout, stderr, rc: 3, shebang: Some("/bin/sh") };
        let ParsedOutput { dict, .. } = parse(&raw, ResultLines::Ansible, release);
        for (key, expect) in part {
            let got = dict.get(*key).map(modbox_python_json::repr).unwrap_or_default();
            assert_eq!(got, *expect, "{key} of {:?}", String::from_utf8_lossy(stdout));
        }
    }

    #[test]
    fn failures_have_the_old_words() {
        let failure = r"'MODULE FAILURE\nSee stdout/stderr for the exact error'";
        for release in [Release::V2_9, Release::V2_14] {
            check(release, b"no", b"", &[("msg", failure), ("rc", "3"), ("module_stdout", "'no'"), ("exception", "")]);
            check(release, b"", b"Traceback x", &[("msg", failure), ("exception", "'Traceback x'")]);
            check(
                release,
                b"",
                b"/bin/sh: not found",
                &[(
                    "msg",
                    r"'The module failed to execute correctly, you probably need to set the interpreter.\nSee stdout/stderr for the exact error'",
                )],
            );
            check(release, br#"{"failed": true}"#, b"", &[("failed", "True"), ("msg", ""), ("exception", "")]);
            check(
                release,
                b"{\"warnings\": [\"a\"]}\nx",
                b"",
                &[("warnings", "['Module invocation had junk after the JSON data: x', 'a']")],
            );
        }
    }

    #[test]
    fn only_2_9_accepts_a_list_as_the_start() {
        check(Release::V2_14, b"[\n{}", b"", &[("failed", "False")]);
        check(Release::V2_9, b"[\n{}", b"", &[("msg", r"'MODULE FAILURE\nSee stdout/stderr for the exact error'")]);
        check(Release::V2_9, b"[1]", b"", &[("msg", "'Unexpected failure during module execution.'")]);
    }
}
