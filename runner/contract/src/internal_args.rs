//! The reserved `_ansible_*` arguments: a closed, typed list that only the runner fills.
//!
//! Keys, types and order are those of the release whose contract is kept: 17 keys in ansible-core 2.19, 15 in 2.9 and
//! 2.14 (`ActionBase._update_module_args`). A module must not depend on the order; it is kept because people compare
//! argument files with `diff`.

use std::borrow::Cow;

use modbox_python_json::{Dict, Value};

use crate::release::Release;

/// The syslog facility that ansible-core uses unless told otherwise.
pub const SYSLOG_FACILITY: &str = "LOG_USER";

/// The filesystems on which ansible-core sets no SELinux context of its own.
pub const SELINUX_SPECIAL_FS: [&str; 6] = ["fuse", "nfs", "vboxsf", "ramfs", "9p", "vfat"];

/// What older releases did with values that are no strings where strings are asked for, unless told otherwise.
pub const STRING_CONVERSION_ACTION: &str = "warn";

/// What the runner tells a module beside its arguments. Every field but the first is one `_ansible_*` key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalArgs {
    /// The release whose contract is kept: which of the keys there are, and what `_ansible_version` says.
    pub release: Release,
    /// Report what would change and change nothing. Honouring it is the module's job.
    pub check_mode: bool,
    /// Write no arguments to the system's log.
    pub no_log: bool,
    /// Write debug lines to the system's log.
    pub debug: bool,
    /// Report differences as `diff`.
    pub diff: bool,
    /// How many `-v` were given.
    pub verbosity: u32,
    /// The name the module was asked for by, as it was typed.
    pub module_name: String,
    /// A facility's name, [`SYSLOG_FACILITY`].
    pub syslog_facility: Cow<'static, str>,
    /// Filesystem types, [`SELINUX_SPECIAL_FS`].
    pub selinux_special_fs: Vec<Cow<'static, str>>,
    /// What to do with a value that is no string where a string is asked for: `warn`, `error` or `ignore`. Before
    /// ansible-core 2.19 only.
    pub string_conversion_action: Cow<'static, str>,
    /// The socket of a persistent connection.
    pub socket: Option<String>,
    /// The shell that modules run commands with.
    pub shell_executable: Cow<'static, str>,
    /// Leave temporary files where they are.
    pub keep_remote_files: bool,
    /// The module's own temporary directory, with a trailing slash. A run fills it in.
    pub tmpdir: Option<String>,
    /// Where a module makes a temporary directory when it was given none; `~` is not expanded.
    pub remote_tmp: Cow<'static, str>,
    /// Let arguments pass that the module does not know. From ansible-core 2.19 on, as the two below.
    pub ignore_unknown_opts: bool,
    /// What to put before every line in the system's log.
    pub target_log_info: Option<String>,
    /// For which events Python modules add a traceback: `error`, `warning`, `deprecated`, `deprecated_value`.
    pub tracebacks_for: Vec<String>,
}

impl InternalArgs {
    /// Returns the defaults of ansible-core 2.19 for a module of that name: no check mode, no diff, no temporary
    /// directory.
    #[must_use]
    pub fn new(module_name: &str) -> Self {
        Self {
            release: Release::default(),
            check_mode: false,
            no_log: false,
            debug: false,
            diff: false,
            verbosity: 0,
            module_name: module_name.to_owned(),
            syslog_facility: SYSLOG_FACILITY.into(),
            selinux_special_fs: SELINUX_SPECIAL_FS.map(Cow::Borrowed).into(),
            string_conversion_action: STRING_CONVERSION_ACTION.into(),
            socket: None,
            shell_executable: "/bin/sh".into(),
            keep_remote_files: false,
            tmpdir: None,
            remote_tmp: "~/.ansible/tmp".into(),
            ignore_unknown_opts: false,
            target_log_info: None,
            tracebacks_for: Vec::new(),
        }
    }

