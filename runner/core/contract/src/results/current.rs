//! Converts a module's output to a result by the rules of ansible-core 2.19 and newer. Those of 2.21 for keys are in `unified`.

use modbox_python_json::{Dict, Value};

use crate::release::Release;
use crate::results::document::{decode_json, last_object};
use crate::results::fields::{
    add_lines, clean_facts, complete_failure, complete_status, failure, normalize_exception, rename_results,
};
use crate::results::missing::missing_interpreter;
use crate::results::parsed_output::ParsedOutput;
use crate::results::raw_output::{RawOutput, ResultLines};
use crate::results::reserved::{is_special_key, remove_internal_keys, strip_internal_keys};
use crate::results::stdout::{StreamText, json_lines};
use crate::results::typed::{self, Refusal};
use crate::results::unified;
use crate::results::warnings::Warnings;
use crate::secrets::{NewSecrets, ShownStreams};

/// Makes a result of an output.
pub(crate) fn parse(raw: &RawOutput<'_>, lines: ResultLines, release: Release) -> ParsedOutput {
    let (mut warnings, mut secrets) = (Warnings::default(), None);
    let outcome = read(raw.stdout, lines, &mut warnings).and_then(|mut dict| {
        secrets = NewSecrets::take(&mut dict);
        match release >= Release::V2_21 {
            true => unified::accept(dict, release, &mut warnings),
            false => accept(dict, &mut warnings),
        }
    });
    let (dict, parsed) = match outcome {
        Ok(dict) => (dict, true),
        Err(refusal) => {
            let streams = ShownStreams::of(raw.stdout, raw.stderr);
            let dict = failure(&message(&refusal, raw), raw.rc, &streams);
            secrets = secrets.or(streams.secrets);
            (dict, false)
        }
    };
    ParsedOutput { dict: warnings.add_to(dict), parsed, secrets }
}

/// Finds the object in the output and checks every value in it.
fn read(stdout: &[u8], lines: ResultLines, warnings: &mut Warnings) -> Result<Dict, Refusal> {
    let text = StreamText::new(stdout);
    let found = match lines {
        ResultLines::Ansible => read_lines(&text, warnings)?,
        ResultLines::LastJsonLine => last_object(&text)?,
    };
    match typed::resolve(found)? {
        Value::Dict(dict) if typed::class_of_dict(&dict).is_none() => Ok(dict),
        other => Err(Refusal::Task(format!(
            "Malformed result. Received {} instead of <class 'dict'>.",
            typed::type_repr(&other)
        ))),
    }
}

fn read_lines(text: &StreamText<'_>, warnings: &mut Warnings) -> Result<Value, Refusal> {
    let not_json = |message: &str| Refusal::Deserialization(message.to_owned());
    let escaped = text.escaped.as_deref().map(json_lines).transpose().map_err(not_json)?;
    let lossy = json_lines(&text.lossy).map_err(not_json)?;
    if let Some(junk) = &lossy.junk_after {
        warnings.add_text(format!("Module invocation had junk after the JSON data: {junk}"));
    }
    let value = decode_json(&lossy.json)?;
    match escaped {
        Some(lines) => decode_json(&lines.json),
        None => Ok(value),
    }
}

/// Applies the rules for a result's keys, in Ansible's order.
fn accept(mut dict: Dict, warnings: &mut Warnings) -> Result<Dict, Refusal> {
    let sent_exception = normalize_exception(&mut dict);
    // Each of these steps looks up a key. Most results have none of the keys.
    let has_special_keys = dict.keys().any(|key| is_special_key(key));
    if has_special_keys {
        dict.shift_remove("_ansible_suppress_tmpdir_delete");
        rename_results(&mut dict, warnings);
        remove_internal_keys(&mut dict, warnings);
        clean_facts(&mut dict)?;
        add_lines(&mut dict, "stdout")?;
        add_lines(&mut dict, "stderr")?;
    }
    complete_status(&mut dict);
    if has_special_keys {
        warnings.take_from(&mut dict)?;
    }
    if dict["failed"].is_truthy() {
        complete_failure(&mut dict, sent_exception);
    }
    strip_internal_keys(&mut dict);
    dict.values_mut().for_each(|value| *value = typed::present(std::mem::take(value)));
    Ok(dict)
}

/// Returns Ansible's message about refused output.
fn message(refusal: &Refusal, raw: &RawOutput<'_>) -> String {
    match refusal {
        Refusal::Task(reason) => typed::join_messages(&["Task failed.", reason]),
        Refusal::Deserialization(reason) => match missing_interpreter(raw) {
            Some(interpreter) => {
                format!("The module interpreter {} was not found.", modbox_python_json::str_repr(interpreter))
            }
            None => typed::join_messages(&["Module result deserialization failed.", reason]),
        },
    }
}
