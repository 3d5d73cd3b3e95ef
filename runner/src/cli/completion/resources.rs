//! Types of resources, and attributes and their values, for completion. No provider is asked: one without metadata beside
//! it is known after `modbox resource` has asked it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use modbox_providers::{Attribute, AttributeKind, AttributeType, Metadata};
use modbox_run::{PythonConfig, provider_files};

use super::line::{MAX_CANDIDATES, begins_with, context, words};
use crate::cli::args::ProviderArgs;
use crate::cli::folders::data_dirs::data_dirs;
use crate::cli::runner::runner;

/// The attribute that chooses the resource.
const NAME: &str = "name";

/// Returns the types and the qualified names of providers that begin as the current word.
pub(super) fn types(current: &OsStr) -> Vec<CompletionCandidate> {
    let all = known(&words());
    let mut names: BTreeSet<String> = all.iter().map(Metadata::qualified_name).collect();
    names.extend(all.iter().map(|metadata| metadata.resource_type.clone()));
    names
        .into_iter()
        .filter(|name| begins_with(name, current))
        .take(MAX_CANDIDATES)
        .map(CompletionCandidate::new)
        .collect()
}

/// Returns the attributes that can be set, or the values of the one that the current word names.
pub(super) fn attributes(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = words();
    let all = known(&words);
    let is_chosen = |metadata: &&Metadata| {
        words
            .iter()
            .filter_map(|word| word.to_str())
            .any(|word| word == metadata.qualified_name() || word == metadata.resource_type)
    };
    let Some(metadata) = all.iter().find(is_chosen) else { return Vec::new() };
    // Bash splits words at `=`, and gives the part after it.
    let before = |count: usize| words.len().checked_sub(count + 1).and_then(|at| words[at].to_str());
    let split = match (before(1), before(2)) {
        (Some("="), Some(name)) | (Some(name), _) => metadata.attributes.get(name),
        _ => None,
    };
    if let Some(attribute) = split {
        return values(attribute, current);
    }
    match current.to_str().and_then(|word| word.split_once('=')) {
        Some((name, value)) => {
            let values = metadata.attributes.get(name).map(|attribute| values(attribute, OsStr::new(value)));
            values.unwrap_or_default().into_iter().map(|value| value.add_prefix(format!("{name}="))).collect()
        }
        None => {
            let is_given = |name: &str| {
                let starts = |word: &str| word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
                words.iter().filter_map(|word| word.to_str()).any(starts)
            };
            let settable = metadata.ordered_attributes().filter(|(name, attribute)| {
                *name != NAME && attribute.kind != AttributeKind::Read && begins_with(name, current) && !is_given(name)
            });
            settable.take(MAX_CANDIDATES).map(|(name, attribute)| candidate(name, attribute)).collect()
        }
    }
}

fn candidate(name: &str, attribute: &Attribute) -> CompletionCandidate {
    let help = attribute.description.trim_start().lines().next().map(|line| line.to_owned().into());
    CompletionCandidate::new(format!("{name}=")).help(help)
}

fn values(attribute: &Attribute, current: &OsStr) -> Vec<CompletionCandidate> {
    let choices: Vec<&str> = match &attribute.attribute_type {
        AttributeType::Enum(options) => options.iter().map(String::as_str).collect(),
        AttributeType::Boolean => vec!["true", "false"],
        _ if attribute.access.is_some() => return PathCompleter::any().complete(current),
        AttributeType::String | AttributeType::Array => Vec::new(),
    };
    choices.into_iter().filter(|choice| begins_with(choice, current)).map(CompletionCandidate::new).collect()
}

/// Returns what is known of all providers of the line.
fn known(words: &[OsString]) -> Vec<Metadata> {
    let Some(context) = context() else { return Vec::new() };
    let (files, _) = provider_files(&data_dirs(&context.environment, &switches(words), &[]));
    let runner = runner(&context, None, PythonConfig::default());
    files.iter().filter_map(|path| runner.known_provider(path).ok()?).collect()
}

/// Reads the switches for finding providers. The line is not complete, so it is not parsed as a whole.
fn switches(words: &[OsString]) -> ProviderArgs {
    let mut found = ProviderArgs::default();
    let value_of = |at: usize, names: &[&str]| -> Option<OsString> {
        let word = words[at].to_str()?;
        if names.contains(&word) {
            return words.get(at + 1).filter(|value| value.as_os_str() != "=").or_else(|| words.get(at + 2)).cloned();
        }
        let long = names.iter().find_map(|name| word.strip_prefix(name)?.strip_prefix('='));
        long.map(OsString::from)
    };
    for at in 0..words.len() {
        if let Some(dir) = value_of(at, &["-I", "--include"]) {
            found.include.push(PathBuf::from(dir));
        }
        if let Some(dirs) = value_of(at, &["--data-dir"]) {
            found.data_dir = Some(dirs);
        }
    }
    found
}
