//! Programs from Debian packages that may not be installed on this machine. They are unpacked below the target
//! directory, so that the tests install nothing.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use crate::install::{Prepared, holding, tool};

/// Packages with programs that Ansible's modules start, or with Python packages that they import.
const PACKAGES: [&str; 9] =
    ["createrepo-c", "dnf", "gnupg", "iptables", "python3-apt", "python3-pip-whl", "rpm", "subversion", "systemd"];

/// Packages with programs that modules of collections start.
const OF_COLLECTIONS: [&str; 33] = [
    "acl",
    "at",
    "attr",
    "bzip2",
    "cpanminus",
    "cron",
    "cryptsetup-bin",
    "daemontools",
    "dbus",
    "dconf-cli",
    "dconf-gsettings-backend",
    "e2fsprogs",
    "git",
    "iproute2",
    "kmod",
    "libcap2-bin",
    "locales",
    "lvm2",
    "make",
    "mercurial",
    "openjdk-17-jre-headless",
    "openssh-client",
    "openssl",
    "p7zip-full",
    "parted",
    "patch",
    "python3-gi",
    "python3-psutil",
    "python3-pip",
    "rsync",
    "ruby",
    "runit",
    "xdg-utils",
];

/// Packages with the registry of the distribution project, and with a tool that copies images between registries.
const OF_REGISTRIES: [&str; 2] = ["docker-registry", "skopeo"];

/// Shell script that downloads packages, and their dependencies that the machine lacks, with private package lists, and
/// unpacks them. A top-level directory that is a link on the machine is the same link in the unpacked root.
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

/// Time limit for downloading a hundred megabytes of lists and packages over a slow line.
const INSTALL: Duration = Duration::from_secs(600);

const REMEDY: &str = "the tests take programs that are not here out of packages of this machine's sources, as \
`apt-get --download-only` finds them; that needs, the first time, a network";

/// Returns the root folder with the unpacked programs; `None` if the system has no Debian packages.
pub fn programs() -> Option<PathBuf> {
    static PROGRAMS: LazyLock<Option<Prepared>> = LazyLock::new(|| unpacked("debian-programs", &PACKAGES));
    PROGRAMS.clone().map(|made| made.unwrap_or_else(|error| panic!("{error}")))
}

/// Returns the root folder with the programs that modules of collections start, like [`programs`].
pub fn programs_of_collections() -> Option<PathBuf> {
    static PROGRAMS: LazyLock<Option<Prepared>> =
        LazyLock::new(|| unpacked("debian-programs-of-collections", &OF_COLLECTIONS));
    PROGRAMS.clone().map(|made| made.unwrap_or_else(|error| panic!("{error}")))
}

/// Returns the root folder with a registry and a tool for registries, like [`programs`].
pub fn programs_of_registries() -> Option<PathBuf> {
    static PROGRAMS: LazyLock<Option<Prepared>> =
        LazyLock::new(|| unpacked("debian-programs-of-registries", &OF_REGISTRIES));
    PROGRAMS.clone().map(|made| made.unwrap_or_else(|error| panic!("{error}")))
}

/// Returns the folder with `ssh-keygen`: unpacked, where the machine lacks it.
pub fn ssh_programs() -> PathBuf {
    let unpacked = unpacked("debian-ssh-client", &["openssh-client"]).map(|made| made.unwrap());
    let own = unpacked.map(|root| root.join("usr/bin")).filter(|programs| programs.join("ssh-keygen").exists());
    own.unwrap_or_else(|| PathBuf::from("/usr/bin"))
}

/// Unpacks packages below the folder `name`, once, and returns the root folder with their files. Returns `None` if the
/// system has no Debian packages.
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
    // The scripts of the packages would make these links.
    for name in ["iptables", "ip6tables"] {
        let link = dir.join("root/usr/sbin").join(name);
        if link.with_file_name("xtables-nft-multi").exists() {
            symlink("xtables-nft-multi", link).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}
