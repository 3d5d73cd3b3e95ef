//! `command`: runs a program with its arguments, without a shell.
//!
//! Parameters: `cmd`, `_raw_params` or `argv`, `chdir`, `creates`, `removes`, `stdin`, `stdin_add_newline`, `strip_empty_ends`,
//! `expand_argument_vars`, `executable`, `_uses_shell`.
//! Returns: `cmd`, `rc`, `stdout`, `stderr`, `start`, `end`, `delta`, `msg`.
//! Capabilities: the command (`--allow-run`), read access to `chdir`, `creates` and `removes`, and to whatever else the command is to see.

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
        cmd: list = "The words of the command, or its text where a shell runs it.",
        rc: int = "Its exit status, or the number of the signal that ended it, below zero.",
        stdout: str = "What it printed.",
        stderr: str = "What it complained about.",
        start: str if "it ran" = "When it began, UTC.",
        end: str if "it ran" = "When it ended, UTC.",
        delta: str if "it ran" = "How long it took.",
    ],
    examples = [
        "modbox run --allow-run uptime command cmd=uptime",
        "modbox run --allow-run 'systemctl restart *' command cmd='systemctl restart nginx'",
    ],
}

/// Runs a program with its arguments. There is no shell: `|`, `>`, `;` and `*` are characters like others.
///
/// In a sandbox a command has to be granted, and sees no other files and variables than the module. In check mode none is run; whether
/// one would be follows from `creates` and `removes`.
#[derive(Args)]
#[args(mutually_exclusive("_raw_params", "cmd", "argv"), required_one_of("_raw_params", "cmd", "argv"))]
struct CommandArgs {
    /// The command as one text, as Ansible's free form hands it over.
    #[arg(name = "_raw_params")]
    raw_params: Option<String>,
    /// Have a shell run it, as Ansible's `shell` asks for.
    #[arg(name = "_uses_shell", default = false)]
    uses_shell: bool,
    /// The command as one text, cut into words as a shell does.
    cmd: Option<String>,
    /// The command as a list of words.
    argv: Option<Vec<String>>,
    /// Where to start it.
    #[arg(type = "path", access = "read")]
    chdir: Option<String>,
    /// The shell, for `_uses_shell`.
    executable: Option<String>,
    /// Put variables and home in the place of `$NAME` and `~` in the words.
    #[arg(default = true)]
    expand_argument_vars: bool,
    /// What the command makes, a path or a pattern: when it is there, the command is not run.
    #[arg(type = "path", access = "read")]
    creates: Option<String>,
    /// What the command removes, a path or a pattern: when it is not there, the command is not run.
    #[arg(type = "path", access = "read")]
    removes: Option<String>,
    /// What the command reads.
    stdin: Option<String>,
    /// Add a line end to that.
    #[arg(default = true)]
    stdin_add_newline: bool,
    /// Take line ends from the end of what it printed.
    #[arg(default = true)]
    strip_empty_ends: bool,
}

/// What is known before the command runs, and stays when it does not.
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
        module.warn("the command printed more than is kept");
    }
    result(&args, done, cmd, &[start, end])
}

/// The command, and how a result names it.
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
    let failure = Failure::new("non-zero return code").with("changed", true);
    Err(entries.into_iter().fold(failure, |failure, (key, value)| failure.with(key, value)))
}

fn failed(message: &str, cmd: &Value) -> Failure {
    let failure = Failure::new(message).with("stdout", "").with("stderr", "").with("cmd", cmd.clone());
    ["start", "end", "delta"].into_iter().fold(failure, |failure, key| failure.with(key, Value::Null))
}
