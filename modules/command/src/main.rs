//! `command`: runs a program with its arguments, without a shell.
//!
//! Parameters: `cmd`, `_raw_params` or `argv`, `chdir`, `creates`, `removes`, `stdin`, `stdin_add_newline`,
//! `strip_empty_ends`,
//! `expand_argument_vars`, `executable`, `_uses_shell`.
//! Returns: `cmd`, `rc`, `stdout`, `stderr`, `start`, `end`, `delta`, `msg`.
//! Capabilities: the command (`--allow-run`), read access to `chdir`, `creates` and `removes`, and to the files that
//! the command needs.

#![forbid(unsafe_code)]

mod clock;
mod glob;

use std::path::Path;

use modbox_sdk::{Args, Command, CommandResult, Exit, Failure, Module, Value};

use crate::clock::Moment;

modbox_sdk::module! {
    args = CommandArgs,
    run = run,
    check_mode = true,
    returns = [
        cmd: list = "The words of the command, or its text if a shell ran it.",
        rc: int = "The exit status, or the negative number of the signal that ended it.",
        stdout: str = "The standard output.",
        stderr: str = "The standard error.",
        start: str if "it ran" = "The start time, UTC.",
        end: str if "it ran" = "The end time, UTC.",
        delta: str if "it ran" = "The duration.",
    ],
    examples = [
        "modbox run --allow-run uptime command cmd=uptime",
        "modbox run --allow-run 'systemctl restart *' command cmd='systemctl restart nginx'",
    ],
}

/// Runs a program with its arguments. No shell is involved: `|`, `>`, `;` and `*` are ordinary characters.
///
/// In a sandbox, the command must be granted, and can use only the module's files and variables. In check mode no
/// command runs; `creates` and `removes` decide whether one would run.
#[derive(Args)]
#[args(mutually_exclusive("_raw_params", "cmd", "argv"), required_one_of("_raw_params", "cmd", "argv"))]
struct CommandArgs {
    /// The command as one text, from Ansible's free form.
    #[arg(name = "_raw_params")]
    raw_params: Option<String>,
    /// Run the command in a shell. Ansible's `shell` sets this option.
    #[arg(name = "_uses_shell", default = false)]
    uses_shell: bool,
    /// The command as one text, which is split into words as in a shell.
    cmd: Option<String>,
    /// The command as a list of words.
    argv: Option<Vec<String>>,
    /// The working directory of the command.
    #[arg(type = "path", access = "read")]
    chdir: Option<String>,
    /// The shell, for `_uses_shell`.
    executable: Option<String>,
    /// Expand `$NAME` and `~` in the words.
    #[arg(default = true)]
    expand_argument_vars: bool,
    /// A path or pattern that the command creates. If it exists, the command is not run.
    #[arg(type = "path", access = "read")]
    creates: Option<String>,
    /// A path or pattern that the command removes. If it does not exist, the command is not run.
    #[arg(type = "path", access = "read")]
    removes: Option<String>,
    /// The standard input of the command.
    stdin: Option<String>,
    /// Add a line end to stdin.
    #[arg(default = true)]
    stdin_add_newline: bool,
    /// Remove line ends at the end of the output.
    #[arg(default = true)]
    strip_empty_ends: bool,
}

/// Returns the result of a command that has not run.
fn nothing(cmd: &Value) -> Exit {
    let exit = Exit::unchanged().with("stdout", "").with("stderr", "").with("rc", Value::Null).with("cmd", cmd.clone());
    exit.with("start", Value::Null).with("end", Value::Null).with("delta", Value::Null).msg("")
}

