//! Attempts of hostile plugins, of which each is refused, and after each of which another call finds a process that works.

use serde_json::json;

use super::oracle_plugins::{results, write_play_with};
use crate::support::{Modbox, TestDir};

/// An expression, and a part of what the play shows for it.
pub(super) type Attempt = (String, &'static str);

/// What is said of a process that does not keep to the protocol.
pub(super) const ENDED: &str = "its process sent something else than the answer, and was ended";

/// Attempts that end alike wherever plugins run.
const EVERYWHERE: [(&str, &str); 14] = [
    ("1 | wait", "did not answer within 30 seconds, and was ended"),
    // Which limit comes first depends on what else the machine does.
    ("1 | loop", " seconds"),
    ("1 | memory", "The filter plugin 'memory' failed"),
    ("1 | large", "the result is larger than the limit of 33554432 bytes"),
    ("1 | fork", "The filter plugin 'fork' failed"),
    ("1 | forge", ENDED),
    ("1 | stale", ENDED),
    ("1 | other", ENDED),
    ("1 | forge_question", ENDED),
    ("1 | huge", "its answer is larger than the limit of 32 MiB"),
    ("1 | deep", "nested more than 200 levels deep"),
    ("1 | names", "\"msg\": []"),
    ("1 | items_of", "its answer has more than 8388608 values"),
    // Its reply is too large, so that nothing waits for it any more.
    ("'large' | variable", "what the plugin is given is larger than the limit of 32 MiB"),
];

/// Returns the attempts to reach files and a port: those of the file of the play, and of places outside of it.
pub(super) fn on_files(own: &str, made: &str, outside: &str) -> [Attempt; 4] {
    let failed = "The filter plugin 'write' failed";
    [
        (format!("'{own}' | read"), "a text"),
        (format!("'{own}' | write"), failed),
        (format!("'{made}' | write"), failed),
        (format!("'{outside}' | write"), failed),
    ]
}

/// Runs a play with these attempts and those that end alike everywhere, and checks what it shows for each.
pub(super) fn check_attempts(dir: &TestDir, own: Vec<Attempt>, modbox: impl FnOnce() -> Modbox) {
    let everywhere = EVERYWHERE.map(|(text, expect)| (text.to_owned(), expect));
    let attempts: Vec<Attempt> = everywhere.into_iter().chain(own).collect();
    let all: Vec<String> = attempts.iter().flat_map(|(text, _)| [text.clone(), "1 | good".to_owned()]).collect();
    let large = format!("{{{{ '\u{1}' * {} }}}}", 8 << 20);
    write_play_with(dir, "play/play.yml", &all, &json!({"large": large}));
    let ran = modbox().env("SECRET_OF_THE_TEST", "do-not-read").run().exits_with(0);
    let found = results(&ran.stdout_text());
    assert_eq!(found.len(), all.len(), "{ran}");
    for ((attempt, expect), pair) in attempts.iter().zip(found.chunks(2)) {
        assert!(pair[0].1.contains(expect), "{attempt}: {}", pair[0].1);
        assert!(pair[1].1.contains("\"msg\": 2"), "after {attempt}: {}", pair[1].1);
    }
    assert!(!ran.stdout_text().contains("do-not-read"), "a plugin read a secret");
}
