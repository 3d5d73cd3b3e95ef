//! Signatures, keys and certificates count where they count for OpenSSH's `ssh-keygen -Y verify`, and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::ansible::oracle_collection::{install, play};
use crate::python::python_closure;
use crate::support::{Modbox, TestDir, debian, modbox, module, oracle};

/// The name of the signer that `ssh-keygen` is asked for.
const NAME: &str = "release@acme.example";

/// A folder with keys of `ssh-keygen` and a module.
struct Place {
    dir: TestDir,
    programs: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = TestDir::new();
        let place = Self { dir, programs: debian::ssh_programs() };
        place.dir.write("module", "#!/bin/sh\necho '{}'\n");
        for (name, kind) in
            [("ed", "ed25519"), ("ec", "ecdsa"), ("ca", "ed25519"), ("other", "ed25519"), ("rsa", "rsa")]
        {
            place.keygen(&["-q", "-t", kind, "-N", "", "-C", name, "-f", name]);
        }
        place
    }

    fn keygen(&self, args: &[&str]) {
        let done = self.command().args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.programs.join("ssh-keygen"));
        command.current_dir(self.dir.path()).env("TZ", "UTC").stdin(Stdio::null());
        command
    }

    fn modbox(&self) -> Modbox {
        let path = format!("{}:/usr/bin:/bin", self.programs.display());
        Modbox::new(&self.dir).env("PATH", path).env("TZ", "UTC")
    }

    fn public(&self, key: &str) -> String {
        fs::read_to_string(self.dir.join(&format!("{key}.pub"))).unwrap().trim().to_owned()
    }

    /// Signs the module anew, in a namespace.
    fn sign(&self, key: &str, namespace: &str) {
        let _ = fs::remove_file(self.dir.join("module.sig"));
        let is_ours = namespace == "module@modbox" && !key.contains("cert");
        let own = if is_ours { key } else { "other" };
        self.modbox().args(["sign", "module", "--key", own, "--name", "acme/module"]).run().exits_with(0);
        if !is_ours {
            let (statement, _) = self.parts();
            self.dir.write("statement", &statement);
            let _ = fs::remove_file(self.dir.join("statement.sig"));
            self.keygen(&["-q", "-Y", "sign", "-n", namespace, "-f", key, "statement"]);
            let signature = fs::read_to_string(self.dir.join("statement.sig")).unwrap();
            self.dir.write("module.sig", statement + &signature);
        }
    }

    /// Returns the statement and its first signature.
    fn parts(&self) -> (String, String) {
        let text = fs::read_to_string(self.dir.join("module.sig")).unwrap();
        let (statement, rest) = text.split_at(text.find("-----BEGIN").unwrap());
        (statement.to_owned(), rest.to_owned())
    }

    /// Returns whether the signature counts for both, which must agree.
    #[track_caller]
    fn counts(&self, signers: &str) -> bool {
        self.dir.write("signers", signers);
        let (statement, signature) = self.parts();
        self.dir.write("signature", signature);
        self.dir.write("statement", statement);
        let mut theirs = self.command();
        theirs.args(["-Y", "verify", "-n", "module@modbox", "-f", "signers", "-I", NAME, "-s", "signature"]);
        let theirs = theirs.stdin(fs::File::open(self.dir.join("statement")).unwrap()).output().unwrap();
        let ours = self.modbox().args(["verify", "module", "--signers", "signers", "--signer", NAME]).run();
        assert!([Some(0), Some(2), Some(4)].contains(&ours.status.code()), "{ours}");
        let counts = ours.status.success();
        let said = String::from_utf8_lossy(&theirs.stderr);
        assert_eq!(counts, theirs.status.success(), "{signers}\n{said}\n{ours}");
        counts
    }
}

/// Options of a line of `allowed_signers`, and whether a plain key counts with them.
const OPTIONS: [(&str, bool); 12] = [
    ("", true),
    ("namespaces=\"module@modbox\"", true),
    ("namespaces=\"git,module@*\"", true),
    ("namespaces=\"git\"", false),
    ("namespaces=\"*,!module@modbox\"", false),
    ("valid-after=\"20200101\"", true),
    ("valid-after=\"20991231\"", false),
    ("valid-before=\"20991231235959Z\"", true),
    ("valid-before=\"202001010000\"", false),
    ("valid-after=\"20200101\",valid-before=\"20990101\",namespaces=\"module@modbox\"", true),
    ("valid-before=\"soon\"", false),
    ("no-such-option", false),
];

/// Names of a line, and whether they are those of the signer.
const NAMES: [(&str, bool); 7] = [
    (NAME, true),
    ("other@acme.example", false),
    ("other@acme.example,release@acme.example", true),
    ("*@acme.example", true),
    ("\"*@acme.example,!release@acme.example\"", false),
    ("*", true),
    ("release@acme.exampl", false),
];

