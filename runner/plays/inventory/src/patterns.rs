//! Patterns of hosts, as those of `hosts`, over the groups of an inventory.

use indexmap::{IndexMap, IndexSet};
use modbox_python_re::{Flags, Pattern, PatternError, Subject, glob_to_regex};

/// Groups with their hosts.
pub type Groups = IndexMap<String, Vec<String>>;

/// Returns the hosts that patterns mean, in the order of the inventory.
///
/// # Errors
///
/// A pattern is malformed.
pub fn hosts(groups: &Groups, patterns: &[String]) -> Result<Vec<String>, PatternError> {
    let parts: Vec<String> = patterns.iter().flat_map(|pattern| split(pattern)).collect();
    let (mut regular, mut needed, mut excluded) = (Vec::new(), Vec::new(), Vec::new());
    for part in &parts {
        match part.chars().next() {
            Some('!') => excluded.push(&part[1..]),
            Some('&') => needed.push(&part[1..]),
            _ => regular.push(part.as_str()),
        }
    }
    if regular.is_empty() {
        regular.push("all");
    }
    let inventory = Inventory { groups, hosts: groups.values().flatten().cloned().collect() };
    let mut found: IndexSet<String> = IndexSet::new();
    for part in regular {
        found.extend(inventory.matching(part)?);
    }
    for part in needed {
        let matching = inventory.matching(part)?;
        found.retain(|host| matching.contains(host));
    }
    for part in excluded {
        let matching = inventory.matching(part)?;
        found.retain(|host| !matching.contains(host));
    }
    Ok(found.into_iter().collect())
}

/// Splits a pattern at commas, else at colons outside of brackets.
fn split(pattern: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    if pattern.contains(',') {
        parts = pattern.split(',').map(str::to_owned).collect();
    } else {
        let mut in_brackets = false;
        for character in pattern.chars() {
            match character {
                '[' => in_brackets = true,
                ']' => in_brackets = false,
                ':' if !in_brackets => {
                    parts.push(String::new());
                    continue;
                }
                _ => {}
            }
            parts.last_mut().into_iter().for_each(|part| part.push(character));
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

struct Inventory<'a> {
    groups: &'a Groups,
    hosts: IndexSet<String>,
}

impl Inventory<'_> {
    fn matching(&self, pattern: &str) -> Result<Vec<String>, PatternError> {
        if self.hosts.contains(pattern) {
            return Ok(vec![pattern.to_owned()]);
        }
        let (pattern, range) = subscript(pattern);
        let found = self.enumerate(pattern)?;
        Ok(range.map_or_else(|| found.clone(), |range| range.of(&found)))
    }

    fn enumerate(&self, pattern: &str) -> Result<Vec<String>, PatternError> {
        let mut found: IndexSet<String> = IndexSet::new();
        let mut has_group = pattern == "all";
        if has_group && !self.groups.contains_key("all") {
            found.extend(self.hosts.iter().cloned());
        }
        let matches = matcher(pattern)?;
        for (group, hosts) in self.groups {
            if matches(group)? {
                has_group = true;
                found.extend(hosts.iter().cloned());
            }
        }
        if !has_group || pattern.starts_with('~') || pattern.contains(['.', '?', '*', '[']) {
            for host in &self.hosts {
                if matches(host)? {
                    found.insert(host.clone());
                }
            }
        }
        if found.is_empty() && matches!(pattern, "localhost" | "127.0.0.1" | "::1") {
            found.insert(pattern.to_owned());
        }
        Ok(found.into_iter().collect())
    }
}

/// Returns what compares a name with a pattern, which is a regular expression after `~` and one of a shell otherwise.
fn matcher(pattern: &str) -> Result<impl Fn(&str) -> Result<bool, PatternError> + use<>, PatternError> {
    let text = pattern.strip_prefix('~').map_or_else(|| glob_to_regex(pattern), str::to_owned);
    let regex = Pattern::cached(&text, Subject::Text, Flags::default())?;
    Ok(move |name: &str| {
        let found = regex.search(name.as_bytes())?;
        Ok(found.and_then(|found| found.span(0)).is_some_and(|(start, _)| start == 0))
    })
}

/// A part of the hosts of a pattern: `[1]` or `[0:2]`, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    One(i64),
    Span(usize, Option<usize>),
}

impl Range {
    fn of(self, hosts: &[String]) -> Vec<String> {
        match self {
            Self::One(index) => {
                let from_end = || hosts.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
                let index = if index < 0 { from_end() } else { usize::try_from(index).ok() };
                index.and_then(|index| hosts.get(index)).cloned().into_iter().collect()
            }
            Self::Span(start, end) => {
                let count = end.map_or(usize::MAX, |end| (end + 1).saturating_sub(start));
                hosts.iter().skip(start).take(count).cloned().collect()
            }
        }
    }
}

/// Splits `web[0:2]` into the pattern and the part of its hosts.
fn subscript(pattern: &str) -> (&str, Option<Range>) {
    let whole = (pattern, None);
    if pattern.starts_with('~') {
        return whole;
    }
    let Some((base, inside)) = pattern.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) else { return whole };
    if base.is_empty() {
        return whole;
    }
    let range = match inside.split_once(':') {
        Some((start, "")) => start.parse().ok().map(|start| Range::Span(start, None)),
        // As in Ansible, an end of zero counts as none: the range is its first host.
        Some((start, end)) => match (start.parse(), end.parse::<usize>()) {
            (Ok(start), Ok(0)) => Some(Range::Span(start, Some(start))),
            (Ok(start), Ok(end)) => Some(Range::Span(start, Some(end))),
            _ => None,
        },
        None => inside.parse().ok().map(Range::One),
    };
    range.map_or(whole, |range| (base, Some(range)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_hosts() {
        let groups: Groups = [("all", "a b c d"), ("web", "a b"), ("db", "b c"), ("ungrouped", "d")]
            .map(|(name, hosts)| (name.to_owned(), hosts.split(' ').map(str::to_owned).collect()))
            .into_iter()
            .collect();
        let check = |patterns: &[&str], expect: &str| {
            let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            assert_eq!(hosts(&groups, &patterns).unwrap().join(" "), expect, "{patterns:?}");
        };
        check(&["all"], "a b c d");
        check(&["all:!web"], "c d");
        check(&["web:&db"], "b");
        check(&["web", "db"], "a b c");
        check(&["!web"], "c d");
        check(&["w*"], "a b");
        check(&["~[cd]"], "b c d");
        check(&["web[0]"], "a");
        check(&["web[-1]"], "b");
        check(&["all[1:2]"], "b c");
        check(&["all[2:]"], "c d");
        check(&["nothing"], "");
        check(&["localhost"], "localhost");
        check(&["a, d"], "a d");
    }

    #[test]
    fn malformed_patterns_are_errors() {
        assert!(hosts(&Groups::new(), &["~(".to_owned()]).is_err());
    }
}
