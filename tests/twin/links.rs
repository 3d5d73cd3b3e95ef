//! The shapes of links of the random trees. Links lead to files of the case only.

use crate::support::sample::Random;
use crate::twin::case::{Entry, EntryKind, HERE};
use crate::twin::names::name;

/// Returns the target of a link at a path, in a tree that has these entries so far.
pub(crate) fn target(path: &[u8], entries: &[Entry], random: &mut Random) -> Vec<u8> {
    let depth = path.iter().filter(|&&byte| byte == b'/').count();
    let up = b"../".repeat(depth);
    let own = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let any = random.pick(entries).path.clone();
    let inner = of(entries, random, |entry| entry.path.starts_with(b"in/")).unwrap_or_else(|| b"in".to_vec());
    let outer = of(entries, random, |entry| entry.path.starts_with(b"out/")).unwrap_or_else(|| b"out".to_vec());
    let folder = of(entries, random, |entry| entry.kind == EntryKind::Folder).unwrap_or_else(|| b"in".to_vec());
    let link =
        of(entries, random, |entry| matches!(entry.kind, EntryKind::Link(_))).unwrap_or_else(|| b"in/a".to_vec());
    let some = name(random);
    let here: &[u8] = &[HERE, b'/'];
    match random.below(20) {
        // Relative: a neighbour, another entry, one outside.
        0 | 1 => some,
        2 => [&up, inner.as_slice()].concat(),
        3 => [&up, outer.as_slice()].concat(),
        // Absolute: inside the grant, outside, any.
        4 | 5 => [here, &inner].concat(),
        6 => [here, &outer].concat(),
        7 => [here, &any].concat(),
        // Dangling.
        8 => b"none".to_vec(),
        9 => [here, b"in/none"].concat(),
        // A loop, and one of two links.
        10 => own.to_vec(),
        11 => [&up, link.as_slice()].concat(),
        // A chain by an absolute link.
        12 => [here, &link].concat(),
        // Through a folder, with `..`, with slashes and dots at the end.
        13 => [&up, folder.as_slice(), b"/", &some].concat(),
        14 => [&up, folder.as_slice(), b"/../", &some].concat(),
        15 => [&up, inner.as_slice(), b"/"].concat(),
        16 => [here, &folder, b"/."].concat(),
        // Out of the grant and back.
        17 => [up.as_slice(), b"out/../", &inner].concat(),
        18 => random.pick(&[&b"."[..], b"..", b"./"]).to_vec(),
        _ => [&b"./".repeat(900), up.as_slice(), any.as_slice()].concat(),
    }
}

fn of(entries: &[Entry], random: &mut Random, is_wanted: impl Fn(&Entry) -> bool) -> Option<Vec<u8>> {
    let wanted: Vec<_> = entries.iter().filter(|entry| is_wanted(entry)).collect();
    if wanted.is_empty() { None } else { Some(random.pick(&wanted).path.clone()) }
}
