//! Modules in a real registry: that of the distribution project as Debian has it, and with skopeo as another client.
//!
//! That registry has no referrers API, so signatures are found by the fallback tag. Signatures are made by `ssh-keygen`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::docker_registry::{DockerRegistry, skopeo_command};
use crate::support::{Modbox, RunOutput, TestDir, debian, module};

const USER: (&str, &str) = ("ann", "hunter2");

/// `ann:hunter2` in base64.
const BASIC: &str = "YW5uOmh1bnRlcjI=";

/// Media type of a list of manifests.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A folder with a registry, a signed module, and two keys.
struct Place {
    registry: DockerRegistry,
    /// The folder of the registry, which outlives what is asserted of the other one.
    registry_dir: TestDir,
    dir: TestDir,
    module: PathBuf,
}

impl Place {
    /// With a registry that asks for [`USER`], and a login for it.
    fn new() -> Self {
        let dir = TestDir::new();
        let registry_dir = TestDir::new();
        let registry = DockerRegistry::start(registry_dir.path(), Some(USER));
        let login = json!({"auths": {registry.host(): {"auth": BASIC}}}).to_string();
        dir.write("docker/config.json", login);
        let module_file = dir.join("lineinfile.wasm");
        fs::copy(module("lineinfile"), &module_file).unwrap();
        let place = Self { registry, registry_dir, dir, module: module_file };
        let signers = ["one", "two"].map(|key| {
            let args = ["-q", "-t", "ed25519", "-N", "", "-C", key, "-f", key];
            let made = std::process::Command::new(keygen()).current_dir(place.dir.path()).args(args).status();
            assert!(made.unwrap().success());
            format!("{key}@acme.example {}", fs::read_to_string(place.dir.join(&format!("{key}.pub"))).unwrap())
        });
        place.dir.write("signers", signers.concat());
        let signers = place.dir.join("signers").display().to_string();
        place.dir.write("policy.yaml", format!("trust: {{signers: {signers}, require-signature: true}}\n"));
        place
    }

    fn modbox(&self, args: &[&str]) -> Modbox {
        let path = format!("{}:/usr/bin:/bin", keygen().parent().unwrap().display());
        let modbox = Modbox::new(&self.dir).env("PATH", path).env("DOCKER_CONFIG", self.dir.join("docker"));
        modbox.env("MODBOX_PLAIN_HTTP", "127.0.0.1").args(args)
    }

    fn reference(&self, rest: &str) -> String {
        format!("oci://{}/{rest}", self.registry.host())
    }

    fn sign(&self, key: &str) {
        let _ = fs::remove_file(format!("{}.sig", self.module.display()));
        let sign = self.modbox(&["sign", "lineinfile.wasm", "--key", key, "--name", "acme/lineinfile"]);
        sign.run().exits_with(0);
    }

    /// Pushes the module, and returns the digest of its manifest.
    #[track_caller]
    fn push(&self, to: &str) -> String {
        let pushed = self.modbox(&["push", "lineinfile.wasm", &self.reference(to)]).run().exits_with(0);
        pushed.stdout_text().trim_end().rsplit_once('@').unwrap().1.to_owned()
    }

    fn pull(&self, from: &str) -> RunOutput {
        self.modbox(&["pull", "--policy", "policy.yaml", &self.reference(from)]).run()
    }

    /// Asserts that the module runs by a reference.
    #[track_caller]
    fn runs(&self, reference: &str) {
        let path = self.dir.join("app.conf");
        let run = self.modbox(&["run", reference, "--policy", "policy.yaml"]);
        let ran = run.json_args(&json!({"path": path, "line": "x", "create": true})).run().exits_with(0);
        assert_eq!(ran.json()["changed"], true);
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\n");
        fs::remove_file(path).unwrap();
    }

    fn store(&self) -> PathBuf {
        self.dir.join("home/.local/share/modbox/registry")
    }

    /// Forgets what was pulled.
    fn forget(&self) {
        fs::remove_dir_all(self.store()).unwrap();
        let _ = fs::remove_file(self.dir.join("modbox.lock"));
    }

