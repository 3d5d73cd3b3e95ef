//! `modbox validate`: checks arguments against a spec without running a module, either one set of arguments, or as a
//! filter that answers questions line by line.
//!
//! The checks are those of the argument-spec crate, which guests contain, too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::Context as _;
use modbox_argument_spec::{ArgumentSpec, ErrorKind, Metadata, Question, Secrets, Validated};
use modbox_contract::{Dict, Value, decode, encode};
use modbox_kinds::detect;
use modbox_run::library::FoundModule;
use modbox_run::spelling;
use modbox_run::{DescribedSpec, WasmInfo, locate, wasm_bytes};

use crate::cli::args::ValidateArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::named::find::Lookup;
use crate::cli::printing::output;
use crate::cli::surroundings::Surroundings;
use crate::cli::task_args::{ArgumentSource, task_args};

/// Maximum length of a question: the largest arguments, plus the other keys.
const MAX_LINE: u64 = 65 << 20;

/// Maximum bytes of a spec file: the same as for a module's metadata.
const MAX_SPEC: u64 = modbox_argument_spec::MAX_METADATA_BYTES as u64;

/// Validates arguments, and prints the errors.
pub(crate) fn run(context: &Context, args: &ValidateArgs, order: &[ArgumentSource]) -> Result<ExitStatus, Failure> {
    let surroundings = Surroundings::of_process(context);
    if args.jsonl {
        return filter(&surroundings).or_internal();
    }
    let (NamedSpec { name, spec, note }, first_pair) = match &args.spec {
        Some(path) => (NamedSpec { name: "SPEC".to_owned(), spec: spec_of_file(path).or_usage()?, note: None }, 0),
        None => {
            let module = args.pairs.first().context("expected a MODULE, `--spec FILE` or `--jsonl`").or_usage()?;
            (spec_of_module(context, args, Path::new(module))?, 1)
        }
    };
    let named = args.pairs.first().filter(|_| first_pair > 0).map(Path::new);
    let is_argument = |source: &&ArgumentSource| !matches!(source, ArgumentSource::Pair(n) if *n < first_pair);
    let order: Vec<ArgumentSource> = order.iter().filter(is_argument).copied().collect();
    let arguments = task_args(named, &args.pairs, &args.args, &order).or_usage()?;
    let validated = spec.validate(&arguments, &surroundings);
    let mut text = summary(&name, &validated);
    if let Some(reason) = note {
        text += &format!("\n  note: compared with the documentation, since the argument spec is unknown: {reason}");
    }
    output::print_line(output::clean(&text).as_str()).or_internal()?;
    Ok(if validated.errors.is_empty() { ExitStatus::Success } else { ExitStatus::Failed })
}

/// A spec, with the name of its module.
struct NamedSpec {
    name: String,
    spec: ArgumentSpec,
    /// Reason why the spec is only that of the module's documentation.
    note: Option<String>,
}

fn spec_of_module(context: &Context, args: &ValidateArgs, module: &Path) -> Result<NamedSpec, Failure> {
    let lookup = Lookup::new(context, &args.lookup)?;
    let FoundModule { path, name, task_name, .. } = lookup.find(context, module)?;
    let file = locate::read(&path).or_unavailable()?;
    let no_spec = |reason: &str| {
        format!("`{}` says nothing of its arguments: {reason}; give its spec with `--spec FILE`", path.display())
    };
    let (spec, note) = match wasm_bytes(&file.bytes) {
        Some(wasm) => {
            let metadata = WasmInfo::parse(wasm).or_unavailable()?.metadata().or_unavailable()?;
            let reason = "only components made with the guest SDK do";
            (metadata.with_context(|| no_spec(reason)).or_unavailable()?.argument_spec, None)
        }
        None => {
            let kind = detect::detect(&file.bytes).or_unavailable()?.kind;
            match lookup.describe(context, &file, kind, &name).spec {
                DescribedSpec::Exact(spec, _) => (spec, None),
                DescribedSpec::Documented(spec, reason) => (spec, Some(reason)),
                DescribedSpec::Unknown(reason) => {
                    let reason = format!("it has no documentation, and its argument spec is unknown ({reason})");
                    return Err(anyhow::anyhow!(no_spec(&reason))).or_unavailable();
                }
            }
        }
    };
    Ok(NamedSpec { name: task_name, spec, note })
}

