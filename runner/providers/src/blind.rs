//! Tells a provider that answered without having looked.
//!
//! A provider is often a script that asks programs of the system and makes `absent`, `false` or `stopped` of their silence, also where the
//! program is missing or got no answer. What the shell and these programs write to standard error tells it. A provider that
//! sends that away cannot be found out by its output; its condition `suitable` should name its programs.

use crate::log::LogLine;

/// Beginnings of lines by which programs of the system say that they could not ask.
const BEGINNINGS: [&str; 10] = [
    "Failed to connect to bus",
    "Failed to connect to system scope bus",
    "Failed to get D-Bus connection",
    "Failed to list unit",
    "System has not been booted with systemd",
    "dpkg-query: error:",
    "dpkg: error:",
    "error: cannot open Packages",
    "error: failed to open package database",
    "rpmdb: ",
];

/// Ends by which a shell says that it found no program. Of a file that it cannot open it says the same as of one that it cannot start.
const ENDS: [&str; 2] = [": command not found", ": not found"];

/// Returns the line that tells that a provider could not look, if there is one.
pub(crate) fn telling(lines: &[LogLine]) -> Option<&str> {
    let tells =
        |message: &&str| BEGINNINGS.iter().any(|beginning| message.starts_with(beginning)) || is_of_shell(message);
    lines.iter().map(|line| line.message.as_str()).find(tells)
}

/// Returns whether a shell says that it found no program: `x.prov: line 3: systemctl: command not found` of bash,
/// `x.prov: 3: systemctl: not found` of dash.
fn is_of_shell(message: &str) -> bool {
    let Some(rest) = ENDS.iter().find_map(|end| message.strip_suffix(end)) else { return false };
    let mut parts = rest.split(": ");
    let number = parts.nth(1).map(|place| place.strip_prefix("line ").unwrap_or(place));
    let is_line = number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()));
    is_line && parts.next().is_some_and(|program| !program.is_empty()) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::log_lines;

    #[test]
    fn lines_of_shells_and_programs_tell_it() {
        for line in [
            "/x/systemd.prov: line 12: systemctl: command not found",
            "/x/apt.prov: 7: dpkg: not found",
            "Failed to connect to bus: No such file or directory",
            "System has not been booted with systemd as init system (PID 1). Can't operate.",
            "dpkg-query: error: failed to open package info file '/var/lib/dpkg/status'",
        ] {
            let (lines, _) = log_lines(format!("info: begins\n{line}\n").as_bytes());
            assert_eq!(telling(&lines), Some(line));
        }
    }

    #[test]
    fn other_lines_do_not() {
        for line in [
            "warn: the unit x.service is not found",
            "Unit x.service could not be found.",
            "dpkg-query: no packages found matching x",
            "cat: /srv/x: No such file or directory",
            "/x/p.prov: line 4: /srv/state: No such file or directory",
            "the resource: x: not found",
            "x.prov: line a: b: command not found",
            "",
        ] {
            assert_eq!(telling(&log_lines(line.as_bytes()).0), None, "{line}");
        }
    }
}
