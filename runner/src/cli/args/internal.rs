//! The switches for a module's internal arguments.

use clap::Args;
use modbox_contract::caller::ChoiceError;
use modbox_contract::{CallerChoices, Release};

/// What the module is told, as typed. Every switch is one `_ansible_*` key but the first, which says which there are.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "What the module is told")]
pub(crate) struct InternalKeyArgs {
    /// Keep the contract of this release of Ansible [default: 2.19].
    #[arg(long, value_name = "2.9|2.14|2.19", value_parser = str::parse::<Release>)]
    pub(crate) contract: Option<Release>,
    /// The name that it was asked for by [default: the module's].
    #[arg(long, value_name = "NAME")]
    pub(crate) module_name: Option<String>,
    /// Log no arguments; unlike `--no-log`, show the result.
    #[arg(long)]
    pub(crate) no_target_syslog: bool,
    /// Log debug lines.
    #[arg(long)]
    pub(crate) debug: bool,
    /// Log under this facility [default: LOG_USER].
    #[arg(long, value_name = "FACILITY")]
    pub(crate) syslog_facility: Option<String>,
    /// Put this before what is logged.
    #[arg(long, value_name = "TEXT")]
    pub(crate) target_log_info: Option<String>,
    /// Add tracebacks: error, warning, deprecated, deprecated_value or always. Repeatable.
    #[arg(long, value_name = "EVENT,...", value_delimiter = ',')]
    pub(crate) tracebacks_for: Vec<String>,
    /// Let arguments pass that it does not know.
    #[arg(long)]
    pub(crate) ignore_unknown_opts: bool,
    /// Run commands with this shell [default: /bin/sh].
    #[arg(long, value_name = "PATH")]
    pub(crate) shell_executable: Option<String>,
    /// Make temporary directories here, when none was given [default: ~/.ansible/tmp].
    #[arg(long, value_name = "PATH")]
    pub(crate) remote_tmp: Option<String>,
    /// The socket of a persistent connection.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<String>,
    /// Filesystems without an SELinux context of their own [default: fuse,nfs,vboxsf,ramfs,9p,vfat].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) selinux_special_fs: Option<Vec<String>>,
    /// What becomes of values that should be strings and are not: warn, error or ignore. Before 2.19 only.
    #[arg(long, value_name = "ACTION")]
    pub(crate) string_conversion_action: Option<String>,
}

impl InternalKeyArgs {
    /// Converts the switches to the contract's form, and checks them against each other.
    ///
    /// # Errors
    ///
    /// A value is unknown, or the chosen release does not have one of the switches' features.
    pub(crate) fn resolve(&self) -> Result<CallerChoices, ChoiceError> {
        let args = self.clone();
        let internal = CallerChoices {
            contract: args.contract.unwrap_or_default(),
            module_name: args.module_name,
            no_target_syslog: args.no_target_syslog,
            debug: args.debug,
            syslog_facility: args.syslog_facility,
            selinux_special_fs: args
                .selinux_special_fs
                .map(|names| names.into_iter().filter(|name| !name.is_empty()).collect()),
            string_conversion_action: args.string_conversion_action,
            socket: args.socket,
            shell_executable: args.shell_executable,
            remote_tmp: args.remote_tmp,
            ignore_unknown_opts: args.ignore_unknown_opts,
            target_log_info: args.target_log_info,
            tracebacks_for: args.tracebacks_for,
        };
        internal.check().map(|()| internal)
    }
}
