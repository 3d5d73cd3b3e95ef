//! What a Python module in the sandbox learns of the machine and of the user whose run it is, as natively.

use std::path::Path;

use modbox_contract::Dict;
use modbox_native::base;
use modbox_python_json::Value;
use modbox_vocabulary::User;
use rustix::process::{getegid, geteuid, getgroups, getppid};

use crate::python::disk::read_bounded;

/// Where the kernel has its names, as `uname` returns them.
const NAMES: &str = "/proc/sys/kernel";

/// The folder of Ansible's settings, in which it looks for authorities, too.
const SETTINGS: &str = "/etc/ansible";

/// Longest name, in bytes.
const MAX_NAME: u64 = 256;

/// Returns the facts, in the form of the interpreter's start file. They have no process number: modules make
/// unique names with it, and all jobs of a batch share that of modbox. The interpreter draws a number instead. `user` is the user whose
/// run it is, if that is another one than the user of this process.
pub(crate) fn host_facts(user: Option<&User>) -> Dict {
    let name = |file: &str| {
        let read = read_bounded(&Path::new(NAMES).join(file), MAX_NAME).unwrap_or_default();
        Value::from(String::from_utf8_lossy(&read).trim_end().to_owned())
    };
    let number = |number: u32| Value::from(i64::from(number));
    let own = || getgroups().unwrap_or_default().into_iter().map(rustix::process::Gid::as_raw).collect();
    let (uid, gid, groups) = match user {
        Some(user) => (user.uid, user.gid, user.groups.clone()),
        None => (geteuid().as_raw(), getegid().as_raw(), own()),
    };
    let groups = groups.into_iter().map(number).collect::<Vec<_>>();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let absent = base::AUTHORITY_FOLDERS.into_iter().chain([SETTINGS]).filter(|path| !Path::new(path).exists());
    let absent: Vec<Value> = absent.map(Value::from).collect();
    let facts: [(&str, Value); 12] = [
        ("uid", number(uid)),
        ("gid", number(gid)),
        ("groups", groups.into()),
        ("parent", getppid().map_or(0, |parent| i64::from(parent.as_raw_pid())).into()),
        ("processors", i64::try_from(processors).unwrap_or(1).into()),
        ("system", name("ostype")),
        ("node", name("hostname")),
        ("release", name("osrelease")),
        ("version", name("version")),
        ("machine", std::env::consts::ARCH.into()),
        ("authorities", base::authorities().unwrap_or_default().into()),
        ("absent", absent.into()),
    ];
    facts.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}
