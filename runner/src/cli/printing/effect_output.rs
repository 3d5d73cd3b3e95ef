//! The changes of a run on layers as text for people: what happened to each path, the differing lines, and the
//! commit.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use modbox_run::{
    Claim, CommitReport, CommitState, Effect, EffectReport, LineCounts, OutsideKind, Remark, ShownChange, ShownContent,
    ShownKind, in_one_line,
};

use crate::cli::printing::clean::clean_line;
use crate::cli::printing::diff_lines::push_diff_lines;

/// Maximum number of changes that are printed; the report lists more.
const MAX_PRINTED: usize = 100;

/// Appends what a run on layers changed.
pub(crate) fn push_effect(text: &mut String, effect: &EffectReport) {
    let bold = Style::new().bold();
    let said = claim(effect).map(|said| format!(" ({said})")).unwrap_or_default();
    let _ = writeln!(text, "  {bold}{}{bold:#}: {}{said}", word(effect), totals(effect));
    for change in effect.changes.iter().take(MAX_PRINTED) {
        push_change(text, change);
    }
    let more = effect.changes.len().saturating_sub(MAX_PRINTED) as u64 + effect.cut;
    if more > 0 {
        let _ = writeln!(text, "  and {more} more; `--output report` lists up to 1000");
    }
    if let Some(check) = &effect.check {
        let said = match check.claimed {
            Some(true) => "says that it would change something",
            Some(false) => "says that it would change nothing",
            None => "says nothing",
        };
        let wrote = if check.wrote { ", and changed files" } else { "" };
        let _ = writeln!(text, "  check mode: the module {said}{wrote}");
    }
    for remark in &effect.incomplete {
        let _ = writeln!(text, "  not seen: {}: {}", clean_line(&remark.path), clean_line(&remark.why));
    }
    for outside in &effect.outside {
        let what = format!("{} {}", outside.kind, outside.subject);
        let state = match (outside.kind, outside.withheld) {
            (OutsideKind::Handler, true) => "not run; a transaction runs it after the commit",
            (OutsideKind::Handler, false) => "after the commit; what it does cannot be undone",
            (OutsideKind::Granted(_), true) => "withheld; --preview-net gives it",
            (OutsideKind::Granted(_), false) => "real, and cannot be undone",
        };
        let _ = writeln!(text, "  outside: {} ({state})", clean_line(&what));
    }
    push_commit(text, effect.mode, &effect.commit);
}

fn word(effect: &EffectReport) -> &'static str {
    effect.mode.into()
}

fn totals(effect: &EffectReport) -> String {
    let totals = &effect.totals;
    let named = [
        (totals.created, "created"),
        (totals.modified, "modified"),
        (totals.replaced, "replaced"),
        (totals.renamed, "renamed"),
        (totals.attributes, "with other attributes"),
        (totals.removed, "removed"),
        (totals.times, "with other times"),
    ];
    let counted = named.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}"));
    let counted: Vec<String> = counted.collect();
    let lines = effect.changes.iter().filter_map(|change| change.lines);
    let LineCounts { added, removed } = lines.fold(LineCounts { added: 0, removed: 0 }, |sum, lines| LineCounts {
        added: sum.added + lines.added,
        removed: sum.removed + lines.removed,
    });
    match (counted.is_empty(), added + removed) {
        (true, _) => "no change".to_owned(),
        (false, 0) => counted.join(", "),
        (false, _) => format!("{}; lines +{added} -{removed}", counted.join(", ")),
    }
}

fn claim(effect: &EffectReport) -> Option<&'static str> {
    match effect.claim? {
        Claim::Agrees => None,
        Claim::ClaimedNotObserved => Some("the module says that it changed something"),
        Claim::ObservedNotClaimed => Some("the module says that it changed nothing"),
        Claim::Unobservable => Some("the module says that it changed something, which a preview does not see"),
    }
}

fn push_change(text: &mut String, change: &ShownChange) {
    let color = match change.kind {
        ShownKind::Created => AnsiColor::Green,
        ShownKind::Removed => AnsiColor::Red,
        ShownKind::Modified | ShownKind::Replaced | ShownKind::Renamed | ShownKind::Attributes | ShownKind::Times => {
            AnsiColor::Yellow
        }
    };
    let style = Style::new().fg_color(Some(color.into()));
    let _ = writeln!(text, "  {style}{}{style:#}", clean_line(&in_one_line(change)));
    match (&change.diff, change.content) {
        (Some(diff), _) => push_diff_lines(text, diff),
        (None, Some(ShownContent::Secret)) => {
            text.push_str("    lines are hidden: others may not read the file; --diff shows them\n")
        }
        (None, Some(ShownContent::NoLog)) => {
            text.push_str("    lines are hidden: a run with `no_log` or other secrets may have written the file\n")
        }
        (None, Some(ShownContent::Binary)) => text.push_str("    the content is not text\n"),
        (None, Some(ShownContent::TooLong)) => text.push_str("    the content is too long to compare\n"),
        (None, Some(ShownContent::Unread)) => text.push_str("    the content could not be read\n"),
        (None, Some(ShownContent::Text) | None) => {}
    }
}

fn push_commit(text: &mut String, mode: Effect, commit: &CommitReport) {
    let run = commit.run.as_deref().unwrap_or_default();
    let line = match (mode, commit.state) {
        (_, CommitState::Committed) if commit.undo => format!("committed; `modbox undo {run}` takes it back"),
        (_, CommitState::Committed) => "committed".to_owned(),
        (_, CommitState::Nothing) => "nothing to commit".to_owned(),
        (_, CommitState::Saved) => {
            let file = clean_line(commit.file.as_deref().unwrap_or_default());
            format!("nothing was changed; `modbox apply {file}` makes these changes")
        }
        (Effect::Preview, _) => "nothing was changed".to_owned(),
        (Effect::Transaction, CommitState::Unfinished) => {
            "a part is committed; `modbox recover` goes on or takes it back".to_owned()
        }
        (Effect::Transaction, _) => "nothing was changed: the changes are discarded".to_owned(),
    };
    let _ = writeln!(text, "  {line}");
    if mode == Effect::Preview {
        for Remark { path, why } in &commit.reasons {
            let word = if commit.state == CommitState::Saved { "not now" } else { "refused by a commit" };
            let _ = writeln!(text, "  {word}: {}: {}", clean_line(path), clean_line(why));
        }
    }
}
