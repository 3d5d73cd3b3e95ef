//! Journals of transactions: what a recovery after a crash acts on.

use modbox_overlay::commit::{Journal, decide};
use sha2::{Digest as _, Sha256};

/// Reads a journal whose checksum is put in: no input would have the right one. A journal that is read equals itself after it is
/// written and read again. Recovery acts on no other text.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(data) else { return false };
    assert!(decide(Some(text)).is_err() || Journal::parse(text).is_ok());
    let body = format!("{}\n", text.trim_end_matches('\n'));
    let sum: String = Sha256::digest(body.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let whole = format!("{body}{{\"sha256\":\"{sum}\"}}\n");
    let Ok((journal, mark)) = Journal::parse(&whole) else { return false };
    assert_eq!(mark, None);
    assert!(journal.operations.iter().all(|operation| operation.directory < journal.directories.len()));
    let written = journal.write().expect("what was read can be written");
    assert_eq!(Journal::parse(&written), Ok((journal, None)));
    assert!(Journal::parse(&whole.replacen("\"run\"", "\"rum\"", 1)).is_err());
    true
}