#[test]
fn keys_and_their_lines_count_as_for_ssh_keygen() {
    let place = Place::new();
    for key in ["ed", "ec"] {
        place.sign(key, "module@modbox");
        let public = place.public(key);
        for (options, expect) in OPTIONS {
            assert_eq!(place.counts(&format!("{NAME} {options} {public}\n")), expect, "{options}");
        }
        for (names, expect) in NAMES {
            assert_eq!(place.counts(&format!("{names} {public}\n")), expect, "{names}");
        }
        assert!(!place.counts(&format!("{NAME} {}\n", place.public("other"))));
        assert!(!place.counts(&format!("{NAME} cert-authority {public}\n")));
        assert!(place.counts(&format!("# comment\n\n{NAME} {}\n  {NAME} {public}\n", place.public("other"))));
        for namespace in ["git", "file", "module@modbox2"] {
            place.sign(key, namespace);
            assert!(!place.counts(&format!("{NAME} {public}\n")), "{namespace}");
        }
    }
    place.dir.assert_nothing_left();
}

#[test]
fn certificates_count_as_for_ssh_keygen() {
    let place = Place::new();
    let ca = place.public("ca");
    // Of a certificate: its options, and whether it counts under an authority for all names.
    let certificates: [(&[&str], bool); 7] = [
        (&["-n", NAME], true),
        (&["-n", "other@acme.example,release@acme.example"], true),
        (&["-n", "other@acme.example"], false),
        (&["-n", NAME, "-V", "20200101:20990101"], true),
        (&["-n", NAME, "-V", "20200101:20210101"], false),
        (&["-n", NAME, "-V", "20980101:20990101"], false),
        (&["-n", NAME, "-h"], false),
    ];
    for key in ["ed", "ec"] {
        for (options, expect) in certificates {
            let public = format!("{key}.pub");
            place.keygen(&[&["-q", "-s", "ca", "-I", "id"], options, &[&public]].concat());
            place.sign(&format!("{key}-cert.pub"), "module@modbox");
            assert_eq!(place.counts(&format!("* cert-authority {ca}\n")), expect, "{options:?}");
            assert_eq!(place.counts(&format!("*@acme.example cert-authority {ca}\n")), expect, "{options:?}");
            assert!(!place.counts(&format!("*@other.example cert-authority {ca}\n")), "{options:?}");
            assert!(!place.counts(&format!("* cert-authority {}\n", place.public("other"))), "{options:?}");
            assert!(!place.counts(&format!("* {ca}\n")), "{options:?}");
        }
    }
    place.dir.assert_nothing_left();
}

#[test]
fn damaged_and_foreign_signatures_count_for_neither() {
    let place = Place::new();
    place.sign("ed", "module@modbox");
    let line = format!("{NAME} {}\n", place.public("ed"));
    assert!(place.counts(&line));
    let (statement, signature) = place.parts();
    let write =
        |statement: &str, signature: &str| drop(place.dir.write("module.sig", format!("{statement}{signature}")));
    write(&statement.replace("acme", "evil"), &signature);
    assert!(!place.counts(&line));
    let lines: Vec<&str> = signature.lines().collect();
    for number in 1..lines.len() - 1 {
        let mut damaged = lines.clone();
        let changed: String = damaged[number].chars().rev().collect();
        damaged[number] = &changed;
        write(&statement, &(damaged.join("\n") + "\n"));
        assert!(!place.counts(&line), "line {number}");
    }
    // The module is another one than the one that was signed: `ssh-keygen` knows nothing of modules.
    write(&statement, &signature);
    place.dir.write("module", "#!/bin/sh\necho '{\"changed\": true}'\n");
    let ours = place.modbox().args(["verify", "module", "--signers", "signers"]).run().exits_with(4);
    assert!(ours.stdout_text().contains("the signature is one of sha256:"), "{ours}");
}

