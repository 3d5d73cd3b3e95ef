//! The switches for grants and limits, as typed. `settings` merges them with the policy files.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use modbox_policy::{Access, Designated, PythonPlace, Rules, parse_count, parse_duration, parse_level, parse_size};

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Grants")]
pub(crate) struct GrantArgs {
    /// Allow reading a file or a directory; `PATH::GUEST` sets its path in the sandbox. Repeatable.
    #[arg(long, value_name = "PATH[::GUEST]")]
    pub(crate) allow_read: Vec<OsString>,
    /// Allow reading, changing, creating and removing a file or a directory. Repeatable.
    #[arg(long, value_name = "PATH[::GUEST]")]
    pub(crate) allow_write: Vec<OsString>,
    /// Allow changing the owner of writable files to a user, a group or both, by name or number; with `+setid`, also
    /// their set-id bits. Repeatable.
    #[arg(long, value_name = "[USER][:GROUP][+setid]")]
    pub(crate) allow_own: Vec<String>,
    /// Allow reading an environment variable. Repeatable.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) allow_env: Vec<OsString>,
    /// The most that arguments grant by naming a path, or with `manage` a service, a package or a user [default: write].
    #[arg(long, value_name = "none|read|write|manage", value_parser = str::parse::<Designated>)]
    pub(crate) designated: Option<Designated>,
    /// Treat the value of the option OPTION as a path, and grant it. Repeatable.
    #[arg(long, value_name = "OPTION:read|write", value_parser = parse_designate)]
    pub(crate) designate: Vec<(String, Access)>,
    /// Allow connecting to a host: `*`, a name, `*.NAME`, an address or a block of addresses. Repeatable.
    #[arg(long, value_name = "[udp:]HOST[:PORT]")]
    pub(crate) allow_net: Vec<String>,
    /// Allow listening at an address of this machine. Repeatable.
    #[arg(long, value_name = "[udp:]ADDRESS:PORT")]
    pub(crate) allow_listen: Vec<String>,
    /// Allow running a command: a program and its arguments, with `*` at the end for any others. Repeatable.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) allow_run: Vec<String>,
    /// Allow running a command outside of the module's sandbox, as its user: every word is spelled or a kind, such as
    /// `<unit>`. Repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow_outside: Vec<String>,
    /// Grant everything that you can access, without confinement. Only for modules that you trust fully.
    #[arg(long)]
    pub(crate) allow_all: bool,
    /// Least level of the kernel's confinement, from 0 to 3 [default: 2].
    #[arg(long, value_name = "LEVEL", value_parser = parse_level, allow_negative_numbers = true)]
    pub(crate) min_confinement: Option<u8>,
    /// Where Python modules run. `auto` is the sandbox, if `modbox python install` was run and the module suits it
    /// [default: auto].
    #[arg(long, value_name = "native|auto|wasm", value_parser = str::parse::<PythonPlace>, help_heading = "Python modules")]
    pub(crate) python: Option<PythonPlace>,
    /// Append a JSON line for each run to a file. If this fails, the run does not start. Repeatable.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) audit: Vec<PathBuf>,
    /// Add the grants and limits of a policy file. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// What a person has granted in this process. No switch has it.
    #[arg(skip)]
    pub(crate) answered: Vec<AnsweredGrant>,
}

/// What a person has granted to a module.
#[derive(Debug, Clone)]
pub(crate) struct AnsweredGrant {
    /// The digest of the module, with all its parts.
    pub(crate) digest: String,
    /// The grants, resolved when the question was asked.
    pub(crate) rules: Rules,
}

impl GrantArgs {
    /// Refuses commands outside for many modules at once: policy files grant them to single modules and tasks.
    pub(crate) fn refuse_outside(&self) -> anyhow::Result<()> {
        match self.allow_outside.first() {
            None => Ok(()),
            Some(rule) => anyhow::bail!(
                "`--allow-outside {rule}` would be for every module; write `outside` below `modules` or `tasks` of a policy file"
            ),
        }
    }
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Wall-clock time, including sleeping and waiting [default: 5m].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    /// Processor time [default: 1m].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) cpu_time: Option<Duration>,
    /// Memory [default: 256MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_memory: Option<u64>,
    /// Size of stdout and of stderr, each [default: 4MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_output: Option<u64>,
    /// Bytes written to files, including /tmp [default: 64MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_disk: Option<u64>,
    /// Bytes written to /tmp [default: 64MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_tmp: Option<u64>,
    /// Number of files, directories and links created [default: 4096].
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) max_files: Option<u64>,
    /// Number of open files, directories and sockets [default: 256].
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) max_descriptors: Option<u64>,
    /// Number of processes of a native module [default: 64].
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) max_processes: Option<u64>,
    /// Size of a wasm module to compile [default: 64MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_module: Option<u64>,
    /// Processor time for compiling a module [default: 1m].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) compile_time: Option<Duration>,
    /// Memory for compiling a module [default: 2GiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) compile_memory: Option<u64>,
    /// Wall-clock time of each command outside of the sandbox [default: 1h].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) outside_time: Option<Duration>,
}

fn parse_designate(text: &str) -> Result<(String, Access), String> {
    match text.rsplit_once(':') {
        Some((option, "read")) if !option.is_empty() => Ok((option.to_owned(), Access::Read)),
        Some((option, "write")) if !option.is_empty() => Ok((option.to_owned(), Access::Write)),
        _ => Err("expected OPTION:read or OPTION:write, such as `dest:write`".to_owned()),
    }
}
