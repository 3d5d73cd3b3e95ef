//! `modbox apply`: commits the changes of a preview that were saved; shows and lists such files.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use modbox_python_json::{Value, encode};
use modbox_run::audit::{AuditedCommit, CommitOutcome};
use modbox_run::{AppliedChanges, CommitReport, CommitState, Remark, apply_saved, mask_live_secrets, remember_hidden};
use modbox_scratch::ScratchRoot;

use crate::cli::args::ApplyArgs;
use crate::cli::audit::{Audit, failed_commit};
use crate::cli::commands::changes::{asked_view, saved_list, saved_view};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::state_folder;
use crate::cli::layered;
use crate::cli::mcp::plans::{CHANGES, PlannedAction, claim_by_hand, plan_of};
use crate::cli::printing::output;
use crate::cli::saved_file;

/// Commits or shows the changes of a file, or lists such files.
pub(crate) fn run(context: &Context, args: &ApplyArgs) -> Result<ExitStatus, Failure> {
    match &args.file {
        file if args.list => saved_list::run(context, file.as_deref(), args.json),
        Some(file) if args.show => show(context, &context.environment.absolute(file), args),
        Some(file) => apply(context, file, args),
        None => Err(anyhow::anyhow!("`modbox apply` needs a file")).or_usage(),
    }
}

/// Shows a file, and what the call of a tool waits for besides.
fn show(context: &Context, path: &Path, args: &ApplyArgs) -> Result<ExitStatus, Failure> {
    let plan = if is_plan(context, path) { plan_of(path) } else { None };
    if let Some(plan) = plan.as_ref().filter(|plan| matches!(plan.action, PlannedAction::Run(_))) {
        asked_view::show_run(plan);
        return Ok(ExitStatus::Success);
    }
    let Some(plan) = plan.filter(|plan| plan.ask.is_some()) else { return saved_view::run(path, args) };
    asked_view::show(&plan);
    match plan.action {
        PlannedAction::Tell(_) => Ok(ExitStatus::Success),
        _ => saved_view::run(&saved_of(path), args),
    }
}

/// Returns the saved preview of a plan that is named by its record: a client that waits for a person knows no other name.
fn saved_of(path: &Path) -> PathBuf {
    path.with_extension(CHANGES)
}

/// Says yes to a plan that changes nothing: its call gets what it has found out.
fn tell(context: &Context, path: &Path, args: &ApplyArgs) -> Result<ExitStatus, Failure> {
    let audit = Audit::of_command(context, &args.audited)?;
    let Some(plan) = claim_by_hand(path).or_unavailable()? else {
        return Err(anyhow::anyhow!("`{}` is the plan of no call", path.display())).or_unavailable();
    };
    asked_view::note(&plan.record);
    let pending = audit.start_commit(context, AuditedCommit { command: "apply", path, agent: None })?;
    let given = plan.give(None).context("failed to keep the answer of the call; it asks again").or_internal();
    let outcome = CommitOutcome { state: "approved", run: None, changed: Some(false), error: None };
    let status = given.as_ref().map_or(ExitStatus::Internal, |()| ExitStatus::Success);
    pending.finish(&outcome, status)?;
    given?;
    output::print_note("the call gets its answer when it comes again");
    Ok(status)
}

fn apply(context: &Context, file: &Path, args: &ApplyArgs) -> Result<ExitStatus, Failure> {
    let choices = layered::choices(context, args.durable, args.keep_undo).or_usage()?;
    let path = context.environment.absolute(file);
    let asked = if is_plan(context, &path) { plan_of(&path).filter(|plan| plan.ask.is_some()) } else { None };
    let path = match asked.map(|plan| plan.action) {
        Some(PlannedAction::Tell(_)) => return tell(context, &path, args),
        Some(_) => saved_of(&path),
        None => path,
    };
    let saved = saved_file::read(&path).or_unavailable()?;
    remember_hidden(saved.hidden());
    let audit = Audit::of_command(context, &args.audited)?;
    let plan = if is_plan(context, &path) { claim_by_hand(&path).or_unavailable()? } else { None };
    plan.iter().for_each(|plan| asked_view::note(&plan.record));
    let pending = audit.start_commit(context, AuditedCommit { command: "apply", path: &path, agent: None })?;
    let scratch = ScratchRoot::new(&context.environment.temp_dir, context.cleanup.clone());
    let applied = context.cleanup.hold(|| apply_saved(&saved, &scratch, &choices));
    let Some(applied) = applied else { return Ok(ExitStatus::Internal) };
    let is_over = |state| matches!(state, CommitState::Committed | CommitState::Nothing);
    let is_made = applied.as_ref().is_ok_and(|applied| is_over(applied.commit.state));
    if let Some(plan) = &plan {
        let run = applied.as_ref().ok().and_then(|applied| applied.commit.run.as_deref());
        let kept = match is_made {
            true => plan.give(run),
            false => {
                plan.give_back();
                Ok(())
            }
        };
        if let Err(error) = kept {
            output::print_note(&format!("failed to keep the answer of the call, which asks again: {error}"));
        }
    }
    let applied = applied.or_internal();
    let outcome = applied.as_ref().map_or_else(failed_commit, |applied| CommitOutcome::from(&applied.commit));
    let status = applied.as_ref().map_or(ExitStatus::Internal, |applied| exit_status(applied.commit.state));
    let audited = pending.finish(&outcome, status);
    let AppliedChanges { commit, notes } = applied?;
    notes.iter().for_each(|note| output::print_note(note));
    if matches!(commit.state, CommitState::Committed | CommitState::Nothing) {
        remove_plan(context, &path);
    }
    if args.json {
        output::print_line(&encode(&json(&path, &commit))).or_internal()?;
    } else {
        print(&path, &commit);
    }
    audited?;
    Ok(status)
}

/// Returns whether a file is in the plan store.
fn is_plan(context: &Context, path: &Path) -> bool {
    // By whatever path it is named: a plan by another path must not be applied without its rules.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let plans = state_folder::plans(&context.environment).ok().and_then(|plans| plans.canonicalize().ok());
    folder.is_some() && folder == plans
}

/// Removes an applied file from the plan store. Others are the user's.
fn remove_plan(context: &Context, path: &Path) {
    if !is_plan(context, path) {
        return;
    }
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        output::print_note(&format!("failed to remove `{}`, which is applied: {error}", path.display()));
    }
}

fn exit_status(state: CommitState) -> ExitStatus {
    match state {
        CommitState::Unfinished => ExitStatus::Unfinished,
        state if state.is_failure() => ExitStatus::NotCommitted,
        _ => ExitStatus::Success,
    }
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
