//! The kernel, the machine's name and id, its variables and DNS servers.

use modbox_sdk::{Dict, Value};

use crate::source::{Facts, text};

/// Returns kernel and architecture. The full host name, which needs a resolver, and Python's version are missing.
pub(crate) fn platform() -> Dict {
    let mut facts = Facts::default();
    facts.put_known("system", text("/proc/sys/kernel/ostype"));
    facts.put_known("kernel", text("/proc/sys/kernel/osrelease"));
    facts.put_known("kernel_version", text("/proc/sys/kernel/version"));
    let machine = text("/proc/sys/kernel/arch");
    facts.put_known("machine", machine.clone());
    facts.put_known("architecture", machine);
    if let Some(name) = text("/proc/sys/kernel/hostname").or_else(|| text("/etc/hostname")) {
        facts.put("hostname", name.split('.').next().unwrap_or_default());
        facts.put("nodename", name);
    }
    let number = text("/var/lib/dbus/machine-id").or_else(|| text("/etc/machine-id"));
    facts.put_known("machine_id", number.as_deref().and_then(|number| number.lines().next()));
    facts.0
}

/// Returns the granted variables.
pub(crate) fn environment() -> Dict {
    let variable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        (name.to_string_lossy().into_owned(), Value::from(value.to_string_lossy()))
    };
    let mut facts = Facts::default();
    facts.put("env", std::env::vars_os().map(variable).collect::<Dict>());
    facts.0
}

/// Returns the kernel's command line.
pub(crate) fn command_line() -> Dict {
    let mut facts = Facts::default();
    let Some(line) = text("/proc/cmdline") else { return facts.0 };
    let (mut last, mut every) = (Dict::new(), Dict::new());
    for piece in pieces(&line).unwrap_or_default() {
        let Some((name, value)) = piece.split_once('=') else {
            last.insert(piece.clone(), true.into());
            every.insert(piece, true.into());
            continue;
        };
        last.insert(name.to_owned(), value.into());
        let all = match every.shift_remove(name) {
            None => value.into(),
            Some(Value::List(mut before)) => {
                before.push(value.into());
                Value::List(before)
            }
            Some(before) => Value::List(vec![before, value.into()]),
        };
        every.insert(name.to_owned(), all);
    }
    facts.put("cmdline", last);
    facts.put("proc_cmdline", every);
    facts.0
}

/// Splits a line into words. Quotes keep words together, and stay.
fn pieces(line: &str) -> Option<Vec<String>> {
    let (mut pieces, mut piece, mut open) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match open {
            Some(quote) if c == quote => open = None,
            None if c == '"' || c == '\'' => open = Some(c),
            None if c.is_whitespace() => {
                if !piece.is_empty() {
                    pieces.push(std::mem::take(&mut piece));
                }
                continue;
            }
            _ => {}
        }
        piece.push(c);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    open.is_none().then_some(pieces)
}

/// Returns whether FIPS mode is on, if the kernel tells.
pub(crate) fn fips() -> Dict {
    let mut facts = Facts::default();
    facts.put_known("fips", text("/proc/sys/crypto/fips_enabled").map(|enabled| enabled == "1"));
    facts.0
}

/// Returns the DNS configuration.
pub(crate) fn dns() -> Dict {
    let mut facts = Facts::default();
    let Some(configuration) = text("/etc/resolv.conf") else { return facts.0 };
    let mut dns = Dict::new();
    let list = |words: &[&str]| words.iter().map(|&word| Value::from(word)).collect::<Vec<_>>();
    for line in configuration.lines().filter(|line| !line.starts_with(['#', ';'])) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.split_first() {
            Some((&"nameserver", servers)) => {
                let mut all = match dns.shift_remove("nameservers") {
                    Some(Value::List(before)) => before,
                    _ => Vec::new(),
                };
                all.extend(list(servers));
                dns.insert("nameservers".to_owned(), all.into());
            }
            Some((&"domain", [domain, ..])) => drop(dns.insert("domain".to_owned(), (*domain).into())),
            Some((&key, words)) if matches!(key, "search" | "sortlist") => {
                drop(dns.insert(key.to_owned(), list(words).into()))
            }
            Some((&"options", options)) => {
                let one = |option: &&str| match option.split_once(':') {
                    Some((name, value)) => (name.to_owned(), Value::from(value)),
                    None => ((*option).to_owned(), true.into()),
                };
                dns.insert("options".to_owned(), options.iter().map(one).collect::<Dict>().into());
            }
            _ => {}
        }
    }
    facts.put("dns", dns);
    facts.0
}

pub(crate) fn load() -> Dict {
    let mut facts = Facts::default();
    let Some(line) = text("/proc/loadavg") else { return facts.0 };
    let numbers: Vec<f64> = line.split(' ').take(3).filter_map(|number| number.parse().ok()).collect();
    if let [one, five, fifteen] = numbers[..] {
        facts.put("loadavg", Value::from([("1m", one), ("5m", five), ("15m", fifteen)]));
    }
    facts.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_cut_as_python_cuts_it() {
        assert_eq!(pieces(" a=1  b \"c d\" e='f g'h ").unwrap(), ["a=1", "b", "\"c d\"", "e='f g'h"]);
        assert_eq!(pieces("a \"b"), None);
    }
}