    /// Runs skopeo, and returns what it prints.
    #[track_caller]
    fn skopeo(&self, args: &[&str]) -> String {
        let mut command = skopeo_command(&self.dir.mkdir("skopeo"));
        let auth = self.dir.join("docker/config.json");
        let output = command.args(args).arg("--authfile").arg(auth).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the name by which skopeo knows an image of the registry.
    fn image(&self, rest: &str) -> String {
        format!("docker://{}/{rest}", self.registry.host())
    }

    /// Returns a manifest of the registry as skopeo shows it.
    #[track_caller]
    fn raw(&self, rest: &str) -> Value {
        let shown = self.skopeo(&["inspect", "--raw", "--tls-verify=false", &self.image(rest)]);
        serde_json::from_str(&shown).unwrap()
    }
}

fn keygen() -> PathBuf {
    let unpacked = debian::unpacked("debian-ssh-client", &["openssh-client"]).map(|made| made.unwrap());
    let own = unpacked.map(|root| root.join("usr/bin/ssh-keygen")).filter(|program| program.exists());
    own.unwrap_or_else(|| PathBuf::from("/usr/bin/ssh-keygen"))
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_registry_of_debian_takes_and_gives_modules() {
    let place = Place::new();
    place.sign("one");
    let digest = place.push("acme/lineinfile:1.0");
    let named = format!("{}@{digest}", place.reference("acme/lineinfile:1.0"));
    let pulled = place.pull("acme/lineinfile:1.0").exits_with(0).stdout_text();
    assert_eq!(pulled, format!("{named} signed by one@acme.example\n"));
    place.runs(&place.reference("acme/lineinfile:1.0"));
    place.forget();
    place.runs(&place.reference(&format!("acme/lineinfile@{digest}")));
    // A second signature of the same module goes into the same list.
    place.sign("two");
    assert_eq!(place.push("acme/lineinfile:1.0"), digest);
    assert_eq!(place.push("acme/lineinfile:1.1"), digest);
    let list = place.raw(&format!("acme/lineinfile:{}", digest.replace(':', "-")));
    assert_eq!((&list["mediaType"], list["manifests"].as_array().unwrap().len()), (&json!(INDEX), 2), "{list}");
    place.forget();
    let pulled = place.pull("acme/lineinfile:1.0").exits_with(0).stdout_text();
    assert!(pulled.contains("one@acme.example") && pulled.contains("two@acme.example"), "{pulled}");
    place.pull("acme/lineinfile:none").exits_with(3).says("is not there");
    place.pull("acme/none:1").exits_with(3).says("is not there");
    place.dir.assert_nothing_left();
}

#[test]
fn a_registry_of_debian_refuses_wrong_passwords() {
    let place = Place::new();
    place.push("a:1");
    let host = place.registry.host();
    for login in [json!({"username": USER.0, "password": "wrong"}), json!({})] {
        place.dir.write("docker/config.json", json!({"auths": {host: login}}).to_string());
        let advice = format!("log in by `docker login {host}` or `podman login {host}`");
        place.pull("a:1").exits_with(3).says(&advice);
        place.modbox(&["push", "lineinfile.wasm", &place.reference("a:2")]).run().exits_with(3).says(&advice);
    }
    assert!(!place.store().exists());
}

#[test]
fn a_module_is_an_image_for_skopeo() {
    let place = Place::new();
    place.sign("one");
    let digest = place.push("a:1");
    let manifest = place.raw("a:1");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    let layout = format!("oci:{}:a", place.dir.join("layout").display());
    place.skopeo(&["copy", "--src-tls-verify=false", &place.image("a:1"), &layout]);
    let blobs = place.dir.join("layout/blobs/sha256");
    let [config, layer] = [&manifest["config"], &manifest["layers"][0]].map(|content| content["digest"].clone());
    let hex = |digest: &Value| digest.as_str().unwrap().trim_start_matches("sha256:").to_owned();
    let mut expected = vec![hex(&config), hex(&layer), hex(&json!(digest))];
    expected.sort();
    assert_eq!(file_names(&blobs), expected);
    assert_eq!(fs::read(blobs.join(hex(&layer))).unwrap(), fs::read(&place.module).unwrap());
    // A layout that skopeo wrote, in another registry by skopeo.
    place.skopeo(&["copy", "--dest-tls-verify=false", &layout, &place.image("copied/b:2")]);
    let copied = place.reference("copied/b:2");
    let pulled = place.modbox(&["pull", &copied]).run().exits_with(0).stdout_text();
    assert_eq!(pulled, format!("{copied}@{digest}\n"));
    place.pull("copied/b:2").exits_with(4).says("requires a signature");
    place.pull("a:1").exits_with(0);
    place.runs(&place.reference("a:1"));
}

#[test]
fn the_store_is_a_layout_for_skopeo() {
    let place = Place::new();
    place.sign("one");
    let digest = place.push("acme/a:1");
    place.pull("acme/a:1").exits_with(0);
    let name = place.reference("acme/a:1").trim_start_matches("oci://").to_owned();
    let source = format!("oci:{}:{name}", place.store().join("oci").display());
    let raw = place.skopeo(&["inspect", "--raw", &source]);
    assert_eq!(serde_json::from_str::<Value>(&raw).unwrap(), place.raw("acme/a:1"));
    place.skopeo(&["copy", "--dest-tls-verify=false", &source, &place.image("mirror/a:1")]);
    assert_eq!(place.raw("mirror/a:1"), place.raw("acme/a:1"));
    place.forget();
    let mirrored = place.reference(&format!("mirror/a@{digest}"));
    place.modbox(&["pull", &mirrored]).run().exits_with(0);
    let run = place.modbox(&["run", &mirrored, "--check", "path=/x", "line=y", "state=absent"]).run();
    assert_eq!(run.exits_with(0).json()["changed"], false);
}

#[test]
fn a_registry_of_debian_gets_nothing_twice() {
    let place = Place::new();
    place.push("a:1");
    let uploads = || {
        let log = fs::read_to_string(place.registry_dir.join("log")).unwrap();
        log.matches("uploads").count()
    };
    let before = uploads();
    place.push("a:2");
    assert_eq!(uploads(), before);
    place.pull("a:2").exits_with(4);
    let unsigned = place.modbox(&["pull", &place.reference("a:2")]).run().exits_with(0);
    assert!(!unsigned.stdout_text().contains("signed by"));
}
