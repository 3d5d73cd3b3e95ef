//! A folder with a registry on this machine, modules and keys, for the tests of registries.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use modbox_registry::digest::Digest;
use modbox_registry::layout::Layout;
use modbox_trust::NAMESPACE;
use modbox_trust::signature_file::SignatureFile;
use modbox_trust::statement::Statement;
use serde_json::Value;
use ssh_key::private::{Ed25519Keypair, PrivateKey};
use ssh_key::{HashAlg, LineEnding};

use crate::support::registry::{Behavior, Registry};
use crate::support::{Modbox, RunOutput, TestDir, printing_module};

/// The store, below the test's folder.
const STORE: &str = "home/.local/share/modbox/registry";

/// A folder with a registry.
pub(crate) struct Place {
    pub(crate) dir: TestDir,
    pub(crate) registry: Registry,
}

impl Place {
    /// With a registry of today, without faults.
    pub(crate) fn new() -> Self {
        Self::of(Behavior { referrers: true, ..Behavior::default() })
    }

    pub(crate) fn of(behavior: Behavior) -> Self {
        Self { dir: TestDir::new(), registry: Registry::new(behavior) }
    }

    /// Returns modbox, which speaks with 127.0.0.1 without TLS.
    pub(crate) fn modbox(&self, args: &[&str]) -> Modbox {
        Modbox::new(&self.dir).env("MODBOX_PLAIN_HTTP", "127.0.0.1").args(args)
    }

    /// Returns the reference of a name with a tag or digest.
    pub(crate) fn reference(&self, rest: &str) -> String {
        format!("oci://{}/{rest}", self.registry.host())
    }

    /// Pushes a module, and returns the digest of its manifest.
    #[track_caller]
    pub(crate) fn push(&self, module: &Path, to: &str) -> String {
        pushed_digest(&self.pushes(module, to).run())
    }

    pub(crate) fn pushes(&self, module: &Path, to: &str) -> Modbox {
        self.modbox(&["push"]).arg(module).arg(self.reference(to))
    }

    /// Pushes the small module with a word, and returns the digest of its manifest.
    #[track_caller]
    pub(crate) fn push_word(&self, word: &str, to: &str) -> String {
        self.push(&self.module(word), to)
    }

    pub(crate) fn pull(&self, from: &str) -> RunOutput {
        self.modbox(&["pull", "--timeout", "20s"]).arg(self.reference(from)).run()
    }

    pub(crate) fn run(&self, module: &str) -> Modbox {
        self.modbox(&["run"]).arg(self.reference(module))
    }

    /// Asserts that a run prints the word of a small module.
    #[track_caller]
    pub(crate) fn runs(&self, module: &str, word: &str) {
        assert_eq!(self.run(module).run().exits_with(0).json()["word"], word);
    }

