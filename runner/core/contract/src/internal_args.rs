//! The reserved `_ansible_*` arguments: a closed, typed list that only the runner fills.
//!
//! Keys, types and order are those of the chosen release: 18 keys in ansible-core 2.21, 17 in 2.19, 15 in 2.9 and 2.14
//! (`ActionBase._update_module_args`). A module must not depend on the order. We keep it so that argument files can be
//! compared with `diff`.

use std::borrow::Cow;

use modbox_python_json::{Dict, Value, to_value};

use crate::internal_keys::InternalKeys;
use crate::release::Release;

/// The default syslog facility of ansible-core.
pub const SYSLOG_FACILITY: &str = "LOG_USER";

/// The filesystems on which ansible-core sets no SELinux contexts.
pub const SELINUX_SPECIAL_FS: [&str; 6] = ["fuse", "nfs", "vboxsf", "ramfs", "9p", "vfat"];

/// The default action of older releases for values that are not strings where strings are expected.
pub const STRING_CONVERSION_ACTION: &str = "warn";

/// The arguments that the runner adds for the module. Every field but the first is one `_ansible_*` key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalArgs {
    /// The release whose contract applies. It decides which keys there are and the value of `_ansible_version`.
    pub release: Release,
    /// Report what would change and change nothing. The module implements it.
    pub check_mode: bool,
    /// Write no arguments to the system's log.
    pub no_log: bool,
    /// Write debug lines to the system's log.
    pub debug: bool,
    /// Report differences as `diff`.
    pub diff: bool,
    /// The number of `-v` options.
    pub verbosity: u32,
    /// The module's name as the caller typed it.
    pub module_name: String,
    /// The facility's name; the default is [`SYSLOG_FACILITY`].
    pub syslog_facility: Cow<'static, str>,
    /// Filesystem types; the default is [`SELINUX_SPECIAL_FS`].
    pub selinux_special_fs: Vec<Cow<'static, str>>,
    /// The action for a value that is not a string where a string is expected: `warn`, `error` or `ignore`. Only before
    /// ansible-core 2.19.
    pub string_conversion_action: Cow<'static, str>,
    /// The socket of a persistent connection.
    pub socket: Option<String>,
    /// The shell in which modules run commands.
    pub shell_executable: Cow<'static, str>,
    /// Do not remove temporary files.
    pub keep_remote_files: bool,
    /// The module's temporary directory, with a trailing slash. The run sets it.
    pub tmpdir: Option<String>,
    /// The folder in which a module makes a temporary directory when the runner gave it none; `~` is not expanded.
    pub remote_tmp: Cow<'static, str>,
    /// Accept arguments that the module does not know. Since ansible-core 2.19, like the two fields below.
    pub ignore_unknown_opts: bool,
    /// The prefix of every line in the system's log.
    pub target_log_info: Option<String>,
    /// The events for which Python modules add a traceback: `error`, `warning`, `deprecated`, `deprecated_value`.
    pub tracebacks_for: Vec<String>,
    /// Repeat the arguments in the result, as `invocation`. Since ansible-core 2.21; modules of earlier releases always do.
    pub inject_invocation: bool,
}

impl InternalArgs {
    /// Returns the defaults of the newest final release for a module: no check mode, no diff, no temporary directory.
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
            inject_invocation: false,
        }
    }

    /// Returns the keys of the release, with this temporary directory.
    pub(crate) fn keys<'a>(&'a self, tmpdir: Option<&'a str>) -> InternalKeys<'a> {
        let newest = self.release >= Release::V2_19;
        InternalKeys {
            check_mode: self.check_mode,
            no_log: self.no_log,
            debug: self.debug,
            diff: self.diff,
            verbosity: self.verbosity,
            version: self.release.version(),
            module_name: &self.module_name,
            syslog_facility: &self.syslog_facility,
            selinux_special_fs: &self.selinux_special_fs,
            string_conversion_action: (!newest).then_some(&*self.string_conversion_action),
            socket: self.socket.as_deref(),
            shell_executable: &self.shell_executable,
            keep_remote_files: self.keep_remote_files,
            tmpdir,
            remote_tmp: &self.remote_tmp,
            ignore_unknown_opts: newest.then_some(self.ignore_unknown_opts),
            target_log_info: newest.then_some(self.target_log_info.as_deref()),
            tracebacks_for: newest.then_some(&*self.tracebacks_for),
            inject_invocation: (self.release >= Release::V2_21).then_some(self.inject_invocation),
        }
    }

    /// Returns the keys of the release in its order.
    ///
    /// # Panics
    ///
    /// Never: the keys are an object in JSON.
    #[must_use]
    pub fn to_dict(&self) -> Dict {
        match to_value(&self.keys(self.tmpdir.as_deref())) {
            Ok(Value::Dict(keys)) => keys,
            other => unreachable!("the keys are an object: {other:?}"),
        }
    }

    /// Returns all arguments of a module: the task's arguments, then the reserved ones. ansible-core 2.19 sorts the
    /// task's by name at the top level; older releases keep their order.
    #[must_use]
    pub fn append_to(&self, mut args: Dict) -> Dict {
        if self.release >= Release::V2_19 {
            args.sort_unstable_keys();
        }
        args.extend(self.to_dict());
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
        let internal =
            InternalArgs { release: Release::V2_19, tmpdir: Some("/tmp/".to_owned()), ..InternalArgs::new("hello") };
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
    fn newer_releases_say_whether_results_repeat_the_arguments() {
        for release in [Release::V2_21, Release::V2_22] {
            let keys = InternalArgs { release, ..InternalArgs::new("hello") }.to_dict();
            assert_eq!((keys.len(), keys.last().unwrap().0.as_str()), (18, "_ansible_inject_invocation"));
            assert_eq!(keys["_ansible_inject_invocation"], false.into());
            assert_eq!(keys["_ansible_version"], release.version().into());
        }
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
