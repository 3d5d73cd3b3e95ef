//! A machine that tasks may change: overlays of this machine's directories, in a mount namespace, so that writes go to
//! a folder of the test. Programs that this machine lacks are added as read-only layers.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::table::Group;
use crate::support::prefixed;

/// Script that mounts an overlay on each directory named before `--`: after `+` a writable one, after `=` one with
/// added programs. In a trial, changes to these directories and to the folder go elsewhere. The machine's service
/// manager is hidden. Then runs the command after `--`.
const SCRIPT: &str = r#"
at=$1; over=$2; trial=$3; shift 3
into=$at
if [ -n "$trial" ]; then into=$at/work/.trial; rm -rf "$into"; fi
overlay() {
    mkdir -p "$into/changed$2" "$into/work$2"
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$into/changed$2,workdir=$into/work$2" "$2"
}
while [ "$1" != -- ]; do
    on=${1#?}; lower=$on
    if [ -n "$over" ] && [ -d "$over$on" ]; then lower=$over$on:$on; fi
    if [ -n "$trial" ] && [ -d "$at/changed$on" ]; then lower=$at/changed$on:$lower; fi
    case $1 in
        +*) overlay "$lower" "$on" ;;
        =*) mount -t overlay overlay -o "lowerdir=$lower" "$on" ;;
    esac
    shift
done
if [ -n "$trial" ]; then overlay "$trial" "$trial"; cd "$PWD"; fi
if [ -d /run/systemd ]; then mount -t tmpfs none /run/systemd; fi
shift
export PATH="$PATH:/usr/sbin:/sbin"
exec "$@"
"#;

/// Directories of a root in which packages have programs and the files that these read.
const LAID_OVER: [&str; 2] = ["/etc", "/usr"];

/// Returns the words to put before a command, so that it sees the machine of a group, whose changes are in `at`.
/// Returns none if the group has no machine. `programs` is the folder of programs that the group may need. In a trial,
/// neither that machine nor the named folder is changed.
pub(super) fn prefix(group: &Group, at: &Path, programs: Option<&Path>, trial: Option<&Path>) -> Vec<OsString> {
    if !group.has_machine() {
        return Vec::new();
    }
    let programs = programs.filter(|_| group.programs);
    let mut directories: Vec<String> = group.changes.iter().map(|directory| format!("+{directory}")).collect();
    let only_read =
        |directory: &&&str| programs.is_some() && !group.changes.iter().any(|changed| changed == **directory);
    directories.extend(LAID_OVER.iter().filter(only_read).map(|directory| format!("={directory}")));
    // A directory must be mounted after its parents.
    directories.sort_by(|one, other| one[1..].cmp(&other[1..]));
    let unshare = ["unshare", "--mount", "--uts", "--net", "--propagation", "private"];
    let as_root = (!rustix::process::geteuid().is_root()).then_some("--map-root-user");
    let start = unshare.into_iter().chain(as_root).chain(["sh", "-ec", SCRIPT, "sh"]).map(OsString::from);
    let over = programs.map(|programs| programs.as_os_str().to_owned()).unwrap_or_default();
    let directories = directories.into_iter().map(OsString::from);
    let trial = trial.map(|folder| folder.as_os_str().to_owned()).unwrap_or_default();
    start.chain([at.as_os_str().to_owned(), over, trial]).chain(directories).chain(["--".into()]).collect()
}

/// Puts a prefix before a command.
pub(super) fn within(prefix: &[OsString], command: Command) -> Command {
    let Some((program, args)) = prefix.split_first() else { return command };
    let mut whole = Command::new(program);
    whole.args(args);
    prefixed(whole, &command)
}
