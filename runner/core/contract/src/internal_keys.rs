//! The `_ansible_*` keys as a module gets them: their names, their order, and which of them a release has.

use std::borrow::Cow;

use serde::Serialize;

/// The reserved keys of one run. Keys that the release does not have are `None` and are left out.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct InternalKeys<'a> {
    #[serde(rename = "_ansible_check_mode")]
    pub(crate) check_mode: bool,
    #[serde(rename = "_ansible_no_log")]
    pub(crate) no_log: bool,
    #[serde(rename = "_ansible_debug")]
    pub(crate) debug: bool,
    #[serde(rename = "_ansible_diff")]
    pub(crate) diff: bool,
    #[serde(rename = "_ansible_verbosity")]
    pub(crate) verbosity: u32,
    #[serde(rename = "_ansible_version")]
    pub(crate) version: &'static str,
    #[serde(rename = "_ansible_module_name")]
    pub(crate) module_name: &'a str,
    #[serde(rename = "_ansible_syslog_facility")]
    pub(crate) syslog_facility: &'a str,
    #[serde(rename = "_ansible_selinux_special_fs")]
    pub(crate) selinux_special_fs: &'a [Cow<'static, str>],
    #[serde(rename = "_ansible_string_conversion_action", skip_serializing_if = "Option::is_none")]
    pub(crate) string_conversion_action: Option<&'a str>,
    #[serde(rename = "_ansible_socket")]
    pub(crate) socket: Option<&'a str>,
    #[serde(rename = "_ansible_shell_executable")]
    pub(crate) shell_executable: &'a str,
    #[serde(rename = "_ansible_keep_remote_files")]
    pub(crate) keep_remote_files: bool,
    #[serde(rename = "_ansible_tmpdir")]
    pub(crate) tmpdir: Option<&'a str>,
    #[serde(rename = "_ansible_remote_tmp")]
    pub(crate) remote_tmp: &'a str,
    #[serde(rename = "_ansible_ignore_unknown_opts", skip_serializing_if = "Option::is_none")]
    pub(crate) ignore_unknown_opts: Option<bool>,
    /// The inner value may be null.
    #[serde(rename = "_ansible_target_log_info", skip_serializing_if = "Option::is_none")]
    pub(crate) target_log_info: Option<Option<&'a str>>,
    #[serde(rename = "_ansible_tracebacks_for", skip_serializing_if = "Option::is_none")]
    pub(crate) tracebacks_for: Option<&'a [String]>,
    #[serde(rename = "_ansible_inject_invocation", skip_serializing_if = "Option::is_none")]
    pub(crate) inject_invocation: Option<bool>,
}
