//! Follows the advice of reports to the letter: each option that a failed run suggests is given to the next one.

use std::path::Path;

use modbox_vocabulary::quoting;
use serde_json::Value;

use crate::{Modbox, TestDir, missing};

/// Maximum number of runs. Each must suggest something new.
const MAX_RUNS: usize = 6;

/// Runs a module until it succeeds, and returns the options of the last run. `args` has its arguments.
///
/// # Errors
///
/// The report of a run that failed and suggested nothing new, or what modbox said about its options.
pub fn follow(dir: &TestDir, module: &Path, args: &[String]) -> Result<Vec<String>, String> {
    let mut args = args.to_vec();
    let mut options: Vec<String> = Vec::new();
    for _ in 0..MAX_RUNS {
        let run = Modbox::run_module(dir, module).args(&args).args(&options).report().run();
        let report: Value =
            serde_json::from_slice(&run.stdout).map_err(|_| format!("after {options:?}: {}", run.stderr_text()))?;
        dir.assert_nothing_left();
        if ["ok", "changed", "skipped"].iter().any(|status| report["status"] == *status) {
            return Ok(options);
        }
        let (old_args, old_options) = (args.clone(), options.clone());
        for allow in missing(&report).filter_map(|missing| missing["allow"].as_str()) {
            let words = quoting::split(allow).expect("modbox quotes for a shell");
            match words.split_first() {
                Some((argument, _)) if !argument.starts_with("--") => replace(&mut args, argument),
                _ if words == ["--allow-all"] || options.windows(2).any(|two| two == words) => {}
                _ => options.extend(words),
            }
        }
        if (&args, &options) == (&old_args, &old_options) {
            return Err(format!("stuck after {options:?}: {report:#}"));
        }
    }
    Err(format!("no end: {options:?}"))
}

/// Replaces the argument for the same option of the module.
fn replace(args: &mut Vec<String>, argument: &str) {
    let option = |text: &str| text.split('=').next().map(str::to_owned);
    args.retain(|other| option(other) != option(argument));
    args.push(argument.to_owned());
}
