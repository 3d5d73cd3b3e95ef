//! `setup`: facts of this machine that a sandbox can know.
//!
//! Parameters: `gather_subset`, `filter`; `gather_timeout` is accepted and ignored.
//! Returns: `ansible_facts`.
//! Capabilities: read access to the files of the facts, one by one. A fact whose file is not granted is missing.

#![forbid(unsafe_code)]

mod date_time;
mod distribution;
mod hardware;
mod source;
mod subset;
mod system;

use modbox_sdk::{Args, Dict, Exit, Failure, Module, Value, fnmatch};

use crate::subset::Subset;

modbox_sdk::module! {
    args = SetupArgs,
    run = run,
    check_mode = true,
    returns = [ansible_facts: dict = "The facts, with the prefix `ansible_`."],
    requests = [
        read "/etc/os-release" = "the distribution",
        read "/etc/debian_version" = "the release of Debian",
        read "/etc/machine-id" = "the machine's id",
        read "/etc/resolv.conf" = "the DNS servers",
        read "/proc/cmdline" = "the kernel's command line",
        read "/proc/cpuinfo" = "the processors",
        read "/proc/loadavg" = "the load",
        read "/proc/meminfo" = "the memory",
        read "/proc/uptime" = "the uptime",
        read "/proc/sys/crypto/fips_enabled" = "whether FIPS mode is on",
        read "/proc/sys/kernel/arch" = "the architecture",
        read "/proc/sys/kernel/hostname" = "the machine's name",
        read "/proc/sys/kernel/osrelease" = "the kernel",
        read "/proc/sys/kernel/ostype" = "the operating system",
        read "/proc/sys/kernel/version" = "the kernel's version",
    ],
    examples = [
        "modbox run --allow-read /proc/meminfo --allow-read /etc/os-release setup filter=ansible_mem*",
    ],
}

/// Returns facts of this machine that a sandbox can know: those whose files are granted, the date, and the granted
/// variables.
///
/// Names and values are ansible-core's. Facts that need programs or system calls are missing: addresses, devices,
/// users, Python.
#[derive(Args)]
struct SetupArgs {
    /// The subsets to gather: `all`, `min`, a subset's name, or `!` and a subset to leave out.
    #[arg(default = ["all"])]
    gather_subset: Vec<String>,
    /// Accepted and ignored: gathering is fast.
    #[arg(name = "gather_timeout", default = 10)]
    _gather_timeout: i64,
    /// Return only facts whose names match one of these patterns.
    #[arg(default = [])]
    filter: Vec<String>,
}

fn run(args: SetupArgs, _module: &mut Module) -> Result<Exit, Failure> {
    let subsets = subset::chosen(&args.gather_subset).map_err(Failure::new)?;
    let mut facts = Dict::new();
    for subset in subsets {
        let found = match subset {
            Subset::Platform => system::platform(),
            Subset::Distribution => distribution::facts(),
            Subset::DateTime => date_time::facts(),
            Subset::Env => system::environment(),
            Subset::Cmdline => system::command_line(),
            Subset::Fips => system::fips(),
            Subset::Dns => system::dns(),
            Subset::LoadAvg => system::load(),
            Subset::Hardware => hardware::facts(),
        };
        facts.extend(found.into_iter().map(|(name, value)| (format!("ansible_{name}"), value)));
    }
    let asked: Vec<Value> = args.gather_subset.iter().map(|name| Value::from(name.as_str())).collect();
    facts.insert("gather_subset".to_owned(), asked.into());
    facts.insert("module_setup".to_owned(), true.into());
    let wanted = |name: &str| {
        let fits = |pattern: &String| {
            pattern.is_empty() || fnmatch(pattern, name) || fnmatch(&format!("ansible_{pattern}"), name)
        };
        args.filter.is_empty() || args.filter.iter().any(fits)
    };
    facts.retain(|name, _| wanted(name));
    Ok(Exit::unchanged().with("ansible_facts", facts))
}
