//! Real tools of others for registries, from Debian's packages: the registry of the distribution project, and skopeo.
//!
//! The registry of Debian 12 is older than the specification 1.1: it has no referrers API. It speaks no TLS here.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::NO_PAD;

use crate::{debian, stretched, wait_for};

/// Time limit for the start of the registry on an idle machine.
const START: Duration = Duration::from_secs(20);

/// Cost of hashes of passwords: the least, since nothing is secured by them.
const COST: u32 = 4;

/// What the registry logs when its port is open, before the address.
const LISTENING: &str = "listening on ";

/// A running registry. It is killed when this value is dropped.
#[derive(Debug)]
pub struct DockerRegistry {
    child: Child,
    host: String,
}

impl DockerRegistry {
    /// Starts a registry that keeps its content and its log in a folder. With `credentials`, it asks for this user and
    /// password by Basic authentication.
    pub fn start(dir: &Path, credentials: Option<(&str, &str)>) -> Self {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("config.yml"), config(dir, credentials)).unwrap();
        let log = dir.join("log");
        let output = File::create(&log).unwrap();
        let mut command = program("docker-registry");
        command.arg("serve").arg(dir.join("config.yml"));
        command.stdout(output.try_clone().unwrap()).stderr(output);
        let child = command.spawn().unwrap_or_else(|error| panic!("docker-registry does not start: {error}"));
        let mut registry = Self { child, host: String::new() };
        wait_for(stretched(START), || {
            registry.host = listening(&log).unwrap_or_default();
            !registry.host.is_empty() || registry.child.try_wait().unwrap().is_some()
        });
        assert!(!registry.host.is_empty(), "docker-registry: {}", fs::read_to_string(&log).unwrap());
        registry
    }

    /// Returns the host and the port for references.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of skopeo. Most of its libraries are only where [`skopeo_command`] leads it.
pub fn skopeo() -> PathBuf {
    path("skopeo")
}

/// Returns a command of skopeo that uses no configuration of this machine and trusts all signatures. `home` is a folder
/// for its files.
pub fn skopeo_command(home: &Path) -> Command {
    let registries = home.join("registries.conf");
    fs::create_dir_all(home.join("registries.d")).unwrap();
    fs::write(&registries, "").unwrap();
    let mut command = program("skopeo");
    command.env("HOME", home).env("XDG_RUNTIME_DIR", home).env("CONTAINERS_REGISTRIES_CONF", registries);
    command.arg("--insecure-policy").arg("--registries.d").arg(home.join("registries.d"));
    command.arg("--tmpdir").arg(home);
    command
}

/// Returns the address in a log of the registry.
fn listening(log: &Path) -> Option<String> {
    let text = fs::read_to_string(log).ok()?;
    let (_, rest) = text.split_once(LISTENING)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | ':'))?;
    Some(rest[..end].to_owned())
}

/// Returns the configuration of a registry, and writes its passwords. The kernel chooses the port.
fn config(dir: &Path, credentials: Option<(&str, &str)>) -> String {
    let data = dir.join("data");
    let config = format!(
        "version: 0.1\n\
         log: {{accesslog: {{disabled: true}}, level: info, formatter: text}}\n\
         storage: {{filesystem: {{rootdirectory: {data:?}}}, delete: {{enabled: true}}}}\n\
         http: {{addr: '127.0.0.1:0'}}\n"
    );
    let Some((user, password)) = credentials else { return config };
    let file = dir.join("htpasswd");
    fs::write(&file, format!("{user}:{}\n", hash(password))).unwrap();
    format!("{config}auth: {{htpasswd: {{realm: x, path: {file:?}}}}}\n")
}

/// Returns the hash of a password in the form of `htpasswd`, the only one that the registry knows.
fn hash(password: &str) -> String {
    let base64 = GeneralPurpose::new(&base64::alphabet::BCRYPT, NO_PAD);
    let salt = [7; 16];
    // The hash is of the password with its zero, and has a byte less than it is computed with.
    let digest = bcrypt::bcrypt(COST, salt, &[password.as_bytes(), &[0]].concat());
    format!("$2y${COST:02}${}{}", base64.encode(salt), base64.encode(&digest[..23]))
}

/// Returns a command of an unpacked program that finds its libraries and no settings in its environment.
fn program(name: &str) -> Command {
    let libraries = root().join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    let mut command = Command::new(path(name));
    command.env_clear().env("LD_LIBRARY_PATH", libraries).stdin(Stdio::null());
    command
}

fn path(name: &str) -> PathBuf {
    // A package that the machine has is not unpacked.
    let places = [root(), PathBuf::from("/")].map(|root| root.join("usr/bin").join(name));
    let found = places.iter().find(|place| place.exists());
    found.unwrap_or_else(|| panic!("neither of {places:?} exists")).clone()
}

fn root() -> PathBuf {
    debian::programs_of_registries().expect("Debian's packages")
}
