//! Which arguments of tasks can name a path.

/// Arguments that name no path for any module or action.
const WITHOUT_PATH: [&str; 17] = [
    "attributes",
    "backup",
    "block",
    "body",
    "checksum",
    "content",
    "directory_mode",
    "follow",
    "force",
    "group",
    "line",
    "mode",
    "owner",
    "regexp",
    "replace",
    "state",
    "validate",
];

/// Arguments that may name a path, which no module writes.
const ONLY_READ: [&str; 7] = ["create", "enabled", "insertafter", "insertbefore", "password", "src", "url"];

/// Returns whether a module or an action may make a path of an argument.
pub(crate) fn may_name_a_path(argument: &str) -> bool {
    !WITHOUT_PATH.contains(&argument)
}

/// Returns whether an argument may name a path that a module writes.
pub(crate) fn may_name_a_written_path(argument: &str) -> bool {
    may_name_a_path(argument) && !ONLY_READ.contains(&argument)
}
