//! The switches of ansible-playbook that are about connections, passwords and encryption: accepted where they make no
//! difference on one host, and refused with what to do instead otherwise.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Ansible's switches")]
pub(crate) struct AnsibleSwitches {
    /// The user to connect as, which must be the one that modbox runs as.
    #[arg(short, long, value_name = "USER")]
    user: Option<String>,
    /// Number of hosts at a time. Makes no difference: a run has one.
    #[arg(short, long, value_name = "N")]
    pub(crate) forks: Option<u32>,
    /// Seconds to wait for a connection. Makes no difference, as all other switches about connections.
    #[arg(short = 'T', value_name = "SECONDS", hide_short_help = true)]
    connection_timeout: Option<u32>,
    #[arg(long, alias = "key-file", value_name = "FILE", hide = true)]
    private_key: Option<PathBuf>,
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true, hide = true)]
    ssh_common_args: Option<String>,
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true, hide = true)]
    ssh_extra_args: Option<String>,
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true, hide = true)]
    scp_extra_args: Option<String>,
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true, hide = true)]
    sftp_extra_args: Option<String>,
    #[arg(short = 'k', long, hide = true)]
    ask_pass: bool,
    #[arg(long, alias = "conn-pass-file", value_name = "FILE", hide = true)]
    connection_password_file: Option<PathBuf>,
    /// How to become another user. Makes no difference: as root, modbox becomes any user.
    #[arg(long, value_name = "METHOD")]
    become_method: Option<String>,
    #[arg(short = 'K', long, hide = true)]
    ask_become_pass: bool,
    #[arg(long, alias = "become-pass-file", value_name = "FILE", hide = true)]
    become_password_file: Option<PathBuf>,
    /// A password of vaults: `LABEL@FILE`, or `LABEL@prompt` for a question.
    #[arg(long, value_name = "ID")]
    pub(crate) vault_id: Vec<String>,
    /// Ask for the password of vaults.
    #[arg(short = 'J', long, alias = "ask-vault-pass")]
    pub(crate) ask_vault_password: bool,
    /// A file with the password of vaults.
    #[arg(long, alias = "vault-pass-file", value_name = "FILE")]
    pub(crate) vault_password_file: Vec<PathBuf>,
}

impl AnsibleSwitches {
    /// Refuses what would have to make a difference. `user` is the one that modbox runs as.
    ///
    /// # Errors
    ///
    /// A switch asks for another user to connect as, or for a password of that user.
    pub(crate) fn check(&self, user: &str) -> anyhow::Result<()> {
        if let Some(other) = self.user.as_deref().filter(|other| *other != user) {
            bail!(
                "failed to connect as `{other}`: modbox connects to no host and runs as `{user}`; use `sudo -u {other}`, \
                 or `--become --become-user {other}` as root"
            );
        }
        if self.ask_become_pass || self.become_password_file.is_some() {
            bail!("failed to ask for a password to become another user: modbox takes none; start it with `sudo`");
        }
        Ok(())
    }

    /// Returns what to say under `-v` about switches that make no difference.
    pub(crate) fn notes(&self) -> Vec<String> {
        let given = [
            ("--forks", self.forks.is_some(), "a run has one host"),
            ("-T", self.connection_timeout.is_some(), NO_CONNECTION),
            ("--private-key", self.private_key.is_some(), NO_CONNECTION),
            ("--ssh-common-args", self.ssh_common_args.is_some(), NO_CONNECTION),
            ("--ssh-extra-args", self.ssh_extra_args.is_some(), NO_CONNECTION),
            ("--scp-extra-args", self.scp_extra_args.is_some(), NO_CONNECTION),
            ("--sftp-extra-args", self.sftp_extra_args.is_some(), NO_CONNECTION),
            ("--ask-pass", self.ask_pass, NO_CONNECTION),
            ("--connection-password-file", self.connection_password_file.is_some(), NO_CONNECTION),
            ("--become-method", self.become_method.is_some(), "modbox becomes a user by itself"),
        ];
        let given = given.into_iter().filter(|(_, is_given, _)| *is_given);
        given.map(|(switch, _, reason)| format!("`{switch}` makes no difference here: {reason}")).collect()
    }
}

/// Why switches about connections make no difference.
const NO_CONNECTION: &str = "modbox connects to no host";

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        switches: AnsibleSwitches,
    }

    fn switches(words: &[&str]) -> AnsibleSwitches {
        Line::parse_from([&["x"], words].concat()).switches
    }

    #[test]
    fn what_makes_no_difference_is_noted_and_the_rest_refused() {
        let check = |words: &[&str], notes: usize, refused: Option<&str>| {
            let switches = switches(words);
            assert_eq!(switches.notes().len(), notes, "{words:?}");
            let error = switches.check("ann").err().map(|error| error.to_string()).unwrap_or_default();
            assert!(refused.map_or(error.is_empty(), |part| error.contains(part)), "{words:?}: {error}");
        };
        check(&["-f", "5", "-T", "10", "-k", "--key-file", "x", "--become-method", "su"], 5, None);
        check(&["--ssh-common-args", "-o A=b", "--ssh-extra-args=-v", "--scp-extra-args", "-x"], 3, None);
        check(&["--sftp-extra-args", "-x", "--conn-pass-file", "f"], 2, None);
        check(&["-u", "ann"], 0, None);
        check(&["-u", "bob"], 0, Some("`sudo -u bob`"));
        check(&["-K"], 0, Some("start it with `sudo`"));
        check(&["--become-password-file", "f"], 0, Some("`sudo`"));
        for words in [&["--vault-id", "x@y"][..], &["-J"], &["--vault-password-file", "f"], &["--ask-vault-pass"]] {
            check(words, 0, None);
        }
    }
}
