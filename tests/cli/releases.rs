//! A release, made by `runner/dist/release` of the program under test and two of its modules: the same bytes each time, packages
//! that work where they are unpacked, signatures and checksums that hold.
//!
//! Binaries for other architectures are not built here; `runner/dist/arm64/check` tests the one for Arm.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::{Modbox, TestDir, debian, modbox, module, repository};

const ARCH: &str = std::env::consts::ARCH;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the scripts of a package in a room of its own: folders of the machine are covered by empty ones, and a program notes how
/// AppArmor would be told. `$1` is the unpacked package, `$2` its scripts.
const ROOM: &str = r#"
    set -eu
    for folder in /etc /usr/share /proc/sys/kernel; do mount -t tmpfs none "$folder"; done
    mkdir -p /usr/share/modbox /etc/parser
    cp "$1/usr/share/modbox/apparmor" /usr/share/modbox
    printf '#!/bin/sh\necho "$*" >> /etc/told\nexit 1\n' > /etc/parser/apparmor_parser
    chmod +x /etc/parser/apparmor_parser
    PATH=/etc/parser:$PATH
    profile=/etc/apparmor.d/modbox
    told() { cat /etc/told 2>/dev/null || true; rm -f /etc/told; }
    has() { [ -e "$profile" ] && echo "profile" || echo "no profile"; }

    "$2/postinst" configure; echo "no AppArmor: $(has) $(told)"
    mkdir -p /etc/apparmor.d/abi; touch /proc/sys/kernel/apparmor_restrict_unprivileged_userns /etc/apparmor.d/abi/3.0
    "$2/postinst" configure; echo "AppArmor 3: $(has) $(told)"
    touch /etc/apparmor.d/abi/4.0; rm /proc/sys/kernel/apparmor_restrict_unprivileged_userns
    "$2/postinst" configure; echo "no restriction: $(has) $(told)"
    touch /proc/sys/kernel/apparmor_restrict_unprivileged_userns
    "$2/postinst" abort-upgrade; echo "another word: $(has) $(told)"
    "$2/postinst" configure; echo "Ubuntu: $(has) $(told)"
    cmp "$profile" /usr/share/modbox/apparmor
    "$2/postinst" configure 0.0.1; echo "upgraded: $(has) $(told)"
    "$2/postrm" upgrade; echo "in an upgrade: $(has) $(told)"
    "$2/postrm" remove; echo "removed: $(has) $(told)"
    "$2/postrm" purge; echo "purged: $(has) $(told)"
    echo "profile other {}" > "$profile"
    "$2/postinst" configure; "$2/postrm" remove; echo "another profile: $(cat "$profile") $(told)"
    rm "$profile" /etc/parser/apparmor_parser
    "$2/postinst" configure; echo "without a parser: $(has)"
    "$2/postrm" remove; echo "without a parser: $(has)"
    mount -o remount,ro /etc; rm /usr/share/modbox/apparmor
    "$2/postinst" configure; "$2/postrm" purge; echo "read-only: $?"
"#;

/// What the scripts do in the room. The parser always fails.
const IN_ROOM: &str = "no AppArmor: no profile \nAppArmor 3: no profile \nno restriction: no profile \n\
    another word: no profile \nUbuntu: profile --replace --write-cache /etc/apparmor.d/modbox\n\
    upgraded: profile --replace --write-cache /etc/apparmor.d/modbox\nin an upgrade: profile \n\
    removed: no profile --remove /etc/apparmor.d/modbox\npurged: no profile \nanother profile: profile other {} \n\
    without a parser: profile\nwithout a parser: no profile\nread-only: 0\n";

/// Time limit for packing the program several times on busy processors.
const PACKING: Duration = Duration::from_secs(600);

fn command(dir: &TestDir, program: impl AsRef<Path>) -> Modbox {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", debian::ssh_programs().display());
    Modbox::of(program.as_ref(), dir).env("PATH", path).patience(PACKING)
}

