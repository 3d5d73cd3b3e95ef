//! Files with private keys that the package `cryptography`, and with it OpenSSL, writes: a play copies none of them by itself, and
//! copies everything else.

use std::fs;
use std::process::Command;

use crate::support::{Modbox, TestDir, module, oracle};

/// Writes files of each kind into `files/`, with keys of its own making. Their names begin with `secret-` or `public-`.
const WRITE: &str = r#"
import datetime, pathlib
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs12

def write(name, data):
    pathlib.Path("files", name).write_bytes(data)

keys = {"rsa": rsa.generate_private_key(65537, 2048), "ec": ec.generate_private_key(ec.SECP256R1()),
        "ed25519": ed25519.Ed25519PrivateKey.generate()}
kinds = {"pkcs8": s.PrivateFormat.PKCS8, "old": s.PrivateFormat.TraditionalOpenSSL, "openssh": s.PrivateFormat.OpenSSH}
encodings = {"pem": s.Encoding.PEM, "der": s.Encoding.DER}
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a")])
start = datetime.datetime(2026, 1, 1)
for kind, key in keys.items():
    for form, written in kinds.items():
        for ending, encoding in encodings.items():
            if form == "openssh" and ending == "der" or form == "old" and kind == "ed25519":
                continue
            for protection in (s.NoEncryption(), s.BestAvailableEncryption(b"pass")):
                locked = "locked-" if type(protection) is not s.NoEncryption else ""
                # The one form cannot be encrypted, and the other needs one more package.
                if locked and (form == "old" and ending == "der" or form == "openssh"):
                    continue
                write(f"secret-{locked}{kind}-{form}.{ending}", key.private_bytes(encoding, written, protection))
    public = key.public_key()
    for ending, encoding in encodings.items():
        write(f"public-{kind}.{ending}", public.public_bytes(encoding, s.PublicFormat.SubjectPublicKeyInfo))
    write(f"public-{kind}.pub", public.public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH))
    digest = None if kind == "ed25519" else hashes.SHA256()
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(public).serial_number(7)
    certificate = builder.not_valid_before(start).not_valid_after(start.replace(year=2036)).sign(key, digest)
    for ending, encoding in encodings.items():
        write(f"public-{kind}-certificate.{ending}", certificate.public_bytes(encoding))
    both = certificate.public_bytes(s.Encoding.PEM) + key.private_bytes(
        s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    write(f"secret-{kind}-after-certificate.pem", both)
    store = pkcs12.serialize_key_and_certificates(b"a", key, certificate, None, s.BestAvailableEncryption(b"pass"))
    write(f"secret-{kind}.p12", store)
rsa_public = keys["rsa"].public_key()
for ending, encoding in encodings.items():
    write(f"public-rsa-pkcs1.{ending}", rsa_public.public_bytes(encoding, s.PublicFormat.PKCS1))
"#;

#[test]
fn files_with_private_keys_are_copied_by_a_grant_alone() {
    let dir = TestDir::new();
    let files = dir.mkdir("files");
    let out = dir.mkdir("out");
    let written = Command::new(oracle::python()).args(["-c", WRITE]).current_dir(dir.path()).output().unwrap();
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let names = |folder: &std::path::Path| {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let all = names(&files);
    let public: Vec<_> = all.iter().filter(|name| name.starts_with("public-")).cloned().collect();
    assert!(public.len() >= 14 && all.len() - public.len() >= 25, "{all:?}");
    let loops = all.join(", ");
    let play = format!(
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - copy: {{src: '{{{{ item }}}}', dest: '{}/'}}\n    \
         loop: [{loops}]\n    ignore_errors: true\n",
        out.display()
    );
    dir.write("play.yml", play);
    let modules = ["copy", "stat"].map(|name| module(name).parent().unwrap().to_owned());
    let play = |options: &[&str]| {
        let play = Modbox::new(&dir).args(["play", "play.yml", "--module-path"]).arg(&modules[0]).args(options);
        play.run().exits_with(0)
    };
    let ran = play(&[]);
    assert_eq!(names(&out), public, "{ran}");
    assert!(ran.stdout_text().contains("it has a private key in it"), "{ran}");
    let files = files.display().to_string();
    play(&["--allow-read", &files]);
    assert_eq!(names(&out), all);
}
