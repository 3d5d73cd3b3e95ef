//! Hosts that are reached over ssh by TCP, on a network of their own, and the controller beside them: network namespaces with
//! a bridge, in a process namespace that ends with all that was started in it. The machine's network is not used.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;
use serde_json::{Value, json};

use crate::ssh_host::{HostFiles, skip};
use crate::{TestDir, children, fixture, prefixed};

/// Hosts with numbers from 1. Their namespaces end when this value is dropped.
#[derive(Debug)]
pub struct HostNetwork {
    holder: Child,
    files: HostFiles,
    /// The first process of the process namespace.
    first: String,
}

impl HostNetwork {
    /// Makes hosts; `None` on machines where that cannot be done, with a message.
    pub fn start(dir: &TestDir, count: usize) -> Option<Self> {
        let files = HostFiles::write(dir)?;
        let mut hold = Command::new("unshare");
        hold.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-ec"]);
        hold.arg(r#"script=$1; shift; . "$script""#).arg("sh").arg(fixture("support/network.sh"));
        hold.args(files.words()).arg(count.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = hold.spawn().expect("unshare starts");
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let made = line.trim() == "ready";
        let first = children(Pid::from_child(&holder)).first().map(|pid| pid.as_raw_nonzero().to_string());
        let network = Self { holder, files, first: first.unwrap_or_default() };
        if made { Some(network) } else { skip("no namespaces with a bridge or an overlay can be made here") }
    }

    /// Returns the variables that lead tasks to a host.
    pub fn variables(&self, number: usize) -> Value {
        json!({
            "ansible_connection": "ssh",
            "ansible_host": format!("10.9.1.{number}"),
            "ansible_ssh_args": format!("{} -o ControlMaster=auto -o ControlPersist=60s", self.files.ssh_args()),
            "ansible_ssh_control_path_dir": "/run/ssh",
            "ansible_python_interpreter": "/usr/bin/python3",
        })
    }

    /// Returns a command that runs a program beside the hosts, with the environment and the working directory of the
    /// command for it.
    pub fn beside(&self, command: &Command) -> Command {
        let mut entering = Command::new("nsenter");
        entering.args(["--target", &self.first, "--mount", "--net", "--pid", "sh", "-c", r#"cd "$0" && exec "$@""#]);
        entering.arg(command.get_current_dir().unwrap_or_else(|| "/".as_ref())).stdin(Stdio::null());
        prefixed(entering, command)
    }

    /// Runs a shell command on a host, or beside the hosts for the number 0. Returns what it prints.
    #[track_caller]
    pub fn shell(&self, number: usize, command: impl AsRef<OsStr>) -> String {
        let mut shell = Command::new("sh");
        if number > 0 {
            let pid =
                fs::read_to_string(self.files.folder.join(format!("pids/{number}"))).expect("the host has an sshd");
            shell = Command::new("nsenter");
            shell.args(["--target", pid.trim(), "--mount", "--net", "sh"]);
        }
        shell.arg("-ec").arg(command.as_ref()).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let ran = self.beside(&shell).output().expect("nsenter starts");
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}

impl Drop for HostNetwork {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
