//! A folder with a module, keys and a policy file with trust rules, for the tests of trust.
//!
//! Keys are made of fixed seeds here; `oracle_trust.rs` has those of `ssh-keygen`.

use std::fs;
use std::path::{Path, PathBuf};

use modbox_trust::NAMESPACE;
use modbox_trust::signature_file::SignatureFile;
use modbox_trust::statement::Statement;
use serde_json::Value;
use sha2::{Digest, Sha256};
use ssh_key::private::{Ed25519Keypair, PrivateKey};
use ssh_key::{HashAlg, LineEnding};

use crate::support::{Modbox, TestDir, module};

fn key(seed: u8) -> PrivateKey {
    PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]))
}

pub(crate) fn public(seed: u8) -> String {
    key(seed).public_key().to_openssh().unwrap()
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn statement(module: &Path, name: Option<&str>, version: Option<&str>) -> Statement {
    Statement {
        digest: digest(&fs::read(module).unwrap()),
        file: module.file_name().unwrap().to_str().unwrap().to_owned(),
        name: name.map(str::to_owned),
        version: version.map(str::to_owned),
        requests: None,
        parts: Vec::new(),
    }
}

pub(crate) fn signed(statement: Statement, seeds: &[u8]) -> String {
    let text = statement.to_string();
    SignatureFile { statement, signatures: seeds.iter().map(|seed| armored(*seed, &text)).collect() }.to_string()
}

/// Returns the signature of a text by the key of a seed.
pub(crate) fn armored(seed: u8, text: &str) -> String {
    let signature = key(seed).sign(NAMESPACE, HashAlg::Sha512, text.as_bytes()).unwrap();
    signature.to_pem(LineEnding::LF).unwrap().trim_end().to_owned()
}

/// A folder with a module, keys and a policy file.
pub(crate) struct Place {
    pub(crate) dir: TestDir,
    pub(crate) module: PathBuf,
}

impl Place {
    /// `rules` are the lines of the section `trust` after those of the keys: of `acme` (1) and of `other` (2).
    pub(crate) fn new(rules: &str) -> Self {
        let dir = TestDir::new();
        let path = dir.join("lineinfile.wasm");
        fs::copy(module("lineinfile"), &path).unwrap();
        dir.write("signers", format!("release@acme.example {}\nteam@other.example {}\n", public(1), public(2)));
        dir.write("revoked", "");
        dir.mkdir("app");
        dir.mkdir("elsewhere");
        let place = Self { dir, module: path };
        place.set_rules(rules);
        place
    }

    pub(crate) fn set_rules(&self, rules: &str) {
        let at = self.dir.path().display();
        let text = format!(
            "trust:\n  signers: {at}/signers\n  revoked: {at}/revoked\n{}",
            rules.replace("AT", &at.to_string())
        );
        self.dir.write("policy.yaml", text);
    }

    pub(crate) fn sign(&self, name: Option<&str>, version: Option<&str>, seeds: &[u8]) {
        self.dir.write("lineinfile.wasm.sig", signed(statement(&self.module, name, version), seeds));
    }

    pub(crate) fn run(&self, path: &str, options: &[&str]) -> (i32, Value) {
        let path = format!("path={}", self.dir.join(path).display());
        let ran = Modbox::new(&self.dir).arg("run").arg(&self.module).arg(path).args(["line=x", "create=yes"]);
        let ran =
            ran.arg("--policy").arg(self.dir.join("policy.yaml")).args(["--output", "report"]).args(options).run();
        (ran.status.code().unwrap(), serde_json::from_str(&ran.stdout_text()).unwrap())
    }

    #[track_caller]
    pub(crate) fn runs(&self, path: &str, options: &[&str]) -> Value {
        let (status, report) = self.run(path, options);
        assert_eq!(status, 0, "{report}");
        report
    }

    #[track_caller]
    pub(crate) fn refuses(&self, path: &str, options: &[&str], because: &str) {
        let (status, report) = self.run(path, options);
        let message = report["result"]["msg"].as_str().unwrap();
        assert!(status == 4 && message.contains(because), "{because}: {status} {report}");
        assert!(!self.dir.join(path).exists());
    }
}

/// Rules with a ceiling for `acme`, and one for all that `acme` did not sign.
pub(crate) const CEILING: &str = "  rules:
    - signer: release@acme.example
      modules: ['acme/*']
      at-most: {write: [AT/app], env: [LANG]}
    - unsigned: true
      at-most: {designated: none, read: [AT/app]}
";
