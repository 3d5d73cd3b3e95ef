//! Compares what both sides did with a case.

use std::collections::{BTreeMap, BTreeSet};

use crate::twin::case::{Call, Case};
use crate::twin::sides::Pair;
use crate::twin::snapshot::{Attributes, time};

/// Start of traits that each later call and the tree have, too.
const AFTER: &str = "after-";

/// Trait of calls after one that has changed a name with bytes that are not UTF-8, or with characters that stand for such.
const AFTER_BYTES: &str = "after-bytes";

/// Trait of calls after one that has set the length of a path.
const AFTER_TRUNCATE: &str = "after-truncate";

/// Trait of calls after a `pwrite` on a file that is open for appending.
const AFTER_APPENDED: &str = "after-pwrite-on-append";

/// Trait of modes that differ by set-id bits which the guest's side lacks.
const SET_ID: &str = "set-id";

/// A difference between the sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The call; `start` for the start of the guest, `tree` for what was left at the end.
    pub(crate) call: &'static str,
    /// The number of the call.
    pub(crate) index: usize,
    /// Traits of the call's paths and arguments; of a tree, those of all calls, and their names.
    pub(crate) traits: BTreeSet<String>,
    /// What Linux had, as far as it differs: values, an error, or the reason why the call was not performed.
    pub(crate) linux: String,
    /// What the guest had.
    pub(crate) modbox: String,
}

/// What was compared of a case.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) differences: Vec<Difference>,
    /// The calls that were compared.
    pub(crate) calls: usize,
}

/// Compares outcomes up to the first difference after which the trees can differ; then the trees.
pub(crate) fn compare(case: &Case, pair: &Pair) -> Comparison {
    let mut compared = Comparison { differences: Vec::new(), calls: 0 };
    let mut all_traits = BTreeSet::new();
    if pair.modbox.calls.is_empty() && pair.modbox.end != "ended" {
        let (linux, modbox) = ("begun".to_owned(), pair.modbox.end.clone());
        let start = Difference { call: "start", index: 0, traits: all_traits, linux, modbox };
        return Comparison { differences: vec![start], calls: 0 };
    }
    for (index, call) in case.calls.iter().enumerate() {
        let ended = |end: &str| (if end == "ended" { "left-out".to_owned() } else { end.to_owned() }, String::new());
        let (linux, traits) = pair.linux.calls.get(index).cloned().unwrap_or_else(|| ended(&pair.linux.end));
        let (modbox, _) = pair.modbox.calls.get(index).cloned().unwrap_or_else(|| ended(&pair.modbox.end));
        compared.calls += 1;
        let mut traits: BTreeSet<String> =
            traits.split(',').filter(|mark| !mark.is_empty()).map(str::to_owned).collect();
        traits.extend(all_traits.iter().filter(|mark: &&String| mark.starts_with(AFTER)).cloned());
        all_traits.extend(traits.iter().cloned());
        all_traits.extend(after(call, &traits).map(str::to_owned));
        all_traits.insert(call.name.to_owned());
        let (linux, modbox) = differing(&with_time(&linux), &with_time(&modbox));
        if linux == modbox || is_dot(call, &traits, &linux, &modbox) {
            // What a call of many steps has done when it fails depends on the order of names in a folder.
            if call.is_compound() && linux.starts_with('E') {
                return compared;
            }
            continue;
        }
        if lacks_set_id(&linux, &modbox) {
            traits.insert(SET_ID.to_owned());
        }
        let goes_on = goes_on(call, &linux, &modbox);
        compared.differences.push(Difference { call: call.name, index, traits, linux, modbox });
        if !goes_on {
            return compared;
        }
    }
    compared.differences.extend(trees(case, pair, &all_traits));
    compared
}

/// Returns whether a call looks at `folder/.` of a granted folder that its user cannot search. The C library of WASI asks for the
/// folder itself.
fn is_dot(call: &Call, traits: &BTreeSet<String>, linux: &str, modbox: &str) -> bool {
    let ends_in_dot = |path: &Vec<u8>| path.ends_with(b"/.") || path.ends_with(b"/./");
    let is_top = call.is_look() && traits.contains("top") && call.args.first().is_some_and(ends_in_dot);
    is_top && linux == "EACCES" && modbox.starts_with("ok kind=directory")
}

