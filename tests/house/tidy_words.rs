//! Words that code must not use, in comments, messages and names. `tidy_documents.rs` has the list for documents.
//!
//! A test of words cannot judge a sentence. The list has only words that were always replaced by a plainer one.

use crate::house::tidy::{Source, ascii, rust_files};

/// Words, as expressions on lower-case text whose `_` are spaces, with their replacements.
const NOT_PLAIN: [(&str, &str); 9] = [
    (r"\bwho(ever|m)\b", "name the person, process or module"),
    (r"\b(no|some|any|every)body\b", "name the person or process, or say what does not happen"),
    (r"\b(some|any|every)one\b", "name the person or process"),
    (r"\b(is|are|was|were) no [a-z]", "write `is not a`, `has no`, `invalid` or `unknown`"),
    (r"\b(is|are) none of\b", "write `is not one of`, or `unknown … expected one of`"),
    (r"\b(that|which) (is|are) none\b", "write `is not one`, or `invalid`"),
    (r"\bbeside that\b", "write `also`, or `next to that`"),
    (r"\bshall\b", "write `must`"),
    (r"\bwhat (becomes|became) of\b|\bwhat there (is|are)\b", "name the thing"),
];

/// Phrases with listed words in a plain meaning.
const PLAIN: [&str; 6] = ["there is no ", "there are no ", "there was no ", " no longer ", " no more ", " no larger "];

/// Names of types that are not nouns.
const NOT_NOUNS: &str = r"\b(enum|struct|trait|type) (Told|Known|Own|Word|Wanted|Judged|Got|Ran|Said|Seen|Kept|Now)\b";

#[test]
fn code_is_in_plain_words() {
    let rules = NOT_PLAIN.map(|(words, instead)| (ascii(words), instead));
    let mut found = Vec::new();
    for source in checked() {
        for (number, line) in source.text.lines().enumerate() {
            let line = PLAIN.iter().fold(plain(line), |line, text| line.replace(text, " "));
            for (words, instead) in rules.iter().filter(|(words, _)| words.is_match(&line)) {
                let word = words.find(&line).expect("it matches").as_str();
                found.push(format!("{}:{}: `{word}`: {instead}", source.path, number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn types_are_nouns() {
    let name = ascii(NOT_NOUNS);
    let found = |source: &Source| name.find(&source.text).map(|found| format!("{}: {}", source.path, found.as_str()));
    let found: Vec<String> = checked().iter().filter_map(found).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the lower-case form of a text, with the words of names separated.
fn plain(text: &str) -> String {
    text.to_lowercase().replace('_', " ")
}

/// Returns all Rust files except those with lists of words.
fn checked() -> Vec<Source> {
    rust_files().into_iter().filter(|source| !source.path.starts_with("tests/house/tidy_")).collect()
}