/// Reads options, or metadata that contains options, from JSON, or YAML if that fails.
fn spec_of_file(path: &Path) -> anyhow::Result<ArgumentSpec> {
    let bytes =
        modbox_files::read_file(path, MAX_SPEC).with_context(|| format!("failed to read `{}`", path.display()))?;
    let wrong = || format!("failed to read the spec file `{}`", path.display());
    let text = String::from_utf8(bytes).ok().context("it is not UTF-8").with_context(wrong)?;
    let value = match decode(&text) {
        Ok(value) => value,
        Err(json_error) => serde_saphyr::from_str::<Value>(&text)
            .map_err(|yaml_error| {
                anyhow::anyhow!("neither JSON ({json_error}) nor YAML ({})", yaml_error.without_snippet())
            })
            .with_context(wrong)?,
    };
    match value.as_dict().and_then(|entries| Some((entries, entries.get("argument_spec")?))) {
        Some((entries, _)) if entries.contains_key("name") => {
            Metadata::from_value(&value).map(|found| found.argument_spec)
        }
        Some((entries, options)) => ArgumentSpec::parse_with_constraints(options, entries),
        None => ArgumentSpec::parse(&value),
    }
    .with_context(wrong)
}

/// Returns the errors, warnings and deprecations as text, with secrets masked.
fn summary(name: &str, validated: &Validated) -> String {
    let secrets = Secrets::from(validated);
    let mut lines = Vec::new();
    match validated.errors.len() {
        0 => lines.push("ok: the arguments fit".to_owned()),
        1 => lines.push("failed: the arguments do not fit".to_owned()),
        count => lines.push(format!("failed: the arguments do not fit; of {count} errors a module shows the first")),
    }
    for error in &validated.errors {
        let unsupported = error.kind == ErrorKind::Unsupported;
        let prefix = if unsupported { format!("Unsupported parameters for ({name}) module: ") } else { String::new() };
        let message = prefix + &secrets.mask_text(&error.message);
        let tips = spelling::tips(&message);
        lines.push(format!("  {}", message.replace('\n', "\n    ")));
        lines.extend(tips.into_iter().map(|tip| format!("  tip: {tip}")));
    }
    lines.extend(validated.warnings.iter().map(|warning| format!("  warning: {}", secrets.mask_text(warning))));
    lines.extend(
        validated.deprecations.iter().map(|found| format!("  deprecated: {}", secrets.mask_text(&found.message))),
    );
    lines.join("\n")
}

/// Answers each line of standard input with a line on standard output. Flushes the output before it waits for input.
fn filter(surroundings: &Surroundings) -> anyhow::Result<ExitStatus> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    for number in 1_u64.. {
        if !input.buffer().contains(&b'\n') {
            output::written(out.flush())?;
        }
        line.clear();
        let length = input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line);
        if length.context("failed to read standard input")? == 0 {
            break;
        }
        let too_long = line.len() as u64 > MAX_LINE;
        if too_long && line.last() != Some(&b'\n') {
            input.skip_until(b'\n').context("failed to read standard input")?;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let answer = if too_long {
            Err(format!("the line is longer than the limit of {MAX_LINE} bytes"))
        } else {
            answer(text, surroundings)
        };
        let answer = answer.unwrap_or_else(|error| broken(&error, number));
        output::written(out.write_all(encode(&answer).as_bytes()).and_then(|()| out.write_all(b"\n")))?;
    }
    output::written(out.flush())?;
    Ok(ExitStatus::Success)
}

fn answer(line: &[u8], surroundings: &Surroundings) -> Result<Value, String> {
    let text = str::from_utf8(line).map_err(|_| "the line is not UTF-8".to_owned())?;
    let value = decode(text).map_err(|error| format!("the line is not JSON: {error}"))?;
    let question = Question::from_value(&value).map_err(|error| error.to_string())?;
    Ok(match &question.environment {
        Some(variables) => {
            let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
            question.answer(&surroundings.with_variables(variables))
        }
        None => question.answer(surroundings),
    })
}

fn broken(error: &str, number: u64) -> Value {
    let entries = [("error".to_owned(), Value::from(error)), ("line".to_owned(), Value::from(number))];
    Value::Dict(Dict::from_iter(entries))
}
