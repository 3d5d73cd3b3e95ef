//! The switches for a module's internal arguments.

use clap::Args;
use modbox_contract::caller::ChoiceError;
use modbox_contract::{CallerChoices, Release};

// No doc comment: clap would show it as the help of the subcommand. Each switch sets one `_ansible_*` key, except the
// first, which selects the keys.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Internal arguments")]
pub(crate) struct InternalKeyArgs {
    /// Use the contract of this release of Ansible [default: the installed one, else 2.21].
    #[arg(long, value_name = "2.9|2.14|2.19|2.21|2.22", value_parser = str::parse::<Release>)]
    pub(crate) contract: Option<Release>,
    /// Name of the module in the call [default: the module's].
    #[arg(long, value_name = "NAME")]
    pub(crate) module_name: Option<String>,
    /// Do not log arguments; unlike `--no-log`, show the result.
    #[arg(long)]
    pub(crate) no_target_syslog: bool,
    /// Write debug lines to the system's log.
    #[arg(long)]
    pub(crate) debug: bool,
    /// Facility of the system's log [default: LOG_USER].
    #[arg(long, value_name = "FACILITY")]
    pub(crate) syslog_facility: Option<String>,
    /// Prefix of lines in the system's log.
    #[arg(long, value_name = "TEXT")]
    pub(crate) target_log_info: Option<String>,
    /// Add tracebacks for error, warning, deprecated, deprecated_value or always. Repeatable.
    #[arg(long, value_name = "EVENT,...", value_delimiter = ',')]
    pub(crate) tracebacks_for: Vec<String>,
    /// Accept unknown arguments.
    #[arg(long)]
    pub(crate) ignore_unknown_opts: bool,
    /// Shell for commands [default: /bin/sh].
    #[arg(long, value_name = "PATH")]
    pub(crate) shell_executable: Option<String>,
    /// Folder for temporary directories, if the run has none [default: ~/.ansible/tmp].
    #[arg(long, value_name = "PATH")]
    pub(crate) remote_tmp: Option<String>,
    /// Socket of a persistent connection.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<String>,
    /// File systems without their own SELinux context [default: fuse,nfs,vboxsf,ramfs,9p,vfat].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) selinux_special_fs: Option<Vec<String>>,
    /// Action for values that should be strings: warn, error or ignore. Only before 2.19.
    #[arg(long, value_name = "ACTION")]
    pub(crate) string_conversion_action: Option<String>,
}

impl InternalKeyArgs {
    /// Converts the switches to the contract's form, and checks them against each other. `installed` returns the release that
    /// applies if none is named.
    ///
    /// # Errors
    ///
    /// A value is unknown, or the chosen release does not have one of the switches' features.
    pub(crate) fn resolve(&self, installed: impl FnOnce() -> Release) -> Result<CallerChoices, ChoiceError> {
        let args = self.clone();
        let internal = CallerChoices {
            contract: args.contract.unwrap_or_else(installed),
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
