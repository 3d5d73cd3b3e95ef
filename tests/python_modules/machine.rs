//! A machine that tasks may change: directories of this one as overlays, in a mount namespace, so that what is written to
//! them lands in a folder of the test's.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Mounts each directory named before `--` over itself, then runs what stands behind.
const SCRIPT: &str = r#"
at=$1; shift
while [ "$1" != -- ]; do
    mkdir -p "$at/changed$1" "$at/work$1"
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$at/changed$1,workdir=$at/work$1" "$1"
    shift
done
shift
exec "$@"
"#;

/// Returns what goes before a command, for it to see the directories as what is in `at`. Nothing when there are none.
pub(super) fn prefix(directories: &[String], at: &Path) -> Vec<OsString> {
    if directories.is_empty() {
        return Vec::new();
    }
    let unshare = ["unshare", "--mount", "--uts", "--propagation", "private"];
    let as_root = (!rustix::process::geteuid().is_root()).then_some("--map-root-user");
    let start = unshare.into_iter().chain(as_root).chain(["sh", "-ec", SCRIPT, "sh"]).map(OsString::from);
    let directories = directories.iter().map(OsString::from);
    start.chain([at.as_os_str().to_owned()]).chain(directories).chain(["--".into()]).collect()
}

/// Puts a prefix before a command.
pub(super) fn within(prefix: &[OsString], command: Command) -> Command {
    let Some((program, args)) = prefix.split_first() else { return command };
    let mut whole = Command::new(program);
    whole.args(args).arg(command.get_program()).args(command.get_args()).env_clear();
    whole.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        whole.current_dir(directory);
    }
    whole
}
