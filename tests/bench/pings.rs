//! The two modules called `ping` that benchmarks compare.

use std::path::PathBuf;
use std::time::Duration;

use crate::support::{Modbox, TestDir, oracle, repository};

/// Builds modbox's own, with the SDK.
pub(crate) fn module(dir: &TestDir) -> PathBuf {
    let built = Modbox::new(dir)
        .with_toolchain()
        .args(["build".as_ref(), repository().join("modules/ping").as_os_str()])
        .patience(Duration::from_secs(600))
        .run()
        .exits_with(0);
    PathBuf::from(built.stdout_text().trim())
}

/// Has ansible-core assemble its own ping and leave it.
pub(crate) fn ansiballz(dir: &TestDir) -> PathBuf {
    let mut ansible = oracle::ansible(dir, "adhoc");
    ansible.args(["localhost", "-m", "ping"]).env("ANSIBLE_KEEP_REMOTE_FILES", "1");
    let output = ansible.output().expect("ansible starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = dir.join("home/remote-tmp");
    let tasks = std::fs::read_dir(kept).expect("ansible keeps its files");
    tasks
        .flatten()
        .map(|task| task.path().join("AnsiballZ_ping.py"))
        .find(|path| path.is_file())
        .expect("ansible keeps the assembled module")
}
