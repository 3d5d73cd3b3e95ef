//! The differences of two lists of lines, as Python's `difflib.unified_diff` finds and writes them.
//!
//! Ansible shows that text, so the lines that are taken for the same must be the same ones. General libraries find
//! shorter or other differences.

use std::collections::HashMap;

/// How many lines around a difference are shown.
const CONTEXT: usize = 3;

/// In longer texts, lines that make up more than a hundredth are not used to find what the texts have in common.
const POPULAR_FROM: usize = 200;

/// What turns a range of one list into a range of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    equal: bool,
    before: (usize, usize),
    after: (usize, usize),
}

/// Writes the differences as a unified diff. Lines end with their line breaks.
#[must_use]
pub fn unified(before: &[String], after: &[String], before_name: &str, after_name: &str) -> Vec<String> {
    let mut text = Vec::new();
    for group in groups(&changes(before, after)) {
        if text.is_empty() {
            text.push(format!("--- {before_name}\n"));
            text.push(format!("+++ {after_name}\n"));
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let removed = range(first.before.0, last.before.1);
        let added = range(first.after.0, last.after.1);
        text.push(format!("@@ -{removed} +{added} @@\n"));
        for change in &group {
            if change.equal {
                text.extend(before[change.before.0..change.before.1].iter().map(|line| format!(" {line}")));
                continue;
            }
            text.extend(before[change.before.0..change.before.1].iter().map(|line| format!("-{line}")));
            text.extend(after[change.after.0..change.after.1].iter().map(|line| format!("+{line}")));
        }
    }
    text
}

fn range(start: usize, end: usize) -> String {
    match end - start {
        1 => format!("{}", start + 1),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

/// Returns the changes with at most some equal lines around them, in groups that lie far from each other.
fn groups(changes: &[Change]) -> Vec<Vec<Change>> {
    if changes.iter().all(|change| change.equal) {
        return Vec::new();
    }
    let mut changes = changes.to_vec();
    if let Some(first) = changes.first_mut().filter(|change| change.equal) {
        first.before.0 = first.before.0.max(first.before.1.saturating_sub(CONTEXT));
        first.after.0 = first.after.0.max(first.after.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = changes.last_mut().filter(|change| change.equal) {
        last.before.1 = last.before.1.min(last.before.0 + CONTEXT);
        last.after.1 = last.after.1.min(last.after.0 + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group = Vec::new();
    for change in changes {
        let Change { equal, before, after } = change;
        if equal && before.1 - before.0 > 2 * CONTEXT {
            let end = Change { equal, before: (before.0, before.0 + CONTEXT), after: (after.0, after.0 + CONTEXT) };
            group.push(end);
            groups.push(std::mem::take(&mut group));
            group.push(Change { equal, before: (before.1 - CONTEXT, before.1), after: (after.1 - CONTEXT, after.1) });
        } else {
            group.push(change);
        }
    }
    if group.iter().any(|change| !change.equal) {
        groups.push(group);
    }
    groups
}

/// Returns the changes that turn one list into the other, with the equal parts between them.
fn changes(before: &[String], after: &[String]) -> Vec<Change> {
    let mut changes = Vec::new();
    let (mut left, mut right) = (0, 0);
    let mut blocks = matching(before, after);
    blocks.push((before.len(), after.len(), 0));
    for (start, other, length) in blocks {
        if left < start || right < other {
            changes.push(Change { equal: false, before: (left, start), after: (right, other) });
        }
        (left, right) = (start + length, other + length);
        if length > 0 {
            changes.push(Change { equal: true, before: (start, left), after: (other, right) });
        }
    }
    changes
}

/// Returns the blocks that both lists have, as the starts in both and the length, in order.
fn matching(before: &[String], after: &[String]) -> Vec<(usize, usize, usize)> {
    let index = index(after);
    let mut blocks = Vec::new();
    let mut open = vec![(0, before.len(), 0, after.len())];
    while let Some((start, end, other, other_end)) = open.pop() {
        let (left, right, length) = longest(before, after, &index, (start, end), (other, other_end));
        if length == 0 {
            continue;
        }
        blocks.push((left, right, length));
        if start < left && other < right {
            open.push((start, left, other, right));
        }
        if left + length < end && right + length < other_end {
            open.push((left + length, end, right + length, other_end));
        }
    }
    blocks.sort_unstable();
    let mut joined: Vec<(usize, usize, usize)> = Vec::new();
    for (left, right, length) in blocks {
        match joined.last_mut() {
            Some(last) if last.0 + last.2 == left && last.1 + last.2 == right => last.2 += length,
            _ => joined.push((left, right, length)),
        }
    }
    joined
}

/// Returns the places of each line, without lines that are too frequent to tell places apart.
fn index(lines: &[String]) -> HashMap<&str, Vec<usize>> {
    let mut index: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, line) in lines.iter().enumerate() {
        index.entry(line).or_default().push(place);
    }
    if lines.len() >= POPULAR_FROM {
        let limit = lines.len() / 100 + 1;
        index.retain(|_, places| places.len() <= limit);
    }
    index
}

/// Returns the longest block that two ranges have, the earliest of those of that length.
fn longest(
    before: &[String],
    after: &[String],
    index: &HashMap<&str, Vec<usize>>,
    (start, end): (usize, usize),
    (other, other_end): (usize, usize),
) -> (usize, usize, usize) {
    let (mut left, mut right, mut length) = (start, other, 0);
    let mut ending: HashMap<usize, usize> = HashMap::new();
    for (place, line) in before.iter().enumerate().take(end).skip(start) {
        let mut next = HashMap::new();
        for &found in index.get(line.as_str()).into_iter().flatten() {
            if found < other {
                continue;
            }
            if found >= other_end {
                break;
            }
            let size = found.checked_sub(1).and_then(|previous| ending.get(&previous)).map_or(1, |size| size + 1);
            next.insert(found, size);
            if size > length {
                (left, right, length) = (place + 1 - size, found + 1 - size, size);
            }
        }
        ending = next;
    }
    // Frequent lines beside the block belong to it, too.
    while left > start && right > other && before[left - 1] == after[right - 1] {
        (left, right, length) = (left - 1, right - 1, length + 1);
    }
    while left + length < end && right + length < other_end && before[left + length] == after[right + length] {
        length += 1;
    }
    (left, right, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    #[test]
    fn differences_are_those_of_difflib() {
        let check = |before: &str, after: &str, expect: &str| {
            assert_eq!(unified(&lines(before), &lines(after), "before", "after").concat(), expect);
        };
        check("a\nb\n", "a\nb\n", "");
        check("a\n", "b\n", "--- before\n+++ after\n@@ -1 +1 @@\n-a\n+b\n");
        check("", "b\n", "--- before\n+++ after\n@@ -0,0 +1 @@\n+b\n");
        check("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n", "--- before\n+++ after\n@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+x\n");
        let far = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let expect =
            "--- before\n+++ after\n@@ -1,4 +1,4 @@\n-1\n+a\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+b\n";
        check(far, "a\n2\n3\n4\n5\n6\n7\n8\nb\n", expect);
    }
}
