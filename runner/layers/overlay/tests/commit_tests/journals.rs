//! Journals of any content: parsing a written journal gives it back, and a cut or changed journal is refused.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use modbox_overlay::commit::{
    Attributes, Below, Direction, DirectoryRecord, Inode, Journal, Mark, Operation, OperationKind, Origin, RootRecord,
    decide,
};
use proptest::prelude::*;

fn name() -> impl Strategy<Value = OsString> {
    let byte = any::<u8>().prop_filter("a byte of a name", |byte| *byte != 0 && *byte != b'/');
    let name = proptest::collection::vec(byte, 1..20).prop_map(OsString::from_vec);
    name.prop_filter("a name", |name| name != "." && name != "..")
}

fn inode() -> impl Strategy<Value = Inode> {
    let state = any::<(u64, u32, u32, u32, u64, i64, u32)>();
    state.prop_map(|(number, mode, uid, gid, size, seconds, nanoseconds)| Inode {
        number,
        mode,
        uid,
        gid,
        size,
        seconds,
        nanoseconds,
    })
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let xattrs = proptest::collection::btree_map("user\\.[a-z]{1,5}", any::<Vec<u8>>(), 0..3);
    (any::<(u32, u32, u32)>(), xattrs).prop_map(|((mode, uid, gid), xattrs): (_, BTreeMap<_, _>)| Attributes {
        mode,
        uid,
        gid,
        xattrs,
    })
}

fn kind() -> impl Strategy<Value = OperationKind> {
    let below = any::<(u64, i64)>().prop_map(|(entries, newest)| Below { entries, newest });
    prop_oneof![
        (inode(), below.clone()).prop_map(|(new, below)| OperationKind::Create { new, below }),
        (inode(), inode(), below).prop_map(|(old, new, below)| OperationKind::Replace { old, new, below }),
        inode().prop_map(|old| OperationKind::Remove { old }),
        (attributes(), attributes()).prop_map(|(old, new)| OperationKind::Attributes { old, new }),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    (0..2_usize, name(), name(), kind()).prop_map(|(directory, name, temporary, kind)| {
        let name = if matches!(kind, OperationKind::Attributes { .. }) { OsString::new() } else { name };
        Operation { directory, name, temporary, kind }
    })
}

fn journal() -> impl Strategy<Value = Journal> {
    let operations = proptest::collection::vec(operation(), 0..5);
    let hidden = proptest::collection::vec(".{1,9}", 0..3);
    let caller = ("[a-o][a-z0-9-]{0,31}", any::<[u8; 32]>());
    let origin = proptest::option::of(caller)
        .prop_map(|of| of.map_or(Origin::Person, |(name, policy)| Origin::caller(&name, &policy).unwrap()));
    let header = ("[0-9a-f]{24}", any::<(i64, bool, bool, u64)>(), name(), name(), (origin, hidden));
    (header, operations).prop_map(
        |((run, (since, keep_undo, durable, number), root, path, (origin, hidden)), operations)| Journal {
            run,
            since: since.into(),
            keep_undo,
            durable,
            origin,
            hidden,
            roots: vec![RootRecord { path: root.into(), number }],
            directories: vec![
                DirectoryRecord { root: 0, path: path.into(), number },
                DirectoryRecord { root: 0, path: "".into(), number },
            ],
            operations,
        },
    )
}

const MARKS: [(&str, Mark, Direction); 4] = [
    ("done", Mark::Done, Direction::Finish),
    ("kept", Mark::Kept, Direction::Keep),
    ("back", Mark::Back, Direction::Back),
    ("undone", Mark::Undone, Direction::Clean),
];

proptest! {
    #[test]
    fn what_is_written_is_parsed(journal in journal(), mark in 0..5_usize) {
        let mut text = journal.write().unwrap();
        let mark = MARKS.get(mark);
        if let Some((word, ..)) = mark {
            text += &format!("\n{{\"mark\":\"{word}\"}}\n");
        }
        let (parsed, found) = Journal::parse(&text).unwrap();
        prop_assert_eq!(parsed, journal);
        prop_assert_eq!(found, mark.map(|(_, mark, _)| *mark));
    }

    #[test]
    fn each_prefix_has_the_direction_of_its_last_whole_line(journal in journal(), marks in prop::collection::vec(0..4_usize, 0..4)) {
        let whole = journal.write().unwrap();
        let mut text = whole.clone();
        for mark in &marks {
            text += &format!("\n{{\"mark\":\"{}\"}}\n", MARKS[*mark].0);
        }
        for length in (0..text.len()).filter(|length| text.is_char_boundary(*length)) {
            let decided = decide(Some(&text[..length]));
            if length < whole.len() - 1 {
                prop_assert!(decided.is_err(), "{}", length);
                continue;
            }
            let lines = text[..length].get(whole.len()..).unwrap_or_default().matches("}\n").count();
            let expected = lines.checked_sub(1).map_or(Direction::Forward, |last| MARKS[marks[last]].2);
            prop_assert_eq!(decided.unwrap().0, expected);
        }
    }

    #[test]
    fn a_changed_byte_is_found(journal in journal(), at in any::<prop::sample::Index>(), bit in 0..7_u8) {
        let text = journal.write().unwrap();
        let mut bytes = text.clone().into_bytes();
        let at = at.index(bytes.len() - 1);
        bytes[at] ^= 1 << bit;
        if let Ok(changed) = String::from_utf8(bytes)
            && let Ok((parsed, mark)) = Journal::parse(&changed)
        {
            // Only the case of a digit of the checksum, or a space, could be another form of the same.
            prop_assert_eq!((parsed, mark), (journal, None));
        }
    }
}

#[test]
fn no_journal_is_not_decided() {
    assert_eq!(decide(None).unwrap().0, Direction::Sweep);
}

#[test]
fn another_version_is_not_acted_on() {
    let text = "{\"version\":2,\"something\":[]}\n";
    let error = decide(Some(text)).unwrap_err();
    assert_eq!(error.to_string(), "its version 2 is unknown");
}