/// A signature goes from the author's file through a collection and a task to the host, whose rules judge it: also of a job,
/// and also of Ansible's own Python modules, whose signatures are on the host.
#[test]
fn a_signed_collection_is_judged_by_the_rules_of_the_host() {
    let place = Place::new();
    let dir = &place.dir;
    for name in ["lineinfile", "ping"] {
        fs::copy(module(name), dir.join(&format!("{name}.wasm"))).unwrap();
    }
    place
        .modbox()
        .args(["sign", "./lineinfile.wasm", "--key", "ed", "--name", "modbox/lineinfile"])
        .run()
        .exits_with(0);
    let build =
        || Modbox::new(dir).args(["collection", "build", "--output", "out", "./lineinfile.wasm", "./ping.wasm"]);
    let archive = build().run().exits_with(0).stdout_text().trim_end().to_owned();
    install(oracle::version(), dir, &[PathBuf::from(archive)]);
    let (at, line) = (dir.path().display(), format!("{NAME} {}\n", place.public("ed")));
    dir.write("signers", line);
    dir.mkdir("app");
    let rules = format!("rules: [{{signer: '{NAME}', modules: ['modbox/*'], at-most: {{write: [{at}/app]}}}}]");
    let trust = format!("trust:\n  signers: {at}/signers\n  require-signature: true\n  signatures: {at}/signatures\n");
    dir.write("home/.config/modbox/policy.yaml", format!("{trust}  {rules}\n"));
    let executable = format!("modbox_executable={}", modbox().display());
    let line = |path: &str| json!({"path": dir.join(path), "line": "x", "create": true});
    let link = dir.mkdir("bin").join("modbox-python");
    std::os::unix::fs::symlink(modbox(), &link).unwrap();
    let by_modbox = json!({"ansible_python_interpreter": link});
    let tasks = [
        json!({"modbox.modbox.lineinfile": line("app/a")}),
        json!({"modbox.modbox.lineinfile": line("elsewhere")}),
        json!({"modbox.modbox.ping": {}}),
        json!({"modbox.modbox.lineinfile": line("app/b"), "async": 60, "poll": 1}),
        json!({"ansible.builtin.ping": {}, "vars": by_modbox}),
    ];
    let results = play(oracle::version(), dir, &tasks, &["-e", &executable]);
    let said = |number: usize| results[number]["msg"].as_str().unwrap_or_default();
    assert_eq!((&results[0]["changed"], &results[3]["changed"]), (&true.into(), &true.into()), "{results:?}");
    assert!(said(1).contains("release@acme.example may not be given write"), "{results:?}");
    assert!(said(2).contains("requires a signature of the module, and none counts"), "{results:?}");
    assert!(said(4).contains("requires a signature of the module, and none counts"), "{results:?}");

    // The statement of a Python module is about its source; the parts that came with it are ansible-core's, whose operator vouches for
    // them once.
    let package = python_closure::package(&oracle::python());
    fs::copy(package.join("modules/ping.py"), dir.join("ping.py")).unwrap();
    let sign = |words: &[&str]| {
        place.modbox().args(["sign", "--key", "ed"]).args(words).run().exits_with(0);
    };
    let python = format!("python={}", oracle::python().display());
    sign(&["./ping.py", "--name", "modbox/ping", "--interpreter", &python]);
    let signed = fs::read_to_string(dir.join("ping.py.sig")).unwrap();
    let digest = &signed.lines().nth(1).unwrap()["sha256:".len()..][..64];
    dir.write(&format!("signatures/{digest}.sig"), &signed);
    let results = play(oracle::version(), dir, &tasks[4..], &["-e", &executable]);
    let message = results[0]["msg"].as_str().unwrap_or_default();
    assert!(message.contains("`modbox sign --ansible-core`"), "{results:?}");
    sign(&[&format!("--ansible-core={}", package.display())]);
    let release = format!("ansible-core-{}.sig", oracle::version());
    fs::copy(dir.join(&release), dir.join("signatures").join(&release)).unwrap();
    let by_operator = format!("{trust}  ansible-core: {NAME}\n  {rules}\n");
    dir.write("home/.config/modbox/policy.yaml", by_operator);
    let results = play(oracle::version(), dir, &tasks[4..], &["-e", &executable]);
    assert_eq!(results[0]["ping"], "pong", "{results:?}");

    // A signature of other bytes is not put into a collection.
    fs::copy(dir.join("lineinfile.wasm.sig"), dir.join("ping.wasm.sig")).unwrap();
    let refused = build().run().exits_with(3);
    assert!(refused.stderr_text().contains("is a signature of other bytes"), "{refused}");
}

#[test]
fn keys_that_cannot_sign_are_refused_with_a_remedy() {
    let place = Place::new();
    let sign = |key: &str| place.modbox().args(["sign", "module", "--key", key]).run();
    let refused = sign("rsa").exits_with(3);
    assert!(refused.stderr_text().contains("sign with a key of the type ssh-ed25519"), "{refused}");
    let missing = sign("none").exits_with(3);
    assert!(missing.stderr_text().contains("did not sign"), "{missing}");
    assert!(!Path::new(&place.dir.join("module.sig")).exists());
    let without = Modbox::new(&place.dir).env("PATH", place.dir.path()).args(["sign", "module", "--key", "ed"]).run();
    assert!(without.exits_with(3).stderr_text().contains("apt install openssh-client"));
    sign("ed").exits_with(0);
    let again = sign("ed").exits_with(0);
    assert!(again.stderr_text().contains("has a signature by this key already"), "{again}");
    sign("ec").exits_with(0);
    place.keygen(&["-q", "-s", "ca", "-I", "id", "-n", NAME, "other.pub"]);
    sign("other-cert.pub").exits_with(0);
    let text = fs::read_to_string(place.dir.join("module.sig")).unwrap();
    assert_eq!(text.matches("-----BEGIN").count(), 3);
    let other = place.modbox().args(["sign", "module", "--key", "ed", "--name", "acme/other"]).run().exits_with(3);
    assert!(other.stderr_text().contains("has another statement of this module"), "{other}");
    place.dir.assert_nothing_left();
}
