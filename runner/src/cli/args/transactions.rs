//! The switches of `undo`, `transactions` and `recover`, as typed.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = UNDO_HELP)]
pub(crate) struct UndoArgs {
    /// Name of the transaction, which the run printed. `modbox transactions` lists them.
    pub(crate) run: String,
}

const UNDO_HELP: &str = "\
Examples:
  modbox run lineinfile path=/etc/motd line=Hello --transaction --keep-undo
  modbox undo 18eb136168e74906e1d15645

A file that was changed after the transaction is a conflict; then nothing is undone.

Exit status: 0 undone · 2 usage · 3 unknown transaction · 8 not undone, nothing changed · 9 undone in part · 70 \
internal error of modbox.";

#[derive(Debug, Args)]
#[command(after_help = TRANSACTIONS_HELP)]
pub(crate) struct TransactionsArgs {
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<TransactionsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TransactionsCommand {
    /// Remove kept transactions, with the files that they have replaced. They cannot be undone any more.
    Prune {
        /// Names of transactions. Without one, all are removed.
        runs: Vec<String>,
    },
}

const TRANSACTIONS_HELP: &str = "\
Examples:
  modbox transactions
  modbox transactions prune

Transactions are kept by `run --transaction --keep-undo`, the newest 20. They are in $XDG_STATE_HOME/modbox, else in \
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
