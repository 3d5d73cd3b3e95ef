//! Statements with parts and packed modules that are damaged: none of them stands for another one.

use modbox_closure::Part;
use modbox_trust::core_statement::CoreStatement;
use modbox_trust::statement::Statement;

use crate::supply::trust::trust_parts::{BASIC, BASIC_NAME, MODULE};
use crate::supply::trust::trust_parts_kinds::packed;
use crate::support::sample::{self, Random};

/// Number of damaged statements: in an ordinary run, and in a whole one.
const DAMAGED: (usize, usize) = (10_000, 1_000_000);

#[test]
fn no_damaged_statement_with_parts_is_another_statement() {
    let part = |name: &str| Part::of(name, name.as_bytes());
    let (digest, file) = (part("m").digest, "m.py".to_owned());
    let parts = vec![part("ansible/module_utils/a.py"), part("ansible/module_utils/b.py")];
    let module = Statement { digest, file, name: Some("acme/m".to_owned()), version: None, requests: None, parts };
    let core = CoreStatement::new("2.19.1".to_owned(), module.parts.clone()).unwrap();
    let texts = [module.to_string(), core.to_string()];
    let mut random = Random::new(0x9a27);
    for _ in 0..sample::cases(DAMAGED.0, DAMAGED.1) {
        let text = random.pick(&texts);
        let mut damaged = text.clone().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(damaged.len());
            match random.below(4) {
                0 => damaged[at] = *random.pick(b"a0:\n /sx\r\xff"),
                1 if damaged.len() > 1 => drop(damaged.remove(at)),
                2 => damaged.insert(at, *random.pick(b"a0:\n /sx\r")),
                _ => {
                    let other = random.below(damaged.len());
                    damaged.swap(at, other);
                }
            }
        }
        // What is read is written in the same way, so no two texts are one statement.
        let damaged = String::from_utf8_lossy(&damaged).into_owned();
        if let Ok(read) = Statement::parse(&damaged) {
            assert_eq!(read.to_string(), damaged);
        }
        if let Ok(read) = CoreStatement::parse(&damaged) {
            assert_eq!(read.to_string(), damaged);
        }
    }
}

/// Every damage of a packed module is refused, or leaves the module as it was.
#[test]
fn no_damaged_payload_is_verified() {
    let whole = packed(&[(BASIC_NAME, BASIC), ("ansible/modules/m.py", MODULE)]).into_bytes();
    let read = |bytes: &[u8]| modbox_kinds::ansiballz::ReceivedPayload::read(bytes).map(|received| received.payload);
    let honest = read(&whole).unwrap();
    let mut random = Random::new(0x6bb1);
    for _ in 0..sample::cases(2_000, 100_000) {
        let mut damaged = whole.clone();
        for _ in 0..=random.below(2) {
            let at = random.below(damaged.len());
            damaged[at] = *random.pick(b"AZaz09+/='\"\n\\ (");
        }
        // The checksums of a zip keep damage out of its files; their names have none, and are a part of the digest.
        if let Ok(payload) = read(&damaged) {
            assert!(payload.files.values().all(|file| honest.files.values().any(|other| other == file)));
        }
    }
}
