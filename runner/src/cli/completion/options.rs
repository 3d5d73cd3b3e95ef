//! Options of the module that the line names, and their choices, for completion.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use modbox_argument_spec::{Metadata, OptionSpec, OptionType};
use modbox_kinds::detect;
use modbox_python_json::str as python_str;
use modbox_run::{WasmInfo, locate, wasm_bytes};

use super::line::{MAX_CANDIDATES, begins_with, context, words};
use crate::cli::args::LookupArgs;
use crate::cli::named::find::Lookup;

/// Words that are looked up as the module. Others are values of switches.
const MAX_WORDS: usize = 16;

/// Returns the options, or the values of the option that the current word names.
pub(super) fn candidates(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = words();
    let Some(metadata) = words.iter().skip(1).take(MAX_WORDS).filter(|word| *word != current).find_map(metadata) else {
        return Vec::new();
    };
    let options = &metadata.argument_spec.options;
    // Bash splits words at `=`, and gives the part after it.
    let before = |count: usize| words.len().checked_sub(count + 1).and_then(|at| words[at].to_str());
    let split = match (before(1), before(2)) {
        (Some("="), Some(name)) | (Some(name), _) => options.get(name),
        _ => None,
    };
    if let Some(option) = split {
        return values(option, current);
    }
    match current.to_str().and_then(|word| word.split_once('=')) {
        Some((name, value)) => {
            let values = options.get(name).map(|option| values(option, OsStr::new(value))).unwrap_or_default();
            values.into_iter().map(|value| value.add_prefix(format!("{name}="))).collect()
        }
        None => {
            let is_given = |name: &str| words.iter().filter_map(|word| word.to_str()).any(|word| is_pair(word, name));
            let new = options.iter().filter(|(name, _)| begins_with(name, current) && !is_given(name));
            new.take(MAX_CANDIDATES).map(|(name, option)| candidate(name, option)).collect()
        }
    }
}

fn is_pair(word: &str, name: &str) -> bool {
    word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
}

fn candidate(name: &str, option: &OptionSpec) -> CompletionCandidate {
    let help = option.description.first().and_then(|text| text.lines().next()).map(|line| line.to_owned().into());
    CompletionCandidate::new(format!("{name}=")).help(help)
}

fn values(option: &OptionSpec, current: &OsStr) -> Vec<CompletionCandidate> {
    let choices: Vec<String> = match (&option.choices, option.option_type) {
        (Some(choices), _) => choices.iter().map(python_str).collect(),
        (None, OptionType::Bool) => ["yes", "no"].map(str::to_owned).to_vec(),
        (None, OptionType::Path) => return PathCompleter::any().complete(current),
        (None, _) => Vec::new(),
    };
    let fitting = choices.into_iter().filter(|choice| begins_with(choice, current));
    fitting.take(MAX_CANDIDATES).map(CompletionCandidate::new).collect()
}

/// Returns the metadata or the documentation of a module that a word names.
fn metadata(word: &OsString) -> Option<Metadata> {
    if word.is_empty() || word.as_encoded_bytes().starts_with(b"-") {
        return None;
    }
    let context = context()?;
    let lookup = Lookup::new(&context, &LookupArgs { offline: true, ..LookupArgs::default() }).ok()?;
    let found = lookup.find(&context, Path::new(word)).ok()?;
    let file = locate::read(&found.path).ok()?;
    match wasm_bytes(&file.bytes) {
        Some(wasm) => WasmInfo::parse(wasm).ok()?.metadata().ok()?,
        None => {
            let kind = detect::detect(&file.bytes).ok()?.kind;
            lookup.describe(&context, &file, kind, &found.name).metadata
        }
    }
}