/// Returns the traits that later calls have because of a call with these traits.
fn after(call: &Call, traits: &BTreeSet<String>) -> impl Iterator<Item = &'static str> {
    let has = |mark: &str| traits.contains(mark);
    let all = [
        (AFTER_BYTES, !call.is_look() && (has("bytes") || has("escape"))),
        (AFTER_TRUNCATE, call.name == "truncate"),
        (AFTER_APPENDED, call.name == "pwrite" && has("append")),
    ];
    all.into_iter().filter(|(_, is_so)| *is_so).map(|(mark, _)| mark)
}

/// Returns whether both sides are in the same state after a difference.
fn goes_on(call: &Call, linux: &str, modbox: &str) -> bool {
    let fails = |outcome: &str| outcome.starts_with('E');
    let is_performed =
        |outcome: &str| outcome.contains('=') || outcome == "ok" || outcome == "empty-slot" || fails(outcome);
    if !is_performed(modbox) {
        return false;
    }
    if call.is_look() {
        return true;
    }
    !call.is_compound() && fails(modbox) && (fails(linux) || !is_performed(linux))
}

/// Puts `now` in the place of times that are about the time of the test.
fn with_time(outcome: &str) -> String {
    let words =
        outcome.split(' ').map(|word| match word.strip_prefix("mtime=").and_then(|time| time.split_once('.')) {
            Some((seconds, rest)) => {
                format!("mtime={}", time(seconds.parse().unwrap_or_default(), rest.parse().unwrap_or_default()))
            }
            None => word.to_owned(),
        });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether two outcomes differ by nothing but set-id bits of a mode, which the second one lacks.
fn lacks_set_id(linux: &str, modbox: &str) -> bool {
    let mode = |outcome: &str| u32::from_str_radix(outcome.strip_prefix("mode=")?, 8).ok();
    match (mode(linux), mode(modbox)) {
        (Some(linux), Some(modbox)) => linux != modbox && linux & !0o6000 == modbox & !0o6000 && modbox & !linux == 0,
        _ => false,
    }
}

/// Returns two outcomes without the values that are the same in both, if both are successes.
fn differing(linux: &str, modbox: &str) -> (String, String) {
    if !linux.starts_with("ok ") || !modbox.starts_with("ok ") {
        return (linux.to_owned(), modbox.to_owned());
    }
    let values = |outcome: &str| -> Vec<String> {
        outcome
            .split([' ', ','])
            .filter(|word| *word != "ok")
            .map(|word| word.replacen("names=", "names:", 1))
            .collect()
    };
    let (ours, theirs) = (values(linux), values(modbox));
    let without = |values: &[String], others: &[String]| {
        let left: Vec<_> = values.iter().filter(|value| !others.contains(value)).cloned().collect();
        if left.is_empty() { "ok".to_owned() } else { left.join(" ") }
    };
    let (linux, modbox) = (without(&ours, &theirs), without(&theirs, &ours));
    // Names have no `=`, by which successes are told from errors.
    let marked = |text: String| if text == "ok" || text.contains('=') { text } else { format!("names={text}") };
    (marked(linux), marked(modbox))
}

/// Compares what was left.
fn trees(case: &Case, pair: &Pair, traits: &BTreeSet<String>) -> Vec<Difference> {
    let none = Attributes::new();
    let mut differences = BTreeMap::new();
    let paths: BTreeSet<&String> = pair.linux.tree.keys().chain(pair.modbox.tree.keys()).collect();
    for path in paths {
        let (linux, modbox) = (pair.linux.tree.get(path), pair.modbox.tree.get(path));
        let mut traits = traits.clone();
        if path.contains("%ff") || path.contains("%e9") {
            traits.insert("bytes".to_owned());
        }
        let mut add = |linux: String, modbox: String| {
            let index = case.calls.len();
            let key = (linux.clone(), modbox.clone());
            let mut traits = traits.clone();
            if lacks_set_id(&linux, &modbox) {
                traits.insert(SET_ID.to_owned());
            }
            differences.entry(key).or_insert(Difference { call: "tree", index, traits, linux, modbox });
        };
        let kind = |found: Option<&Attributes>| found.map(|found| found["kind"].clone());
        if kind(linux) != kind(modbox) {
            let named = |kind: Option<String>| kind.map_or_else(|| "absent".to_owned(), |kind| format!("kind={kind}"));
            add(named(kind(linux)), named(kind(modbox)));
            continue;
        }
        let (linux, modbox) = (linux.unwrap_or(&none), modbox.unwrap_or(&none));
        for (name, value) in linux {
            let other = modbox.get(name).map_or("", String::as_str);
            if value != other {
                add(format!("{name}={value}"), format!("{name}={other}"));
            }
        }
    }
    differences.into_values().collect()
}
