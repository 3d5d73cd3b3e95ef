//! `modbox apply`: commits the changes of a preview that were saved.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context as _, bail};
use modbox_overlay::commit::saved::SavedChanges;
use modbox_python_json::{Value, encode};
use modbox_run::audit::{AuditedCommit, CommitOutcome};
use modbox_run::{AppliedChanges, CommitReport, CommitState, Remark, apply_saved, mask_live_secrets, remember_hidden};
use modbox_scratch::ScratchRoot;

use crate::cli::args::ApplyArgs;
use crate::cli::audit::{Audit, failed_commit};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::layered;
use crate::cli::printing::output;
use crate::cli::settings::exposure;

/// Commits the changes of a file.
pub(crate) fn run(context: &Context, args: &ApplyArgs) -> Result<ExitStatus, Failure> {
    let choices = layered::choices(context, args.durable, args.keep_undo).or_usage()?;
    let path = context.environment.absolute(&args.file);
    let saved = read(&path).or_unavailable()?;
    remember_hidden(saved.hidden());
    let audit = Audit::of_command(context, &args.audited)?;
    let pending = audit.start_commit(context, AuditedCommit { command: "apply", path: &path })?;
    let scratch = ScratchRoot::new(&context.environment.temp_dir, context.cleanup.clone());
    let applied = context.cleanup.hold(|| apply_saved(&saved, &scratch, &choices));
    let Some(applied) = applied else { return Ok(ExitStatus::Internal) };
    let applied = applied.or_internal();
    let outcome = applied.as_ref().map_or_else(failed_commit, |applied| CommitOutcome::from(&applied.commit));
    let status = applied.as_ref().map_or(ExitStatus::Internal, |applied| exit_status(applied.commit.state));
    let audited = pending.finish(&outcome, status);
    let AppliedChanges { commit, notes } = applied?;
    notes.iter().for_each(|note| output::print_note(note));
    if args.json {
        output::print_line(&encode(&json(&path, &commit))).or_internal()?;
    } else {
        print(&path, &commit);
    }
    audited?;
    Ok(status)
}

fn exit_status(state: CommitState) -> ExitStatus {
    match state {
        CommitState::Unfinished => ExitStatus::Unfinished,
        state if state.is_failure() => ExitStatus::NotCommitted,
        _ => ExitStatus::Success,
    }
}

/// Opens and reads a file that no other user can change: what it says is done with the rights of this user.
fn read(path: &Path) -> anyhow::Result<SavedChanges> {
    let failed = || format!("failed to read the saved changes `{}`", path.display());
    // Without O_NONBLOCK, opening a FIFO would wait for a writer.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblock).open(path).with_context(failed)?;
    let metadata = file.metadata().with_context(failed)?;
    if let Some(exposure) = exposure::find(path, &metadata) {
        bail!("failed to use the saved changes `{}`, which another user can change: {exposure}", path.display());
    }
    Ok(SavedChanges::read(path, file)?)
}

fn print(path: &Path, commit: &CommitReport) {
    let shown = path.display();
    let run = commit.run.as_deref().unwrap_or_default();
    output::print_note(&match commit.state {
        CommitState::Committed if commit.undo => format!("`{shown}` is applied; `modbox undo {run}` takes it back"),
        CommitState::Committed => format!("`{shown}` is applied"),
        CommitState::Nothing => format!("`{shown}` has no changes: nothing to commit"),
        CommitState::Conflict => "nothing was changed, since a file was changed after the preview".to_owned(),
        CommitState::Unfinished => "applied in part; `modbox recover` goes on".to_owned(),
        _ => "nothing was changed, because a commit is not possible".to_owned(),
    });
    for Remark { path, why } in &commit.reasons {
        output::print_note(&format!("`{path}`: {why}"));
    }
}

fn json(path: &Path, commit: &CommitReport) -> Value {
    let state: &str = commit.state.into();
    let reason = |one: &Remark| {
        Value::from([("path", Value::from(mask_live_secrets(&one.path))), ("why", one.why.as_str().into())])
    };
    [
        ("file", Value::from(path.display().to_string().as_str())),
        ("state", state.into()),
        ("run", commit.run.as_deref().map_or(Value::Null, Value::from)),
        ("undo", commit.undo.into()),
        ("reasons", Value::List(commit.reasons.iter().map(reason).collect())),
    ]
    .into()
}