fn run(args: CommandArgs, module: &mut Module) -> Result<Exit, Failure> {
    if let Some(executable) = args.executable.as_ref().filter(|_| !args.uses_shell) {
        module.warn(format!(
            "As of Ansible 2.4, the parameter 'executable' is no longer supported with the 'command' module. Not using \
             '{executable}'."
        ));
    }
    let (command, cmd) = command(&args)?;
    let base = Path::new(args.chdir.as_deref().unwrap_or(""));
    if args.chdir.is_some() && !base.is_dir() {
        return Err(failed("Unable to change directory before execution.", &cmd)
            .with("rc", Value::Null)
            .with("changed", false));
    }
    let verb = if module.check_mode() { "Would" } else { "Did" };
    let skipped = |word: &str, path: &str| {
        let exit = nothing(&cmd).with("rc", 0).with("stdout", format!("skipped, since {path} {word}"));
        exit.msg(format!("{verb} not run command since '{path}' {word}"))
    };
    if let Some(path) = args.creates.as_deref().filter(|path| !path.is_empty() && glob::finds(base, path)) {
        return Ok(skipped("exists", path));
    }
    if let Some(path) = args.removes.as_deref().filter(|path| !path.is_empty() && !glob::finds(base, path)) {
        return Ok(skipped("does not exist", path));
    }
    if module.check_mode() {
        let exit = nothing(&cmd).with("rc", 0).msg("Command would have run if not in check mode");
        let conditional = args.creates.is_some() || args.removes.is_some();
        return Ok(if conditional { exit.with("changed", true) } else { exit.with("skipped", true) });
    }
    let start = Moment::now();
    let done = command.run()?;
    let end = Moment::now();
    if done.cut {
        module.warn("the command's output was truncated");
    }
    result(&args, done, cmd, &[start, end])
}

/// Returns the command, and its form in a result.
fn command(args: &CommandArgs) -> Result<(Command, Value), Failure> {
    let text =
        args.raw_params.as_ref().filter(|text| !text.is_empty()).or(args.cmd.as_ref()).filter(|text| !text.is_empty());
    let (command, cmd) = match (text, args.uses_shell) {
        (Some(text), true) => {
            let shell = args.executable.as_deref().unwrap_or("/bin/sh");
            (Command::new(shell).args(["-c", text]).literal(), Value::from(text.as_str()))
        }
        (text, _) => {
            let command = match text {
                Some(text) => Command::parse(text)?,
                None => words(args.argv.clone().unwrap_or_default()),
            };
            let cmd = command.words().iter().map(|word| Value::from(word.as_str())).collect::<Vec<_>>().into();
            (if args.expand_argument_vars { command } else { command.literal() }, cmd)
        }
    };
    let command = match &args.chdir {
        Some(directory) => command.cwd(directory),
        None => command,
    };
    let command = command.data(args.stdin.clone().unwrap_or_default());
    Ok((if args.stdin_add_newline { command } else { command.binary_data() }, cmd))
}

fn words(argv: Vec<String>) -> Command {
    let mut words = argv.into_iter();
    words.next().map_or_else(Command::default, |program| Command::new(program).args(words))
}

fn result(args: &CommandArgs, done: CommandResult, cmd: Value, [start, end]: &[Moment; 2]) -> Result<Exit, Failure> {
    let stripped = |mut bytes: Vec<u8>| {
        while args.strip_empty_ends && matches!(bytes.last(), Some(b'\r' | b'\n')) {
            bytes.pop();
        }
        Value::from_os_bytes(&bytes)
    };
    let entries = [
        ("stdout", stripped(done.stdout)),
        ("stderr", stripped(done.stderr)),
        ("rc", done.rc.into()),
        ("cmd", cmd),
        ("start", start.to_string().into()),
        ("end", end.to_string().into()),
        ("delta", end.since(start).into()),
    ];
    if done.rc == 0 {
        return Ok(entries.into_iter().fold(Exit::changed().msg(""), |exit, (key, value)| exit.with(key, value)));
    }
    let failure = Failure::new("The command exited with a non-zero return code.").with("changed", true);
    Err(entries.into_iter().fold(failure, |failure, (key, value)| failure.with(key, value)))
}

fn failed(message: &str, cmd: &Value) -> Failure {
    let failure = Failure::new(message).with("stdout", "").with("stderr", "").with("cmd", cmd.clone());
    ["start", "end", "delta"].into_iter().fold(failure, |failure, key| failure.with(key, Value::Null))
}
