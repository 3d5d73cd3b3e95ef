//! Patterns of `hosts`: whether a play is for this host.

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};

use crate::run::options::RunOptions;

/// Says whether patterns mean this host. A pattern with `!` excludes, one with `&` must match, too.
#[must_use]
pub fn matches(options: &RunOptions, groups: &[String], patterns: &[String]) -> bool {
    let parts: Vec<&str> = patterns.iter().flat_map(|pattern| split(pattern)).collect();
    let one = |pattern: &str| matches_one(options, groups, pattern);
    let mut plain = parts.iter().filter(|part| !part.starts_with(['!', '&']));
    let mut found = plain.clone().next().is_none() && !parts.is_empty();
    found |= plain.any(|part| one(part));
    for part in &parts {
        match (part.strip_prefix('!'), part.strip_prefix('&')) {
            (Some(excluded), _) if one(excluded) => return false,
            (_, Some(needed)) if !one(needed) => return false,
            _ => {}
        }
    }
    found
}

/// Splits patterns at commas, else at colons that are not part of an address.
fn split(pattern: &str) -> Vec<&str> {
    let separator = if pattern.contains(',') { ',' } else { ':' };
    if separator == ':' && (pattern.contains("::") || pattern.starts_with('~')) {
        return vec![pattern.trim()];
    }
    pattern.split(separator).map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn matches_one(options: &RunOptions, groups: &[String], pattern: &str) -> bool {
    let pattern = pattern.split('[').next().filter(|base| !base.is_empty()).unwrap_or(pattern);
    if pattern == "all" || pattern == "*" || options.is_this_host(pattern) {
        return true;
    }
    let names = || std::iter::once(&options.host).chain(groups);
    let regex = match pattern.strip_prefix('~') {
        Some(regex) => regex.to_owned(),
        None if pattern.contains(['*', '?']) => glob_to_regex(pattern),
        None => return names().any(|name| name == pattern) || (pattern == "ungrouped" && groups.is_empty()),
    };
    let Ok(regex) = Pattern::new(&regex, Subject::Text, Flags::default()) else { return false };
    names().any(|name| {
        let found = regex.search(name.as_bytes()).ok().flatten();
        found.and_then(|found| found.span(0)).is_some_and(|(start, _)| start == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_hosts_and_groups() {
        let check = |patterns: &[&str], expect: bool| {
            let options = RunOptions { host: "web1.example".to_owned(), ..RunOptions::default() };
            let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            assert_eq!(matches(&options, &["web".to_owned()], &patterns), expect, "{patterns:?}");
        };
        check(&["all"], true);
        check(&["localhost"], true);
        check(&["127.0.0.1"], true);
        check(&["web"], true);
        check(&["db"], false);
        check(&["db", "web"], true);
        check(&["db:web"], true);
        check(&["db,web1.example"], true);
        check(&["web*"], true);
        check(&["all:!web"], false);
        check(&["all:&db"], false);
        check(&["all:&web"], true);
        check(&["~web\\d"], true);
        check(&["!db"], true);
        check(&[""], false);
    }
}