    /// Returns the keys of the release, in the order in which it sends them.
    #[must_use]
    pub fn into_dict(self) -> Dict {
        let newest = self.release >= Release::V2_19;
        let texts = |texts: Vec<Cow<'static, str>>| Value::List(texts.into_iter().map(Value::from).collect());
        let tracebacks = self.tracebacks_for.into_iter().map(Value::from).collect();
        let entries: [(bool, &str, Value); 18] = [
            (true, "_ansible_check_mode", self.check_mode.into()),
            (true, "_ansible_no_log", self.no_log.into()),
            (true, "_ansible_debug", self.debug.into()),
            (true, "_ansible_diff", self.diff.into()),
            (true, "_ansible_verbosity", self.verbosity.into()),
            (true, "_ansible_version", self.release.version().into()),
            (true, "_ansible_module_name", self.module_name.into()),
            (true, "_ansible_syslog_facility", self.syslog_facility.into()),
            (true, "_ansible_selinux_special_fs", texts(self.selinux_special_fs)),
            (!newest, "_ansible_string_conversion_action", self.string_conversion_action.into()),
            (true, "_ansible_socket", self.socket.into()),
            (true, "_ansible_shell_executable", self.shell_executable.into()),
            (true, "_ansible_keep_remote_files", self.keep_remote_files.into()),
            (true, "_ansible_tmpdir", self.tmpdir.into()),
            (true, "_ansible_remote_tmp", self.remote_tmp.into()),
            (newest, "_ansible_ignore_unknown_opts", self.ignore_unknown_opts.into()),
            (newest, "_ansible_target_log_info", self.target_log_info.into()),
            (newest, "_ansible_tracebacks_for", Value::List(tracebacks)),
        ];
        let sent = entries.into_iter().filter(|(sent, ..)| *sent);
        sent.map(|(_, key, value)| (key.to_owned(), value)).collect()
    }

    /// Returns everything a module is given: the task's arguments, then these. ansible-core 2.19 sorts the task's by name
    /// at the top level, older releases leave them in the order in which they were written.
    #[must_use]
    pub fn append_to(self, mut args: Dict) -> Dict {
        if self.release >= Release::V2_19 {
            args.sort_unstable_keys();
        }
        args.extend(self.into_dict());
        args
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;

    #[test]
    fn follows_the_sorted_arguments() {
        let args = Value::from([("b", Value::from([("z", 1), ("y", 2)])), ("a", true.into()), ("Z", Value::Null)]);
        let Value::Dict(args) = args else { unreachable!() };
        let internal = InternalArgs { tmpdir: Some("/tmp/".to_owned()), ..InternalArgs::new("hello") };
        assert_eq!(
            encode(&Value::Dict(internal.append_to(args))),
            concat!(
                r#"{"Z": null, "a": true, "b": {"z": 1, "y": 2}, "_ansible_check_mode": false, "#,
                r#""_ansible_no_log": false, "_ansible_debug": false, "_ansible_diff": false, "#,
                r#""_ansible_verbosity": 0, "_ansible_version": "2.19.14", "_ansible_module_name": "hello", "#,
                r#""_ansible_syslog_facility": "LOG_USER", "_ansible_selinux_special_fs": "#,
                r#"["fuse", "nfs", "vboxsf", "ramfs", "9p", "vfat"], "_ansible_socket": null, "#,
                r#""_ansible_shell_executable": "/bin/sh", "_ansible_keep_remote_files": false, "#,
                r#""_ansible_tmpdir": "/tmp/", "_ansible_remote_tmp": "~/.ansible/tmp", "#,
                r#""_ansible_ignore_unknown_opts": false, "_ansible_target_log_info": null, "#,
                r#""_ansible_tracebacks_for": []}"#,
            )
        );
    }

    #[test]
    fn older_releases_have_other_keys_and_keep_the_order_of_arguments() {
        for release in [Release::V2_9, Release::V2_14] {
            let Value::Dict(args) = Value::from([("b", 1), ("a", 2)]) else { unreachable!() };
            let all = InternalArgs { release, ..InternalArgs::new("hello") }.append_to(args);
            let keys: Vec<_> = all.keys().map(String::as_str).collect();
            assert_eq!((keys.len(), &keys[..2], keys[16]), (17, &["b", "a"][..], "_ansible_remote_tmp"));
            assert_eq!(keys[11], "_ansible_string_conversion_action");
            assert_eq!(all["_ansible_version"], release.version().into());
        }
    }
}
