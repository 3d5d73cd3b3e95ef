//! `modbox recover`: brings interrupted transactions to an end.

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{self, Recovered, Recovery, StateDir};
use modbox_python_json::{Value, encode};
use modbox_run::mask_live_secrets;

use crate::cli::args::RecoverArgs;
use crate::cli::commands::changes::kept_runs::{failure, print_conflicts};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::state_folder;
use crate::cli::kept_run::hide_secrets;
use crate::cli::printing::output;

/// Recovers all interrupted transactions.
pub(crate) fn run(context: &Context, args: &RecoverArgs) -> Result<ExitStatus, Failure> {
    let folder = state_folder::transactions(&context.environment).or_usage()?;
    let recovered = match folder.exists() {
        true => context.cleanup.hold(|| {
            let state = StateDir::open(&folder)?;
            hide_secrets(&commit::list(&state)?);
            commit::recover(&state, &NoFault)
        }),
        false => Some(Ok(Vec::new())),
    };
    let Some(recovered) = recovered else { return Ok(ExitStatus::Internal) };
    let recovered = recovered.map_err(failure)?;
    if recovered.is_empty() && !args.json {
        output::print_note("no transaction was interrupted");
    }
    let mut status = ExitStatus::Success;
    for one in &recovered {
        if !matches!(one.result, Ok(Recovery::Forward | Recovery::Back)) {
            status = ExitStatus::Unfinished;
        }
        match args.json {
            true => output::print_line(&encode(&json(one))).or_internal()?,
            false => print(one),
        }
    }
    Ok(status)
}

fn print(recovered: &Recovered) {
    let run = &recovered.run;
    match &recovered.result {
        Ok(Recovery::Forward) => output::print_note(&format!("`{run}` is finished: all of its changes are made")),
        Ok(Recovery::Back) => output::print_note(&format!("`{run}` is taken back: none of its changes are made")),
        Ok(Recovery::Stopped { conflicts }) => {
            let record = recovered.path.display();
            print_conflicts(&format!("`{run}` cannot be finished; its record is `{record}`"), conflicts);
        }
        Err(error) => output::print_note(&format!("`{run}` cannot be finished: {error}")),
    }
}

fn json(recovered: &Recovered) -> Value {
    let (result, why) = match &recovered.result {
        Ok(Recovery::Forward) => ("finished", Vec::new()),
        Ok(Recovery::Back) => ("taken-back", Vec::new()),
        Ok(Recovery::Stopped { conflicts }) => ("stopped", {
            let said = conflicts.iter().map(|one| format!("{}: {}", one.path.display(), one.why));
            said.map(|said| mask_live_secrets(&said)).collect()
        }),
        Err(error) => ("damaged", vec![error.to_string()]),
    };
    let why = Value::List(why.into_iter().map(Value::from).collect());
    [("run", Value::from(recovered.run.as_str())), ("result", result.into()), ("why", why)].into()
}
