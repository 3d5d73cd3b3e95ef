//! Programs that are in packages of Debian's and may not be on this machine: unpacked below the target directory, so that
//! nothing of the machine is touched.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use crate::install::{Prepared, holding, tool};

/// What modules of Ansible's start, or have Debian's Python import.
const PACKAGES: [&str; 9] =
    ["createrepo-c", "dnf", "gnupg", "iptables", "python3-apt", "python3-pip-whl", "rpm", "subversion", "systemd"];

/// Fetches packages, and what they need and the machine has not, with lists of its own; then unpacks them. Directories of
/// a root are links where they are on the machine.
const UNPACK: &str = r#"
mkdir -p lists/partial archives/partial root/usr
apt() {
    apt-get -q -y -o Dir::State::lists="$PWD/lists" -o Dir::Cache="$PWD" -o Dir::Cache::archives="$PWD/archives" \
        -o Debug::NoLocking=1 -o APT::Sandbox::User=root "$@"
}
# One source of several may fail: what is missing then is told by the next.
apt update || :
apt --no-install-recommends --no-upgrade --download-only install "$@"
for name in bin sbin lib lib32 lib64 libx32; do
    if test -L "/$name"; then
        mkdir -p "root/usr/$name"
        ln -s "usr/$name" "root/$name"
    fi
done
for package in archives/*.deb; do
    # There is none when the machine has all.
    test -e "$package" || continue
    dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --no-same-owner --directory root
done
# As their scripts would.
/usr/bin/python3 -m compileall -q -s root root/usr/lib/python3 || :
rm -rf lists archives ./*.bin
"#;

/// A hundred megabytes of lists and packages over a slow line.
const INSTALL: Duration = Duration::from_secs(600);

const REMEDY: &str = "the tests take programs that are not here out of packages of this machine's sources, as \
`apt-get --download-only` finds them; that needs, the first time, a network";

/// Returns a folder with directories of a root that hold the programs; nothing where there are no packages of Debian's.
pub fn programs() -> Option<PathBuf> {
    static PROGRAMS: LazyLock<Option<Prepared>> = LazyLock::new(|| unpacked("debian-programs", &PACKAGES));
    PROGRAMS.clone().map(|made| made.unwrap_or_else(|error| panic!("{error}")))
}

/// Returns a folder with directories of a root that hold what is in these packages, and is kept under a name; nothing
/// where there are no packages of Debian's.
pub fn unpacked(name: &str, packages: &[&str]) -> Option<Prepared> {
    let has = |program: &str| Path::new("/usr/bin").join(program).exists();
    (has("apt-get") && has("dpkg-deb")).then(|| prepared(name, packages))
}

fn prepared(name: &str, packages: &[&str]) -> Prepared {
    let dir = holding(name, &format!("{packages:?}{UNPACK}"), |dir| {
        unpack(dir, packages).map_err(|error| format!("{error}\n{REMEDY}"))
    });
    Ok(dir?.join("root"))
}

fn unpack(dir: &Path, packages: &[&str]) -> Result<(), String> {
    let mut command = Command::new("sh");
    command.args(["-ec", UNPACK, "sh"]).args(packages).current_dir(dir).env("LC_ALL", "C");
    tool(&mut command, INSTALL)?;
    // What the scripts of packages would do.
    for name in ["iptables", "ip6tables"] {
        let link = dir.join("root/usr/sbin").join(name);
        if link.with_file_name("xtables-nft-multi").exists() {
            symlink("xtables-nft-multi", link).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}
