//! A host that is reached over ssh: a mount namespace of this machine with users, homes, temporary folders and programs of
//! its own. Each connection starts an `sshd` in it that talks over a pipe, so no port is opened.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{TestDir, debian, fixture, modbox};

/// Users of a host. `op` may use `sudo` without a password, `asked` with one, `seated` with a terminal, and for `kept` the
/// home folder stays. Tasks become `app`, which may not use it.
const USERS: &str = "\
root:x:0:0::/srv/root:/bin/sh
sshd:x:64999:65534::/run/sshd:/usr/sbin/nologin
app:x:64998:65534::/srv/app:/bin/sh
op:x:64997:65534::/srv/op:/bin/sh
asked:x:64996:65534::/srv/asked:/bin/sh
seated:x:64995:65534::/srv/seated:/bin/sh
kept:x:64994:65534::/srv/kept:/bin/sh
";

const SUDOERS: &str = "\
Defaults timestamp_timeout=0
Defaults:seated requiretty
Defaults:kept env_keep += \"HOME XDG_CACHE_HOME\"
root, op, seated, kept ALL=(ALL) NOPASSWD: ALL
asked ALL=(ALL) ALL
";

const PAM: &str = "\
auth sufficient pam_rootok.so
auth required pam_unix.so
account required pam_unix.so
session required pam_permit.so
";

/// The password of all users.
pub const PASSWORD: &str = "right";

/// What `openssl passwd -6 -salt modbox right` prints.
const HASH: &str = "$6$modbox$FVBObp3zvZObECV9WUtzc9STVxNFWkcli3L1yNGKNLTi1LRjFslIHH3AxVl3WHuSAicLdCWrzby.k9PJgEOk4/";

const CONFIG: &str = "\
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/key.pub
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
Subsystem sftp internal-sftp
SetEnv PATH=/usr/bin:/bin
";

/// Makes the namespace, says so, and holds it until standard input ends.
const HOLD: &str = r#". "$4"; echo ready; exec cat >/dev/null"#;

/// What hosts are made of: the folder with their files, and the unpacked programs.
#[derive(Debug)]
pub(crate) struct HostFiles {
    pub(crate) folder: PathBuf,
    unpacked: PathBuf,
}

impl HostFiles {
    /// Writes the files of hosts; `None` on machines that cannot have hosts, with a message.
    pub(crate) fn write(dir: &TestDir) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return skip("that needs root");
        }
        let Some(unpacked) = debian::unpacked("debian-ssh", &["acl", "openssh-server", "openssh-client", "sudo"])
        else {
            return skip("there are no Debian packages");
        };
        let unpacked = unpacked.unwrap_or_else(|error| panic!("{error}"));
        let folder = dir.mkdir("ssh");
        let passwords = USERS.lines().filter_map(|line| line.split(':').next());
        let shadow: String = passwords.map(|name| format!("{name}:{HASH}:19000:0:99999:7:::\n")).collect();
        let texts = [("passwd", USERS), ("shadow", &shadow), ("sudoers", SUDOERS), ("pam", PAM), ("config", CONFIG)];
        for (name, text) in texts {
            fs::write(folder.join(name), text).unwrap();
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o644)).unwrap();
        }
        let files = Self { folder, unpacked };
        for key in ["host_key", "key"] {
            let mut make = Command::new(files.program("usr/bin/ssh-keygen"));
            make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(files.folder.join(key));
            assert!(make.status().unwrap().success());
        }
        Some(files)
    }

    /// Returns the words of the script that makes a host, and its path.
    pub(crate) fn words(&self) -> [PathBuf; 4] {
        [self.folder.clone(), self.unpacked.clone(), modbox(), fixture("support/host.sh")]
    }

    fn program(&self, name: &str) -> PathBuf {
        let found = self.unpacked.join(name);
        if found.exists() { found } else { Path::new("/").join(name) }
    }

    /// Returns the arguments of ssh for these hosts.
    pub(crate) fn ssh_args(&self) -> String {
        let at = self.folder.display();
        format!(
            "-F none -i {at}/key -o UserKnownHostsFile={at}/known -o StrictHostKeyChecking=no -o LogLevel=ERROR \
             -o PreferredAuthentications=publickey"
        )
    }
}

/// Says why there are no hosts.
pub(crate) fn skip<T>(why: &str) -> Option<T> {
    let _ = writeln!(std::io::stderr(), "nothing is tested over ssh: {why}");
    None
}

/// A host. Its namespace ends when this value is dropped.
#[derive(Debug)]
pub struct SshHost {
    holder: Child,
    ssh_args: String,
}

impl SshHost {
    /// Makes a host; `None` on machines where that cannot be done, with a message.
    pub fn start(dir: &TestDir) -> Option<Self> {
        let files = HostFiles::write(dir)?;
        let mut hold = Command::new("unshare");
        hold.args(["--mount", "sh", "-ec", HOLD, "sh"]).args(files.words());
        hold.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = hold.spawn().expect("unshare starts");
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let proxy = format!("nsenter --target {} --mount /usr/sbin/sshd -i -f /etc/ssh/config", holder.id());
        let ssh_args =
            format!("{} -o ControlMaster=no -o ControlPath=none -o ProxyCommand='{proxy}'", files.ssh_args());
        let host = Self { holder, ssh_args };
        match line.trim() {
            "ready" => Some(host),
            _ => skip("no mount namespace or no overlay can be made here"),
        }
    }

    /// Returns the options of `ansible-playbook` that lead its tasks to the host.
    pub fn options(&self) -> Vec<String> {
        let mut variables = self.variables();
        variables["ansible_user"] = "root".into();
        vec!["-e".to_owned(), variables.to_string()]
    }

    /// Returns the variables that lead tasks to the host.
    pub fn variables(&self) -> serde_json::Value {
        serde_json::json!({
            "ansible_connection": "ssh",
            "ansible_host": "host.invalid",
            "ansible_ssh_args": self.ssh_args,
        })
    }

    /// Runs a shell command in the host's namespace, and returns what it prints.
    #[track_caller]
    pub fn shell(&self, command: impl AsRef<OsStr>) -> String {
        let pid = self.holder.id().to_string();
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &pid, "--mount", "sh", "-ec"]).arg(command.as_ref());
        let ran = enter.output().expect("nsenter starts");
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}

impl Drop for SshHost {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
