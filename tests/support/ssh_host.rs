//! A host that is reached over ssh: a mount namespace of this machine with homes and temporary folders of its own. Each
//! connection starts an `sshd` in it that talks over a pipe, so no port is opened.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{TestDir, debian};

/// The user that tasks become.
const USERS: &str = "\
root:x:0:0::/srv/root:/bin/sh
sshd:x:64999:65534::/run/sshd:/usr/sbin/nologin
app:x:64998:65534::/srv/app:/bin/sh
";

const PASSWORDS: &str = "root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\napp:*:19000:0:99999:7:::\n";

/// Makes the namespace, says so, and holds it until standard input ends.
const HOLD: &str = r#"
mount --make-rprivate /
for folder in /srv /run /var/tmp; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
chmod 1777 /var/tmp
mkdir -p /run/sshd /srv/root /srv/app
chmod 700 /srv/root /srv/app
chown 64998 /srv/app
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/shadow" /etc/shadow
echo ready
cat >/dev/null
"#;

/// A host. Its namespace ends when this value is dropped.
#[derive(Debug)]
pub struct SshHost {
    holder: Child,
    dir: PathBuf,
    proxy: String,
}

impl SshHost {
    /// Makes a host; `None` on machines where that cannot be done, with a message.
    pub fn start(dir: &TestDir) -> Option<Self> {
        let skip = |why: &str| {
            let _ = writeln!(std::io::stderr(), "nothing is tested over ssh: {why}");
            None
        };
        if !rustix::process::geteuid().is_root() {
            return skip("that needs root");
        }
        let Some(unpacked) = debian::unpacked("debian-ssh", &["openssh-server", "openssh-client"]) else {
            return skip("there are no Debian packages");
        };
        let unpacked = unpacked.unwrap_or_else(|error| panic!("{error}"));
        let folder = dir.mkdir("ssh");
        let host = |name: &str, text: &str| {
            fs::write(folder.join(name), text).unwrap();
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o644)).unwrap();
        };
        host("passwd", USERS);
        host("shadow", PASSWORDS);
        let program = |name: &str| {
            let found = unpacked.join(name);
            if found.exists() { found } else { Path::new("/").join(name) }
        };
        let libraries = format!("{0}/usr/lib/x86_64-linux-gnu:{0}/usr/lib/aarch64-linux-gnu", unpacked.display());
        for key in ["host_key", "key"] {
            let mut make = Command::new(program("usr/bin/ssh-keygen"));
            make.env("LD_LIBRARY_PATH", &libraries).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key));
            assert!(make.status().unwrap().success());
        }
        let at = folder.display();
        host(
            "config",
            &format!(
                "HostKey {at}/host_key\nAuthorizedKeysFile {at}/key.pub\nStrictModes no\nUsePAM no\nPidFile none\n\
                 PermitRootLogin yes\nSubsystem sftp internal-sftp\nSetEnv PATH=/usr/bin:/bin\n"
            ),
        );
        let mut hold = Command::new("unshare");
        hold.args(["--mount", "sh", "-ec", HOLD, "sh"]).arg(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = hold.spawn().expect("unshare starts");
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = holder.id();
        let host = Self {
            holder,
            dir: folder.clone(),
            proxy: format!(
                "env LD_LIBRARY_PATH={libraries} nsenter --target {pid} --mount {} -i -f {at}/config",
                program("usr/sbin/sshd").display()
            ),
        };
        match line.trim() {
            "ready" => Some(host),
            _ => skip("no mount namespace can be made here"),
        }
    }

    /// Returns the options of `ansible-playbook` that lead its tasks to the host.
    pub fn options(&self) -> Vec<String> {
        let at = self.dir.display();
        let arguments = format!(
            "-F none -i {at}/key -o UserKnownHostsFile={at}/known -o StrictHostKeyChecking=no -o ControlMaster=no \
             -o ControlPath=none -o LogLevel=ERROR -o ProxyCommand='{}'",
            self.proxy
        );
        let variables = serde_json::json!({
            "ansible_connection": "ssh",
            "ansible_host": "host.invalid",
            "ansible_user": "root",
            "ansible_ssh_args": arguments,
        });
        vec!["-e".to_owned(), variables.to_string()]
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
