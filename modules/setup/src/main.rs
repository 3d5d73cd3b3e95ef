//! `setup`: facts of this machine, as far as a sandbox can know them.
//!
//! Parameters: `gather_subset`, `filter`; `gather_timeout` is taken for compatibility.
//! Returns: `ansible_facts`.
//! Capabilities: read access to the files that the facts are in, each by itself; a fact whose file is not granted is not there.

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
    returns = [ansible_facts: dict = "The facts, each by its name with `ansible_` before it."],
    requests = [
        read "/etc/os-release" = "which distribution this is",
        read "/etc/debian_version" = "which release of Debian",
        read "/etc/machine-id" = "the machine's own number",
        read "/etc/resolv.conf" = "who answers for names",
        read "/proc/cmdline" = "what the kernel was told",
        read "/proc/cpuinfo" = "the processors",
        read "/proc/loadavg" = "how busy the machine is",
        read "/proc/meminfo" = "how much memory there is",
        read "/proc/uptime" = "how long the machine has been running",
        read "/proc/sys/crypto/fips_enabled" = "whether FIPS rules are kept",
        read "/proc/sys/kernel/arch" = "the architecture",
        read "/proc/sys/kernel/hostname" = "the machine's name",
        read "/proc/sys/kernel/osrelease" = "the kernel",
        read "/proc/sys/kernel/ostype" = "the system",
        read "/proc/sys/kernel/version" = "the kernel's version",
    ],
    examples = [
        "modbox run --allow-read /proc/meminfo --allow-read /etc/os-release setup filter=ansible_mem*",
    ],
}

/// Tells facts of this machine, as far as a sandbox can know them: those whose files are granted to be read, the date, and the
/// granted variables.
///
/// Names and values are ansible-core's. What only other programs or the kernel's calls know is not there: addresses, devices,
/// users, Python.
#[derive(Args)]
struct SetupArgs {
    /// Which facts: `all`, `min`, a name of some, or `!` and what to leave out.
    #[arg(default = ["all"])]
    gather_subset: Vec<String>,
    /// Taken for compatibility; nothing here takes long.
    #[arg(name = "gather_timeout", default = 10)]
    _gather_timeout: i64,
    /// Only facts whose names fit one of these patterns.
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
    let wanted = |name: &str| {
        let fits = |pattern: &String| fnmatch(pattern, name) || fnmatch(&format!("ansible_{pattern}"), name);
        args.filter.is_empty() || args.filter.iter().any(fits)
    };
    facts.retain(|name, _| wanted(name));
    let asked: Vec<Value> = args.gather_subset.iter().map(|name| Value::from(name.as_str())).collect();
    facts.insert("gather_subset".to_owned(), asked.into());
    facts.insert("module_setup".to_owned(), true.into());
    Ok(Exit::unchanged().with("ansible_facts", facts))
}
