//! What runs is what was verified: a signature and a rule by digest cover every file that a run takes from beside a module.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use modbox_closure::Part;
use modbox_trust::core_statement::{CoreFile, CoreStatement};
use modbox_trust::statement::Statement;
use serde_json::{Value, json};

use crate::supply::trust::trust_place::{armored, digest, public, signed, statement};
use crate::support::{Modbox, RunOutput, TestDir, sample};

/// A utility of a small ansible-core, which tells which of its files ran.
pub(crate) const BASIC: &str = "import json\n\n\ndef tell(word):\n    print(json.dumps({'changed': False, 'word': word}))\n    raise SystemExit(0)\n";

/// A utility of the module's author.
pub(crate) const OWN: &str = "WORD = 'honest'\n";

/// A utility that does what it is granted to do, in the place of another.
pub(crate) const HOSTILE: &str = "WORD = 'hostile'\n\n\ndef tell(word):\n    print('{\"changed\": false, \"word\": \"hostile\"}')\n    raise SystemExit(0)\n";

/// A module with a utility of ansible-core and one of its own.
pub(crate) const MODULE: &str =
    "from ansible.module_utils.basic import tell\nfrom ansible.module_utils.own import WORD\n\ntell(WORD)\n";

/// Returns the path of a file of the ansible-core: one that the user has installed.
pub(crate) fn core(file: &str) -> String {
    format!("home/.local/lib/python3.99/site-packages/ansible/{file}")
}

/// A folder with a module, its utility, a small ansible-core, keys and a policy file.
pub(crate) struct Parts {
    pub(crate) dir: TestDir,
}

impl Parts {
    /// `trust` are lines of the section `trust` after the keys: of `acme` (1), who signs modules, and of the operator (2).
    pub(crate) fn new(trust: &str) -> Self {
        let dir = TestDir::new();
        dir.write(&core("release.py"), "__version__ = '2.19.99'\n__author__ = 'test'\n");
        dir.write(&core("module_utils/basic.py"), BASIC);
        dir.write("lib/m.py", MODULE);
        dir.write("lib/module_utils/own.py", OWN);
        dir.write("signers", format!("release@acme.example {}\noperator@site.example {}\n", public(1), public(2)));
        dir.mkdir("signatures");
        let parts = Self { dir };
        parts.policy(trust, "");
        parts
    }

    pub(crate) fn policy(&self, trust: &str, rest: &str) {
        let at = self.dir.path().display();
        let keys = format!("  signers: {at}/signers\n  signatures: {at}/signatures\n");
        self.dir.write("policy.yaml", format!("trust:\n{keys}{trust}{rest}"));
    }

    pub(crate) fn command(&self, words: &[&str]) -> Modbox {
        Modbox::new(&self.dir).own_cache(&self.dir).args(words)
    }

    pub(crate) fn run(&self, options: &[&str]) -> RunOutput {
        let command = self.command(&["run", "--policy", "policy.yaml", "--output", "report"]);
        command.args(options).arg("lib/m.py").run()
    }

    /// Returns the facts about the module, with its parts.
    pub(crate) fn facts(&self) -> Value {
        self.command(&["inspect", "--json", "lib/m.py"]).run().exits_with(0).json()
    }

    /// Returns a statement that lists these parts.
    fn statement(&self, names: &[&str]) -> Statement {
        let part = |name: &&str| {
            let file = match name.strip_prefix("ansible/module_utils/") {
                Some("basic.py") => self.dir.join(&core("module_utils/basic.py")),
                Some(own) => self.dir.join("lib/module_utils").join(own),
                None => self.dir.join("lib").join(name),
            };
            Part::of(*name, &fs::read(file).unwrap())
        };
        let parts = names.iter().map(part).collect();
        Statement { parts, ..statement(&self.dir.join("lib/m.py"), Some("acme/m"), None) }
    }

    pub(crate) fn sign(&self, names: &[&str]) {
        self.dir.write("lib/m.py.sig", signed(self.statement(names), &[1]));
    }

