//! Reads the playbooks of a play, says what is wrong in them, and lists what they hold.

use std::path::PathBuf;
use std::sync::Arc;

use modbox_tasks::error::{LoadError, LoadErrors};
use modbox_tasks::load::context::Loader;
use modbox_tasks::load::findings::BadTemplate;
use modbox_tasks::load::playbook;
use modbox_tasks::model::play::Playbook;
use modbox_tasks::run::listing::{self, Listing};
use modbox_tasks::run::options::RunOptions;
use modbox_template::Engine;

use crate::cli::args::PlayArgs;
use crate::cli::commands::runs::play::load_errors::{spared_text, with_lines};
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output;

/// How many texts that may never be reached are named before a run.
const MAX_SPARED: usize = 10;

/// Reads the playbooks, and prints what is only worth a warning.
///
/// # Errors
///
/// A playbook is wrong, or a text in it that every run comes to.
pub(super) fn read_all(
    files: &[PathBuf],
    loader: &Loader<'_>,
    options: &RunOptions,
    args: &PlayArgs,
) -> Result<Vec<Playbook>, Failure> {
    loader.vars.borrow_mut().extra = Arc::clone(&options.extra_vars);
    let (mut playbooks, mut errors) = (Vec::new(), LoadErrors::default());
    for file in files {
        match playbook::read(loader, &file.display().to_string()) {
            Ok(playbook) => playbooks.push(playbook),
            Err(found) => errors.0.extend(found.0),
        }
    }
    loader.take_warnings().iter().for_each(|warning| output::print_note(warning));
    if options.verbosity > 0 {
        loader.take_notes().iter().for_each(|note| output::print_note(note));
    }
    let (refused, spared) = judged(loader.take_bad_templates(), options, args);
    errors.0.extend(refused);
    if !errors.0.is_empty() {
        return Err(with_lines(&errors, loader)).or_usage();
    }
    if !spared.is_empty() {
        output::print_note(&spared_text(&spared, if args.syntax_check { usize::MAX } else { MAX_SPARED }));
    }
    Ok(playbooks)
}

/// Divides what was found into what every run comes to, for which the play is refused, and what a run may never reach. Lists of
/// tasks refuse nothing.
fn judged(bad: Vec<BadTemplate>, options: &RunOptions, args: &PlayArgs) -> (Vec<LoadError>, Vec<LoadError>) {
    if args.list_tasks || args.list_tags {
        return (Vec::new(), Vec::new());
    }
    let selects = !options.tags.is_empty()
        || !options.skip_tags.is_empty()
        || options.start_at_task.is_some()
        || options.limit.is_some()
        || options.step;
    let (refused, spared): (Vec<_>, Vec<_>) =
        bad.into_iter().partition(|bad| bad.is_certain && if args.syntax_check { !bad.is_denied() } else { !selects });
    let errors = |bad: Vec<BadTemplate>| bad.into_iter().map(|bad| bad.error).collect();
    (errors(refused), errors(spared))
}

/// Prints what a switch asks for instead of a run; `None` if the play is to run or to be explained.
///
/// # Errors
///
/// The hosts of a play cannot be told before it runs, or standard output cannot be written.
pub(super) fn listed(
    playbooks: &[Playbook],
    args: &PlayArgs,
    (engine, options, merges_mappings): (&Engine, &RunOptions, bool),
) -> Result<Option<ExitStatus>, Failure> {
    if args.syntax_check {
        return syntax_checked(playbooks).map(Some);
    }
    let listing = Listing { hosts: args.list_hosts, tasks: args.list_tasks, tags: args.list_tags, merges_mappings };
    if !(listing.hosts || listing.tasks || listing.tags) {
        return Ok(None);
    }
    for playbook in playbooks {
        let text = listing::text(playbook, engine, options, listing).or_usage()?;
        output::print_bytes(output::clean(&text).as_bytes()).or_internal()?;
    }
    Ok(Some(ExitStatus::Success))
}

fn syntax_checked(playbooks: &[Playbook]) -> Result<ExitStatus, Failure> {
    for playbook in playbooks {
        output::print_line("").or_internal()?;
        output::print_name(&format!("playbook: {}", playbook.file)).or_internal()?;
    }
    Ok(ExitStatus::Success)
}
