//! The switches of `undo`, `transactions` and `recover`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use modbox_overlay::commit::OriginPattern;

#[derive(Debug, Args)]
#[command(after_help = APPLY_HELP)]
pub(crate) struct ApplyArgs {
    /// File that `modbox run --preview --save` has written. With `--list`, a folder.
    #[arg(required_unless_present = "list")]
    pub(crate) file: Option<PathBuf>,
    /// Show what the file would change, and what keeps it from being applied now. Nothing is changed.
    #[arg(long, conflicts_with_all = ["list", "durable", "keep_undo", "audit", "policy"])]
    pub(crate) show: bool,
    /// List the saved previews of a folder, or of the plan store, in which jobs of `modbox batch` save theirs.
    #[arg(long, conflicts_with_all = ["durable", "keep_undo", "audit", "policy"])]
    pub(crate) list: bool,
    /// With --show, show the lines of all files, also of those that other users may not read.
    #[arg(long, requires = "show")]
    pub(crate) diff: bool,
    /// Write each step to the disk, so that a loss of power leaves all changes or none.
    #[arg(long)]
    pub(crate) durable: bool,
    /// Keep what is replaced, for `modbox undo`.
    #[arg(long)]
    pub(crate) keep_undo: bool,
    /// Print one JSON object, with --list one per line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) audited: AuditedArgs,
}

const APPLY_HELP: &str = "\
Examples:
  modbox run lineinfile path=/etc/motd line=Hello --preview --save motd.changes
  modbox apply --show motd.changes
  modbox apply motd.changes

The module does not run again: the previewed bytes are written, all of them or none. Everything that they touch must be \
as it was at the preview; if a file was changed since, nothing is done. The file must belong to this user or to root, and \
no other user may be able to change it.

The plan store is $XDG_STATE_HOME/modbox/plans, else /var/lib/modbox/plans for root and ~/.local/state/modbox/plans for \
other users. A file in it is removed when it is applied; `rm` removes one that is not wanted.

Exit status: 0 applied, nothing to apply, shown or listed · 2 usage · 3 the file cannot be read, or is damaged or another user's · 8 \
not applied, nothing changed, or with --show: it cannot be applied now · 9 applied in part · 70 internal error of modbox.";

#[derive(Debug, Args)]
#[command(after_help = UNDO_HELP)]
pub(crate) struct UndoArgs {
    /// Name of the transaction, which the run printed. Without one, those that can be undone are listed.
    pub(crate) run: Option<String>,
    /// Undo, or list, transactions of this program in place of yours: its name, and `:` with the beginning of its policy's
    /// digest if it had several.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Option<OriginPattern>,
    #[command(flatten)]
    pub(crate) audited: AuditedArgs,
}

const UNDO_HELP: &str = "\
Examples:
  modbox run lineinfile path=/etc/motd line=Hello --transaction --keep-undo
  modbox undo 18eb136168e74906e1d15645

A file that was changed after the transaction is a conflict; then nothing is undone. What a program has kept under a name of \
its own (`modbox batch --origin NAME`) is undone with `--origin NAME` only.

Exit status: 0 undone · 2 usage · 3 unknown transaction · 8 not undone, nothing changed · 9 undone in part · 70 \
internal error of modbox.";

#[derive(Debug, Args)]
#[command(after_help = TRANSACTIONS_HELP)]
pub(crate) struct TransactionsArgs {
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Take the transactions of this program only: its name, and `:` with the beginning of its policy's digest if it had
    /// several. `person` stands for yours.
    #[arg(long, value_name = "ORIGIN", global = true)]
    pub(crate) origin: Option<OriginPattern>,
    #[command(subcommand)]
    pub(crate) command: Option<TransactionsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TransactionsCommand {
    /// Remove kept transactions, with the files that they have replaced. They cannot be undone any more.
    Prune {
        /// Names of transactions. Without one, all of yours are removed, or of `--origin`.
        runs: Vec<String>,
    },
}

const TRANSACTIONS_HELP: &str = "\
Examples:
  modbox transactions
  modbox transactions prune

Transactions are kept by `run --transaction --keep-undo`: your newest 20, and as many of each program that keeps some under a \
name of its own. They are in $XDG_STATE_HOME/modbox, else in \
/var/lib/modbox for root and in ~/.local/state/modbox for other users.";

#[derive(Debug, Args)]
#[command(after_help = RECOVER_HELP)]
pub(crate) struct RecoverArgs {
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

const RECOVER_HELP: &str = "\
Examples:
  modbox recover

A transaction that was killed before its decision is taken back, a later one is finished. The next `run --transaction` \
does the same before it starts.

Exit status: 0 nothing is left · 9 a transaction cannot be finished; its files are named · 70 internal error of modbox.";

// The switches of a command that changes files and runs no module. No doc comment: clap would show it as the help of the
// subcommand.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AuditedArgs {
    /// Append a JSON line to a file. If this fails, nothing is changed. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Vec<PathBuf>,
    /// Use the audit files of a policy file, too. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
}
