//! `modbox doctor`: checks what runs need of this machine, one line each, with the remedy for what is not there.
//!
//! Two tiny modules of modbox's own run confined, by the code of every run, so that the levels are measured and not
//! guessed. Nothing of the working directory starts, and nothing changes on the machine.
//!
//! | file | checks |
//! |---|---|
//! | `check` | one check, as a line and as JSON |
//! | `kernel` | the kernel: Landlock, seccomp, namespaces, control groups |
//! | `trial` | the level of confinement that modules reach |
//! | `places` | temporary files, caches, policy files |
//! | `tools` | Python, ansible-core, Python in the sandbox, tools for building |

mod check;
mod kernel;
mod places;
mod tools;
mod trial;

use modbox_python_json::{Value, encode};

use self::check::{Check, State};
use self::trial::Trial;
use crate::cli::args::DoctorArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output;

/// Prints the checks. The exit status says whether something is missing that runs need.
pub(crate) fn run(context: &Context, args: &DoctorArgs) -> Result<ExitStatus, Failure> {
    let (policy, least) = places::policy(&context.environment);
    let native = Trial::of_native(context);
    let checks: Vec<Check> = [
        kernel::checks(&context.environment, &native),
        trial::checks(&native, &Trial::of_guest(context), least),
        places::checks(&context.environment),
        policy,
        tools::checks(context),
    ]
    .concat();
    let is_complete = checks.iter().all(|check| check.state != State::Missing);
    if args.json {
        let listed: Vec<Value> = checks.iter().map(Check::to_value).collect();
        let value: Value = [("ok", Value::from(is_complete)), ("checks", listed.into())].into();
        output::print_line(&encode(&value)).or_internal()?;
    } else {
        let lines: Vec<String> = checks.iter().map(Check::to_line).collect();
        output::print_line(&lines.join("\n")).or_internal()?;
    }
    Ok(if is_complete { ExitStatus::Success } else { ExitStatus::Failed })
}