    /// Signs the files of the ansible-core.
    pub(crate) fn sign_core(&self, seed: u8) {
        let basic = fs::read(self.dir.join(&core("module_utils/basic.py"))).unwrap();
        let parts = vec![Part::of("ansible/module_utils/basic.py", &basic)];
        let statement = CoreStatement::new("2.19.99".to_owned(), parts).unwrap();
        let signatures = vec![armored(seed, &statement.to_string())];
        self.dir.write("signatures/ansible-core-2.19.99.sig", CoreFile { statement, signatures }.to_string());
    }

    #[track_caller]
    pub(crate) fn runs(&self) -> Value {
        let report = self.run(&[]).exits_with(0).json();
        assert_eq!(
            (&report["result"]["word"], &report["module"]["signature"]["verified"]),
            (&json!("honest"), &json!(true))
        );
        report
    }

    #[track_caller]
    pub(crate) fn refuses(&self, because: &str) {
        let ran = self.run(&[]);
        let report = ran.exits_with(4).json();
        let message = report["result"]["msg"].as_str().unwrap();
        assert!(message.contains(because) && report["result"]["word"].is_null(), "{because}: {report}");
    }
}

pub(crate) const REQUIRED: &str = "  require-signature: true\n  ansible-core: operator@site.example\n";

pub(crate) const BASIC_NAME: &str = "ansible/module_utils/basic.py";
pub(crate) const OWN_NAME: &str = "ansible/module_utils/own.py";

#[test]
fn a_signature_covers_every_part() {
    let parts = Parts::new(REQUIRED);
    parts.sign(&[BASIC_NAME, OWN_NAME]);
    parts.runs();
    for (path, name) in [
        ("lib/module_utils/own.py", OWN_NAME),
        ("lib/module_utils/basic.py", BASIC_NAME),
        (core("module_utils/basic.py").as_str(), BASIC_NAME),
        ("lib/module_utils/own/__init__.py", "ansible/module_utils/own/__init__.py"),
    ] {
        let before = fs::read_to_string(parts.dir.join(path)).ok();
        parts.dir.write(path, HOSTILE);
        // A package in the place of the listed file leaves that out; every other file is one with other bytes.
        let because = match name.ends_with("__init__.py") {
            true => format!("lacks the part `{OWN_NAME}`"),
            false => format!("the signature does not cover the part `{name}`"),
        };
        parts.refuses(&because);
        match before {
            Some(text) => drop(parts.dir.write(path, text)),
            None => fs::remove_file(parts.dir.join(path)).unwrap(),
        }
        let _ = fs::remove_dir(parts.dir.join("lib/module_utils/own"));
        parts.runs();
    }
    parts.dir.assert_nothing_left();
}

#[test]
fn a_statement_about_the_file_alone_says_what_to_do() {
    let parts = Parts::new(REQUIRED);
    parts.sign(&[]);
    assert!(fs::read_to_string(parts.dir.join("lib/m.py.sig")).unwrap().starts_with("modbox-statement-v1\n"));
    parts.refuses("`modbox sign` signs a module with its parts");
    parts.sign(&[OWN_NAME]);
    parts.refuses("`modbox sign --ansible-core` signs the files of an ansible-core");
    // A module without parts keeps its statement.
    parts.dir.write("lib/m.py", "#!/bin/sh\necho '{\"word\": \"honest\"}'\n");
    parts.sign(&[]);
    parts.runs();
}

#[test]
fn a_release_of_ansible_core_is_vouched_for_once() {
    let parts = Parts::new(REQUIRED);
    parts.sign(&[OWN_NAME]);
    parts.sign_core(1);
    parts.refuses("`release@acme.example` may not vouch for ansible-core");
    parts.sign_core(3);
    parts.refuses("is not listed");
    parts.sign_core(2);
    assert_eq!(parts.runs()["module"]["signature"]["ansible_core"], "2.19.99");
    parts.dir.write(&core("module_utils/basic.py"), format!("{BASIC}\n"));
    parts.refuses(BASIC_NAME);
    parts.dir.write(&core("module_utils/basic.py"), BASIC);
    // It does not vouch for what lies beside a module under the name of one of its files.
    parts.dir.write("lib/module_utils/basic.py", HOSTILE);
    parts.refuses(BASIC_NAME);
    fs::remove_file(parts.dir.join("lib/module_utils/basic.py")).unwrap();
    // Without a signer for it in the policy, no statement counts.
    parts.policy("  require-signature: true\n", "");
    parts.refuses(BASIC_NAME);
}

