//! The switches for grants and limits, as typed. `settings` merges them with the policy files.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use modbox_policy::{Access, Designated, parse_count, parse_duration, parse_level, parse_size};

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Grants")]
pub(crate) struct GrantArgs {
    /// Let the module read a file or a directory; `PATH::GUEST` shows it elsewhere. Repeatable.
    #[arg(long, value_name = "PATH[::GUEST]")]
    pub(crate) allow_read: Vec<OsString>,
    /// Let the module read, change, make and remove a file or a directory. Repeatable.
    #[arg(long, value_name = "PATH[::GUEST]")]
    pub(crate) allow_write: Vec<OsString>,
    /// Let the module give files that it may write to a user, a group or both; names or numbers. Repeatable.
    #[arg(long, value_name = "[USER][:GROUP]")]
    pub(crate) allow_own: Vec<String>,
    /// Show the module an environment variable. Repeatable.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) allow_env: Vec<OsString>,
    /// What naming a path in an argument grants, at most [default: write].
    #[arg(long, value_name = "none|read|write", value_parser = str::parse::<Designated>)]
    pub(crate) designated: Option<Designated>,
    /// Take what an option of this name holds for a path, and grant it, when you name it. Repeatable.
    #[arg(long, value_name = "OPTION:read|write", value_parser = parse_designate)]
    pub(crate) designate: Vec<(String, Access)>,
    /// Let the module reach a host: `*`, a name, `*.NAME`, an address or a block of them. Repeatable.
    #[arg(long, value_name = "[udp:]HOST[:PORT]")]
    pub(crate) allow_net: Vec<String>,
    /// Let the module listen at an address of this machine. Repeatable.
    #[arg(long, value_name = "[udp:]ADDRESS:PORT")]
    pub(crate) allow_listen: Vec<String>,
    /// Let the module run a command: a program and words for its arguments, `*` at the end for any more. Repeatable.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) allow_run: Vec<String>,
    /// Grant everything that you can reach, and confine nothing: for a module that you trust as yourself.
    #[arg(long)]
    pub(crate) allow_all: bool,
    /// Run with no less of the kernel's confinement than this, from 0 to 3 [default: 2].
    #[arg(long, value_name = "LEVEL", value_parser = parse_level, allow_negative_numbers = true)]
    pub(crate) min_confinement: Option<u8>,
    /// Append a JSON line about the run to a file; a run that cannot be audited does not start. Repeatable.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) audit: Vec<PathBuf>,
    /// Add the grants and limits of a policy file. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Wall-clock time, sleeping and waiting included [default: 5m].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    /// Processor time [default: 1m].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) cpu_time: Option<Duration>,
    /// Memory [default: 256MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_memory: Option<u64>,
    /// Bytes kept of stdout and of stderr, each [default: 4MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_output: Option<u64>,
    /// Bytes written to files [default: 64MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_disk: Option<u64>,
    /// Bytes of them in /tmp [default: 64MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_tmp: Option<u64>,
    /// Files, directories and links made [default: 4096].
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) max_files: Option<u64>,
    /// Files, directories and sockets open at a time [default: 256].
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) max_descriptors: Option<u64>,
    /// Processes of a native module at a time [default: 64].
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub(crate) max_processes: Option<u64>,
    /// Bytes of a wasm module that is to be compiled [default: 64MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) max_module: Option<u64>,
    /// Processor time for compiling a module [default: 1m].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) compile_time: Option<Duration>,
    /// Memory for compiling a module [default: 2GiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true)]
    pub(crate) compile_memory: Option<u64>,
}

fn parse_designate(text: &str) -> Result<(String, Access), String> {
    match text.rsplit_once(':') {
        Some((option, "read")) if !option.is_empty() => Ok((option.to_owned(), Access::Read)),
        Some((option, "write")) if !option.is_empty() => Ok((option.to_owned(), Access::Write)),
        _ => Err("not OPTION:read or OPTION:write, such as `dest:write`".to_owned()),
    }
}