    /// Writes a small module whose result has a word.
    pub(crate) fn module(&self, word: &str) -> PathBuf {
        let result = format!(r#"{{"changed": false, "word": "{word}"}}"#);
        printing_module(&self.dir, &format!("{word}.wasm"), &result)
    }

    /// Writes the signature file of a module, by keys of seeds.
    pub(crate) fn sign(&self, module: &Path, name: Option<&str>, seeds: &[u8]) {
        let statement = Statement {
            digest: digest_of(module).hex().to_owned(),
            file: module.file_name().unwrap().to_str().unwrap().to_owned(),
            name: name.map(str::to_owned),
            version: None,
            requests: None,
            parts: Vec::new(),
        };
        let text = statement.to_string();
        let sign = |seed: &u8| key(*seed).sign(NAMESPACE, HashAlg::Sha512, text.as_bytes()).unwrap();
        let signatures = seeds.iter().map(|seed| sign(seed).to_pem(LineEnding::LF).unwrap().trim_end().to_owned());
        let file = SignatureFile { signatures: signatures.collect(), statement };
        fs::write(format!("{}.sig", module.display()), file.to_string()).unwrap();
    }

    /// Writes a policy file with rules of the section `trust`. The keys of the seeds 1 and 2 are `acme` and `other`.
    pub(crate) fn trust(&self, rules: &str) {
        let signers = format!("release@acme.example {}\nteam@other.example {}\n", public(1), public(2));
        let signers = self.dir.write("signers", signers);
        self.dir.write("policy.yaml", format!("trust:\n  signers: {}\n{rules}", signers.display()));
    }

    pub(crate) fn store(&self, path: &str) -> PathBuf {
        self.dir.join(STORE).join(path)
    }

    /// Returns the path of content in the store.
    pub(crate) fn blob(&self, digest: &str) -> PathBuf {
        self.store("oci/blobs/sha256").join(digest.trim_start_matches("sha256:"))
    }

    /// Returns the digest of the module that the registry has under a tag.
    pub(crate) fn layer(&self, name: &str, tag: &str) -> String {
        self.manifest(name, tag)["layers"][0]["digest"].as_str().unwrap().to_owned()
    }

    /// Returns a manifest of the registry.
    #[track_caller]
    pub(crate) fn manifest(&self, name: &str, reference: &str) -> Value {
        let bytes = self.registry.manifest(name, reference).unwrap_or_else(|| panic!("{name} has no {reference}"));
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Returns the text of the lock file; empty if there is none.
    pub(crate) fn lock(&self) -> String {
        fs::read_to_string(self.dir.join("modbox.lock")).unwrap_or_default()
    }

    /// Returns the requests so far, as methods and paths.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.registry.requests().iter().map(|request| format!("{} {}", request.method, request.path)).collect()
    }

    /// Asserts that the store has nothing but what a layout has, and that all of it is what its name says. Returns the
    /// digests of the manifests in its index.
    #[track_caller]
    pub(crate) fn assert_store_whole(&self) -> Vec<String> {
        let mut digests = BTreeSet::new();
        for path in files(&self.store("")) {
            let name = path.strip_prefix(self.store("")).unwrap().to_str().unwrap().to_owned();
            // A process that was killed while it wrote: no reader opens such a file, and it is removed when it is old.
            if path.file_name().unwrap().to_str().unwrap().starts_with(".writing-") {
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            if let Some(hex) = name.strip_prefix("oci/blobs/sha256/") {
                assert_eq!(Digest::of(&bytes).hex(), hex);
                digests.insert(format!("sha256:{hex}"));
            } else if let Some(hex) = name.strip_prefix("signatures/").and_then(|name| name.strip_suffix(".sig")) {
                let SignatureFile { statement, .. } = SignatureFile::parse(&bytes).unwrap();
                let own = Digest::of(statement.to_string().as_bytes());
                assert_eq!(hex, format!("{}/{}", statement.digest, own.hex()));
            } else {
                assert!(["oci/oci-layout", "oci/index.json"].contains(&name.as_str()), "{name} is left");
            }
        }
        let index = Layout::at(self.store("oci")).index().unwrap();
        let listed: Vec<String> = index.manifests.iter().map(|manifest| manifest.digest.to_string()).collect();
        assert!(listed.iter().all(|digest| digests.contains(digest)), "{listed:?} {digests:?}");
        listed
    }
}

/// Returns the digest in the reference that a push or a pull has printed.
#[track_caller]
pub(crate) fn pushed_digest(ran: &RunOutput) -> String {
    assert_eq!(ran.status.code(), Some(0), "{ran}");
    let text = ran.stdout_text();
    let (_, digest) = text.trim_end().rsplit_once('@').unwrap_or_else(|| panic!("no digest: {ran}"));
    digest.to_owned()
}

pub(crate) fn digest_of(file: &Path) -> Digest {
    Digest::of(&fs::read(file).unwrap())
}

/// Returns the public key of a seed.
pub(crate) fn public(seed: u8) -> String {
    key(seed).public_key().to_openssh().unwrap()
}

/// Returns the fingerprint of the key of a seed.
pub(crate) fn fingerprint(seed: u8) -> String {
    key(seed).fingerprint(HashAlg::Sha256).to_string()
}

fn key(seed: u8) -> PrivateKey {
    PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]))
}

/// Returns all files below a folder, also those that are not regular.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let below = |path: PathBuf| if path.is_dir() && !path.is_symlink() { files(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}
