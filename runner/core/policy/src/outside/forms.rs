//! The forms of words that kinds accept. Each function reads the whole word: there are no regular expressions, whose `$`
//! accepts a line end at the end.
//!
//! They decide about characters alone. Reserved names are not their business.

use std::net::IpAddr;

use ipnet::IpNet;

/// The most ports or ranges in one word. `iptables` takes 15.
const MAX_PORTS: usize = 15;

/// The system's own folders. No home of a user lies in them, since root runs or reads what they hold.
const SYSTEM_FOLDERS: [&str; 28] = [
    "/bin",
    "/boot",
    "/dev",
    "/efi",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/tmp",
    "/usr",
    "/var/backups",
    "/var/cache",
    "/var/lib/apt",
    "/var/lib/dpkg",
    "/var/lib/polkit-1",
    "/var/lib/rpm",
    "/var/lib/systemd",
    "/var/lock",
    "/var/log",
    "/var/run",
    "/var/spool",
    "/var/tmp",
];

/// Folders that hold homes, and that are not homes themselves.
const PARENTS: [&str; 7] = ["/home", "/media", "/mnt", "/opt", "/srv", "/var", "/var/lib"];

/// Returns whether no character moves a cursor, ends a line or turns the direction of writing.
pub(crate) fn is_printable(word: &str) -> bool {
    let acts = |character: char| {
        character.is_control()
            || matches!(character,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    !word.chars().any(acts)
}

fn all(word: &str, others: &[u8]) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || others.contains(&byte))
}

fn starts(word: &str, others: &[u8]) -> bool {
    word.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || others.contains(&byte))
}

pub(crate) fn is_unit(word: &str) -> bool {
    // `/etc/init.d/<unit>` must stay in its folder.
    all(word, b":_.\\@-") && !matches!(word, "." | "..")
}

/// A name of Debian or of an RPM. What its end would make of it is left out: `x-` removes with `apt-get install`, `x+` installs
/// with `apt-get remove`. `x++` is a name, since neither removes two signs.
pub(crate) fn is_package(word: &str) -> bool {
    let (name, version) = match word.split_once('=') {
        Some((name, version)) => (name, Some(version)),
        None => (word, None),
    };
    let (name, architecture) = match name.split_once(':') {
        Some((name, architecture)) => (name, Some(architecture)),
        None => (name, None),
    };
    is_package_name(name)
        && architecture.is_none_or(|text| !text.is_empty() && all(text, b"-") && starts(text, b"") && ends(text))
        && version.is_none_or(|text| all(text, b".+~:-") && starts(text, b"") && ends(text))
}

fn is_package_name(name: &str) -> bool {
    let stem = name.strip_suffix("++").unwrap_or(name);
    let lower = name.to_ascii_lowercase();
    let is_file =
        [".deb", ".rpm", ".udeb", ".ddeb", ".drpm", ".dsc", ".changes"].iter().any(|end| lower.ends_with(end));
    all(stem, b".+_-") && starts(stem, b"") && ends(stem) && !is_file
}

fn ends(word: &str) -> bool {
    word.bytes().next_back().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// A name and no number: programs take a number for the user that has it.
pub(crate) fn is_user(word: &str) -> bool {
    let begins = word.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    begins && all(word, b"_.-") && word.len() <= 32
}

/// Parts with dots between them. `sysctl` also takes slashes, which would lead out of `/proc/sys`.
pub(crate) fn is_key(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| starts(part, b"_") && all(part, b"_-"))
}

pub(crate) fn is_setting(word: &str) -> bool {
    match word.split_once('=') {
        Some((key, value)) => is_key(key) && !value.is_empty() && all(value, b" ._:,/+-"),
        None => false,
    }
}

/// A name: `modprobe` also takes a path of a file.
pub(crate) fn is_module(word: &str) -> bool {
    starts(word, b"_") && all(word, b"_-")
}

pub(crate) fn is_chain(word: &str) -> bool {
    starts(word, b"_") && all(word, b"_.-")
}

pub(crate) fn is_path(word: &str) -> bool {
    word.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|part| !matches!(part, "" | "." | "..")))
}

pub(crate) fn is_home(word: &str) -> bool {
    let is_below =
        |folder: &str| word.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    // `/etc/passwd` has colons between its fields.
    is_path(word) && !word.contains(':') && !PARENTS.contains(&word) && !SYSTEM_FOLDERS.iter().copied().any(is_below)
}

pub(crate) fn is_input(word: &str) -> bool {
    is_path(word) && !["/dev/", "/proc/", "/sys/"].iter().any(|folder| word.starts_with(folder))
}

/// Returns the number of a user or group. 0 is root's, and the highest one stands for no change.
pub(crate) fn id(word: &str) -> Option<u32> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit()) && !word.starts_with('0');
    word.parse().ok().filter(|id| is_plain && *id != u32::MAX)
}

pub(crate) fn is_date(word: &str) -> bool {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return word.len() <= 6;
    }
    let parts: Vec<&str> = word.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let within = |text: &str, last: u8| text.parse().is_ok_and(|number: u8| (1..=last).contains(&number));
    digits(year, 4) && digits(month, 2) && digits(day, 2) && within(month, 12) && within(day, 31)
}

/// Without `:`, which ends a field of `/etc/shadow`.
pub(crate) fn is_hash(word: &str) -> bool {
    all(word, b"./$!*=,_+-")
}

pub(crate) fn is_zone(word: &str) -> bool {
    word.split('/').count() <= 3 && word.split('/').all(|part| starts(part, b"") && all(part, b"_+-"))
}

pub(crate) fn is_name(word: &str) -> bool {
    starts(word, b"_") && all(word, b"_.,:+~@-") && !word.contains("..")
}

pub(crate) fn is_address(word: &str) -> bool {
    word == "any" || word.parse::<IpAddr>().is_ok() || word.parse::<IpNet>().is_ok()
}

pub(crate) fn is_ports(word: &str) -> bool {
    let (ports, protocol) = match word.split_once('/') {
        Some((ports, protocol)) => (ports, Some(protocol)),
        None => (word, None),
    };
    let port = |text: &str| {
        let is_number = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number && text.parse().is_ok_and(|number: u16| number > 0)
    };
    let range = |text: &str| match text.split_once([':', '-']) {
        Some((first, last)) => port(first) && port(last),
        None => port(text),
    };
    ports.split(',').count() <= MAX_PORTS
        && ports.split(',').all(range)
        && protocol.is_none_or(|protocol| matches!(protocol, "tcp" | "udp"))
}
