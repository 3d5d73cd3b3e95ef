//! README and the book: commands print what the page shows. `support/sessions.rs` describes how pages are written.

use crate::support::sessions::{Surroundings, check_sessions, console_documents, matches};

#[test]
fn commands_of_documents_do_what_is_shown() {
    check_sessions(Surroundings::Library);
}

#[test]
fn commands_in_a_clone_do_what_is_shown() {
    check_sessions(Surroundings::Clone);
}

#[test]
fn few_commands_of_documents_are_not_run() {
    let blocks: Vec<_> = console_documents().into_iter().flat_map(|document| document.blocks()).collect();
    let (mut all, mut not_run) = (0, 0);
    for block in blocks.iter().filter(|block| block.language == "console") {
        all += 1;
        not_run += usize::from(block.not_run.is_some());
    }
    assert!(all > 20, "only {all} blocks were found");
    assert!(not_run * 4 < all, "{not_run} of {all} blocks are not run");
}

#[test]
fn dots_stand_for_text_and_lines() {
    assert!(matches(&["a...c", "...", "z"], &["abc", "x", "y", "z"]));
    assert!(matches(&["...", "z"], &["z"]));
    assert!(!matches(&["abc"], &["abc", "d"]));
    assert!(!matches(&["a.c"], &["abc"]));
}
