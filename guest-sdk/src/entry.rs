//! The program around a module: it reads the arguments file and always prints one JSON object.

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use modbox_argument_spec::Metadata;
use modbox_python_json::{Dict, Value, decode, encode, from_value};
use serde::de::DeserializeOwned;

use crate::call::{Body, Finished, ProcessEnvironment, perform, read_by, with_body};
use crate::module::Module;
use crate::panic_secrets;
use crate::platform::start;
use crate::result::{Exit, Failure};
use crate::typed::Args;

/// The longest arguments file. Arguments may contain whole files, but not very large ones.
pub const MAX_ARGS_BYTES: u64 = 64 * 1024 * 1024;

/// Runs a module: the body of `main` that [`module!`](crate::module!) writes.
///
/// Reads the file that the only argument names, calls `run`, and prints the result. The exit status is 0 for a result,
/// 1 for a failed result, and 2 if the program was not called as a module.
pub fn start<A: DeserializeOwned>(
    metadata: &str,
    run: impl FnOnce(A, &mut Module) -> Result<Exit, Failure>,
) -> ExitCode {
    with_body(read_by(|own| from_value(Value::Dict(own)), run), |body| start_with(metadata, body))
}

/// Works as [`start`] for a function whose arguments derive [`Args`]. The metadata may have the extent
/// [`Extent::Spec`](crate::typed::Extent::Spec).
pub fn start_typed<A: Args>(metadata: &str, run: impl FnOnce(A, &mut Module) -> Result<Exit, Failure>) -> ExitCode {
    with_body(read_by(|mut own| A::fill(&mut own), run), |body| start_with(metadata, body))
}

fn start_with(metadata: &str, body: Body<'_>) -> ExitCode {
    match Metadata::from_json(metadata) {
        Ok(metadata) => run_once(&metadata, body),
        Err(error) => emit(Finished::failure(&format!("failed to read the module's metadata: {error}"))),
    }
}

fn run_once(metadata: &Metadata, body: Body<'_>) -> ExitCode {
    std::panic::set_hook(Box::new(fail_on_panic));
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        return explain(&metadata.name);
    };
    let arguments = read_arguments(path.as_ref());
    start::enter_initial();
    let finished = match arguments {
        Ok(arguments) => perform(metadata, arguments, &ProcessEnvironment, body),
        Err(message) => Finished::failure(&message),
    };
    emit(finished)
}

fn read_arguments(path: &std::path::Path) -> Result<Dict, String> {
    let shown = path.display();
    let unreadable = |error: io::Error| format!("failed to read the arguments file `{shown}`: {error}");
    let bytes = start::read(path, MAX_ARGS_BYTES + 1).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_ARGS_BYTES) {
        return Err(format!("failed to read the arguments file `{shown}`: it is longer than {MAX_ARGS_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("failed to read the arguments file `{shown}`: it is not UTF-8"))?;
    match decode(&text)
        .map_err(|error| format!("failed to read the arguments file `{shown}`: it is not JSON: {error}"))?
    {
        Value::Dict(arguments) => Ok(arguments),
        other => {
            Err(format!("failed to read the arguments file `{shown}`: expected an object, not {}", other.type_name()))
        }
    }
}

fn emit(finished: Finished) -> ExitCode {
    let text = ["\n", &encode(&Value::Dict(finished.result)), "\n"].concat();
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) if !finished.failed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn explain(name: &str) -> ExitCode {
    let text = format!(
        "`{name}` is an automation module: it takes one argument, the path of a JSON file with its arguments, and \
         prints its result as JSON. To run it: `modbox run FILE key=value`, or as a module of Ansible.\n"
    );
    // If standard error is closed, there is no other place for a message.
    let _ = io::stderr().lock().write_all(text.as_bytes());
    ExitCode::from(2)
}

/// Prints a panic as a failed result. WebAssembly does not unwind, so the program ends here.
#[expect(clippy::exit, reason = "a panic hook has no other way to set the exit status")]
fn fail_on_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    let why = panic.payload_as_str().unwrap_or("no message");
    let message = format!("the module panicked{place}: {why}");
    let message = panic_secrets::mask(&message).unwrap_or_else(|| format!("the module panicked{place}"));
    emit(Finished::failure(&message));
    std::process::exit(1);
}