fn release(dir: &TestDir, out: &str) -> Modbox {
    let script = command(dir, repository().join("runner/dist/release")).arg("--out").arg(dir.join(out));
    // Compressing packages would take the most time.
    script
        .args(["--arch", ARCH, "--bills", "no", "--level", "0", "--binary"])
        .arg(format!("{ARCH}={}", modbox().display()))
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_release_is_the_same_each_time_and_works_where_it_is_unpacked() {
    if !Path::new("/usr/bin/dpkg-deb").exists() {
        return;
    }
    let dir = TestDir::new();
    for name in ["ping", "lineinfile"] {
        fs::copy(module(name), dir.mkdir("modules").join(format!("{name}.wasm"))).unwrap();
    }
    let keygen =
        |args: &[&str]| command(&dir, debian::ssh_programs().join("ssh-keygen")).args(args).run().exits_with(0);
    keygen(&["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "key"]);
    let with_key = |out: &str| {
        release(&dir, out)
            .arg("--modules")
            .arg(dir.join("modules"))
            .arg("--key")
            .arg(dir.join("key"))
            .run()
            .exits_with(0)
    };
    with_key("first");
    with_key("second");
    let (first, second) = (contents(&dir.join("first")), contents(&dir.join("second")));
    assert!(first.keys().eq(second.keys()), "{:?} {:?}", first.keys(), second.keys());
    let differing: Vec<&String> =
        first.iter().filter(|(name, bytes)| second[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(differing.is_empty(), "{differing:?}");

    let named = |end: &str| {
        let mut names = first.keys().filter(|name| name.ends_with(end));
        let name = names.next().unwrap_or_else(|| panic!("there is no file *{end} in {:?}", first.keys()));
        dir.join("first").join(name)
    };
    command(&dir, "/usr/bin/sh").args(["-c", "cd first && sha256sum --quiet --check SHA256SUMS"]).run().exits_with(0);
    let public = fs::read_to_string(dir.join("key.pub")).unwrap();
    dir.write("signers", format!("release@acme.example {public}"));
    let verify =
        "ssh-keygen -Y verify -f signers -I release@acme.example -n file -s first/SHA256SUMS.sig <first/SHA256SUMS";
    command(&dir, "/usr/bin/sh").args(["-c", verify]).run().exits_with(0);

    // Packages for the machine, unpacked: a module is found and runs, without Rust, also where only signed ones may.
    let root = dir.mkdir("root");
    let deb_arch = if ARCH == "x86_64" { "amd64.deb" } else { "arm64.deb" };
    for package in
        [named(deb_arch), named(&format!("modules_{VERSION}_all.deb")), named(&format!("runners_{VERSION}_all.deb"))]
    {
        let unpacked = Command::new("dpkg-deb").arg("--extract").args([&package, &root]).status().unwrap();
        assert!(unpacked.success(), "{}", package.display());
    }
    let installed = |args: &[&str]| command(&dir, root.join("usr/bin/modbox")).args(args).run().exits_with(0);
    let (signers, folder) = (dir.join("signers"), dir.path().display().to_string());
    let policy = format!(
        "trust:\n  signers: {}\n  require-signature: true\n  rules:\n    - signer: release@acme.example\n      modules: \
         [\"*\"]\n      at-most: {{write: [{folder}]}}\n",
        signers.display()
    );
    dir.write("home/.config/modbox/policy.yaml", policy);
    assert_eq!(installed(&["run", "ping"]).json()["ping"], "pong");
    installed(&["run", "lineinfile", "path=file", "line=x", "create=yes"]);
    assert_eq!(fs::read_to_string(dir.join("file")).unwrap(), "x\n");
    installed(&["policy", "check", root.join("etc/modbox/policy.yaml").to_str().unwrap()]);
    assert_eq!(fs::read_link(root.join("usr/bin/modbox-python")).unwrap(), Path::new("modbox"));
    let runner = root.join(format!("usr/share/modbox/runners/modbox-linux-{ARCH}"));
    assert_eq!(fs::read(runner).unwrap(), fs::read(modbox()).unwrap());
    let fields = Command::new("dpkg-deb").arg("--info").args([&named(deb_arch)]).arg("conffiles").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&fields.stdout), "/etc/modbox/policy.yaml\n");
    check_profile(&dir, &named(deb_arch), &root);
    let page = Command::new("gzip").arg("-dc").arg(root.join("usr/share/man/man1/modbox.1.gz")).output().unwrap();
    assert!(String::from_utf8_lossy(&page.stdout).contains(".TH modbox"), "{}", String::from_utf8_lossy(&page.stdout));
}

/// Installs and removes the package's AppArmor profile on machines of all sorts.
#[track_caller]
fn check_profile(dir: &TestDir, package: &Path, root: &Path) {
    let scripts = dir.mkdir("control");
    let unpacked = Command::new("dpkg-deb").arg("--control").args([package, &scripts]).status().unwrap();
    assert!(unpacked.success(), "{}", package.display());
    let mut room = Command::new("unshare");
    room.args(["--map-root-user", "--mount", "sh", "-c", ROOM, "sh"]).args([root, &scripts]);
    let ran = room.output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}{errors}");
    assert_eq!(out, IN_ROOM, "{errors}");
}

#[test]
fn what_cannot_become_a_release_is_named() {
    let dir = TestDir::new();
    let says = |modbox: Modbox, text: &str| modbox.run().exits_with(2).says(text);
    says(release(&dir, "out").args(["--arch", "sparc"]), "`sparc` is not x86_64 or aarch64");
    says(release(&dir, "out").args(["--key", "nowhere"]), "there is no file `nowhere`");
    says(release(&dir, "out").args(["--level", "high"]), "`high` is not a number from 0 to 9");
    says(release(&dir, "out").arg("--keys"), "`--keys` is not an option, or has no value");
    dir.write("full/file", "");
    says(release(&dir, "full"), "full` is not empty");
    let other = if ARCH == "x86_64" { "aarch64" } else { "x86_64" };
    let script = command(&dir, repository().join("runner/dist/release")).args(["--arch", other]);
    says(script, "makes the rest; add `--arch");
    assert!(!dir.join("out").exists());
}
