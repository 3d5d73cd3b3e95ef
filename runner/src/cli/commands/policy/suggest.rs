//! `modbox policy suggest`: prints a policy file made of reports and audit files. Grants nothing and starts nothing.
//!
//! An entry that this machine would refuse, such as a path that does not exist, becomes a comment with the reason, so that
//! the printed file is always one that `modbox run --policy` takes. Records of observed runs say what the paths of their host were, so
//! nothing of this machine counts for these.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use modbox_files::{open_at_once, read_stream};
use modbox_policy::{PolicyFile, Rules, merge};
use modbox_run::suggestion::{
    KeyKind, LearnedPolicy, LearnedTask, RunRecord, Suggestion, comment, render, render_learned,
};
use modbox_vocabulary::GrantSource;

use crate::cli::args::SuggestionKey;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::printing::output;
use crate::cli::process::environment::Environment;
use crate::cli::settings::{self, Resolved};

/// Maximum bytes of one input.
const MAX_INPUT: u64 = 64 << 20;

/// Maximum number of entries that contradict others and become comments.
const MAX_CONTRADICTIONS: usize = 1000;

/// Prints the policy file.
pub(super) fn run(
    context: &Context,
    files: &[PathBuf],
    (by, reasons): (Option<SuggestionKey>, bool),
) -> Result<ExitStatus, Failure> {
    let mut all = Vec::new();
    for file in files {
        let (name, text) = read(file).or_usage()?;
        all.extend(RunRecord::read(&name, &text).map_err(anyhow::Error::msg).or_usage()?);
    }
    if all.iter().any(RunRecord::has_covered_commands) {
        output::print_bytes(learned(&all, by, reasons).as_bytes()).or_internal()?;
        return Ok(ExitStatus::Success);
    }
    let by = by.map(|by| match by {
        SuggestionKey::Digest => KeyKind::Digest,
        SuggestionKey::Name => KeyKind::Name,
    });
    let mut suggestion = Suggestion::new(by);
    all.iter().for_each(|record| suggestion.add(record));
    let text = usable(&context.environment, &render(suggestion, "modbox policy suggest")).or_internal()?;
    output::print_bytes(text.as_bytes()).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Returns the policy of records of which some have commands that a profile covers.
fn learned(records: &[RunRecord], by: Option<SuggestionKey>, reasons: bool) -> String {
    let mut policy = match by {
        Some(SuggestionKey::Digest) => LearnedPolicy::by_digest(),
        Some(SuggestionKey::Name) | None => LearnedPolicy::default(),
    };
    records.iter().for_each(|record| policy.add(LearnedTask { name: None }, record, &str::to_owned));
    render_learned(&policy, "modbox policy suggest", reasons)
}

fn read(path: &Path) -> anyhow::Result<(String, String)> {
    let (name, bytes) = if path == Path::new("-") {
        ("stdin".to_owned(), read_stream(io::stdin().lock(), MAX_INPUT))
    } else {
        // A FIFO that has a writer is read to its end.
        (
            path.display().to_string(),
            open_at_once(path).and_then(|(file, _)| {
                rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::empty())?;
                read_stream(file, MAX_INPUT)
            }),
        )
    };
    let bytes = bytes.with_context(|| format!("failed to read `{name}`"))?;
    let text = String::from_utf8(bytes).ok().with_context(|| format!("failed to read `{name}`: it is not UTF-8"))?;
    Ok((name, text))
}

/// Turns the entries that this machine would refuse into comments. The file is a suggested one, with one entry in a line.
///
/// # Errors
///
/// The text is not a policy file.
pub(in crate::cli::commands) fn usable(environment: &Environment, text: &str) -> anyhow::Result<String> {
    let file = PolicyFile::parse(text).context("failed to read the suggested policy")?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let of_modules = file.modules.iter().map(|(_, rules)| rules);
    let all = std::iter::once(&file.rules).chain(of_modules).chain(file.tasks.iter().map(|(_, rules)| rules));
    let source = GrantSource::named("suggestion");
    for written in all {
        let Resolved { rules, mut places, wrong, .. } = settings::resolve(environment, written, &source);
        for wrong in &wrong {
            withdraw(&mut lines, wrong.place.line, &error_words(&wrong.error));
        }
        let mut paths = rules.paths;
        for _ in 0..MAX_CONTRADICTIONS {
            let merged = merge(&[Rules { paths: paths.clone(), ..Rules::default() }]);
            let Err(error) = merged else { break };
            let Some(last) = paths.iter().rposition(|grant| grant.guest == error.guest()) else { break };
            withdraw(&mut lines, places[last].line, &error.to_string());
            paths.remove(last);
            places.remove(last);
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// Turns a line into a comment with a reason.
fn withdraw(lines: &mut [String], number: impl TryInto<usize>, reason: &str) {
    let index = number.try_into().ok().and_then(|number: usize| number.checked_sub(1));
    if let Some(line) = index.and_then(|index| lines.get_mut(index)) {
        *line = format!("        # left out: {}: {}", comment(reason), line.trim_start());
    }
}
