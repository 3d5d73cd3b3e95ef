//! What the arguments of a module say that it will do besides paths: commands that it runs, and hosts that it reaches.
//!
//! A component asks for these only when it runs. Explaining a play names them before.

use modbox_contract::{Dict, Value};
use modbox_policy::Policy;
use modbox_policy::run;
use modbox_vocabulary::{Capability, Denial, Operation, quoting};

/// Arguments that can hold a URL.
const URLS: [&str; 4] = ["url", "src", "repo", "key"];

/// Ports of schemes.
const SCHEMES: [(&str, u16); 4] = [("https://", 443), ("http://", 80), ("ftp://", 21), ("git://", 9418)];

/// Returns the grants that a module will need for what its arguments say. `has_files` tells that files of the run are in
/// the command line, whose places change with each run.
pub(crate) fn of(module: &str, args: &Dict, has_files: bool, policy: &Policy) -> Vec<Denial> {
    let mut needs = Vec::new();
    if policy.allows_everything() {
        return needs;
    }
    if module == "command" {
        needs.extend(
            command(args, has_files).and_then(|(program, arguments)| command_need(&program, &arguments, policy)),
        );
    }
    needs.extend(
        URLS.iter().filter_map(|name| host(args.get(*name)?.as_str()?)).filter_map(|host| net_need(host, policy)),
    );
    needs
}

/// Returns the program and the arguments of a command line.
fn command(args: &Dict, has_files: bool) -> Option<(String, Vec<String>)> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if args.get("_uses_shell").is_some_and(Value::is_truthy) {
        let line = if has_files { "*" } else { text("_raw_params").or_else(|| text("cmd"))? };
        let shell = text("executable").unwrap_or("/bin/sh");
        return Some((shell.to_owned(), vec!["-c".to_owned(), line.to_owned()]));
    }
    let words = match args.get("argv").and_then(Value::as_list) {
        Some(words) => words.iter().map(modbox_python_json::str).collect(),
        None => quoting::split(text("_raw_params").or_else(|| text("cmd"))?).ok()?,
    };
    let mut words = words.into_iter();
    Some((words.next()?, words.collect()))
}

fn command_need(program: &str, arguments: &[String], policy: &Policy) -> Option<Denial> {
    if policy.run_grant(program, arguments).is_some() {
        return None;
    }
    // A word that is a pattern alone stands for any others.
    let rule = match arguments {
        [first, last] if last == "*" => format!("{} *", quoting::join([program, first])),
        _ => run::exactly(program, arguments),
    };
    let (subject, allow) = (run::exactly(program, arguments), run::switch(&rule));
    Some(Denial { capability: Capability::Run, subject, operation: Operation::Run, allow })
}

/// Returns the host and the port of a URL.
fn host(url: &str) -> Option<(String, u16)> {
    let (rest, port) = SCHEMES.iter().find_map(|(scheme, port)| Some((url.strip_prefix(scheme)?, *port)))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit('@').next()?;
    let (name, written) = match place.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => {
            (name, Some(port))
        }
        _ => (place, None),
    };
    let port = written.map_or(Some(port), |port| port.parse().ok())?;
    (!name.is_empty()).then(|| (name.to_owned(), port))
}

fn net_need((host, port): (String, u16), policy: &Policy) -> Option<Denial> {
    let subject = format!("{host}:{port}");
    let is_granted = |rule: String| rule == subject || rule == host || rule == "*" || rule == format!("*:{port}");
    if policy.net().iter().any(|grant| is_granted(grant.rule.to_string())) {
        return None;
    }
    let allow = format!("--allow-net {}", quoting::quote(&subject));
    Some(Denial { capability: Capability::Net, subject, operation: Operation::Argument, allow })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(module: &str, args: &str, has_files: bool) -> Vec<String> {
        let args = modbox_python_json::decode(args).unwrap();
        let found = of(module, args.as_dict().unwrap(), has_files, &Policy::default());
        found.into_iter().map(|denial| denial.allow).collect()
    }

    #[test]
    fn commands_and_hosts_are_named() {
        for (module, args, expect) in [
            (
                "command",
                r#"{"_raw_params": "systemctl restart 'a b'"}"#,
                "--allow-run 'systemctl restart '\"'\"'a b'\"'\"''",
            ),
            ("command", r#"{"argv": ["id", "-u"]}"#, "--allow-run 'id -u'"),
            (
                "command",
                r#"{"_raw_params": "ls | wc", "_uses_shell": true}"#,
                "--allow-run '/bin/sh -c '\"'\"'ls | wc'\"'\"''",
            ),
            ("get_url", r#"{"url": "https://u:p@example.org/x?y", "dest": "/x"}"#, "--allow-net example.org:443"),
            ("get_url", r#"{"url": "http://example.org:8080"}"#, "--allow-net example.org:8080"),
        ] {
            assert_eq!(needs(module, args, false), [expect], "{args}");
        }
        assert_eq!(
            needs("command", r#"{"_raw_params": " x", "_uses_shell": true}"#, true),
            ["--allow-run '/bin/sh -c *'"]
        );
        assert!(needs("copy", r#"{"src": "/etc/motd", "dest": "/x"}"#, false).is_empty());
        assert!(needs("get_url", r#"{"url": "https://"}"#, false).is_empty());
    }
}