#[test]
fn a_rule_by_digest_is_for_all_parts() {
    let parts = Parts::new("");
    let closure = parts.run(&[]).exits_with(0).json()["module"]["digest"].as_str().unwrap().to_owned();
    let file = format!("sha256:{}", digest(&fs::read(parts.dir.join("lib/m.py")).unwrap()));
    assert_ne!(closure, file);
    let at = parts.dir.mkdir("granted");
    let granted = |digest: &str| {
        let rule = format!("{{allow: {{write: [{}]}}}}", at.display());
        parts.policy("", &format!("modules:\n  \"{digest}\": {rule}\n"));
        parts.run(&[])
    };
    let has_grant = |ran: RunOutput| {
        let report = ran.exits_with(0).json();
        report["grants"].as_array().unwrap().iter().any(|grant| grant["subject"] == at.display().to_string())
    };
    assert!(has_grant(granted(&closure)));
    let refused = granted(&file).exits_with(4).json();
    let message = refused["result"]["msg"].as_str().unwrap();
    assert!(message.contains("is for the module's file alone") && message.contains(&closure), "{message}");
    parts.dir.write("lib/module_utils/own.py", HOSTILE);
    assert!(!has_grant(granted(&closure)), "another part is another module");
}

#[test]
fn a_revoked_part_revokes_its_modules() {
    let parts = Parts::new(REQUIRED);
    parts.sign(&[BASIC_NAME, OWN_NAME]);
    let closure = parts.runs()["module"]["digest"].as_str().unwrap().to_owned();
    let revoked = parts.dir.join("revoked");
    parts.policy(&format!("{REQUIRED}  revoked: {}\n", revoked.display()), "");
    let of = |path: &str| format!("sha256:{}", digest(&fs::read(parts.dir.join(path)).unwrap()));
    for digest in [closure, of("lib/m.py"), of("lib/module_utils/own.py"), of(&core("module_utils/basic.py"))] {
        parts.dir.write("revoked", digest);
        parts.refuses("is revoked");
    }
}

#[test]
fn jobs_and_batches_take_only_what_was_verified() {
    let parts = Parts::new(REQUIRED);
    parts.sign(&[BASIC_NAME, OWN_NAME]);
    let batch = || {
        let job = "{\"module\": \"lib/m.py\", \"args\": {}}\n";
        let ran = parts.command(&["batch", "--policy", "policy.yaml"]).stdin(format!("{job}{job}")).run();
        ran.stdout_text()
    };
    let preview = || parts.run(&["--preview"]).stdout_text();
    for (text, word) in [(OWN, "honest"), (HOSTILE, "the signature does not cover")] {
        parts.dir.write("lib/module_utils/own.py", text);
        for told in [batch(), preview()] {
            assert!(told.contains(word), "{told}");
            assert!(!told.contains("\"hostile\""), "{told}");
        }
    }
}

/// Parts that are exchanged meanwhile run only as they were signed.
#[test]
fn a_part_that_is_swapped_runs_only_as_it_was_signed() {
    let parts = Parts::new(REQUIRED);
    parts.sign(&[BASIC_NAME, OWN_NAME]);
    let path = parts.dir.join("lib/module_utils/own.py");
    let is_done = AtomicBool::new(false);
    let (mut good, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for text in [HOSTILE, OWN].iter().cycle() {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                parts.dir.write("new.py", text);
                fs::rename(parts.dir.join("new.py"), &path).unwrap();
            }
        });
        for _ in 0..sample::cases(24, 1000) {
            let ran = parts.run(&[]);
            match ran.status.code() {
                Some(0) if ran.stdout_text().contains("\"honest\"") => good += 1,
                Some(3 | 4) => refused += 1,
                _ => {
                    is_done.store(true, Ordering::Relaxed);
                    panic!("{ran}");
                }
            }
            assert!(!ran.stdout_text().contains("\"hostile\""), "{ran}");
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(good > 0 && refused > 0, "{good} {refused}");
}
